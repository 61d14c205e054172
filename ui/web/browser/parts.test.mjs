import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "node:test";
import { createServer } from "vite";
import { launch, picture } from "./server.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

test("each part of src/parts that shows something has its states on the page of parts", async () => {
  const page = (await Promise.all(["states", "more"].map((f) => readFile(`parts/${f}.tsx`, "utf8")))).join("\n");
  const missing = [];
  for (const file of (await readdir("src/parts")).filter((f) => f.endsWith(".tsx"))) {
    if (!page.includes(`"../src/parts/${file.replace(".tsx", "")}"`)) missing.push(file);
    for (const [, part] of (await readFile(`src/parts/${file}`, "utf8")).matchAll(
      /export (?:const|function|class) ([A-Z]\w*)\b(?! = createContext)/g,
    ))
      if (!page.includes(`<${part}`)) missing.push(`${part} of ${file}`);
  }
  assert.deepEqual(missing, []);
});

test("the page of parts shows each in both themes, without a violation of axe", async (t) => {
  const [vite, browser] = await Promise.all([
    createServer({ server: { host: "127.0.0.1", port: 0 }, logLevel: "error" }),
    launch(),
  ]);
  t.after(() => Promise.all([vite.close(), browser.close()]));
  await vite.listen();
  const page = await browser.newPage({ viewport: { width: 1280, height: 5600 } });
  const errors = [];
  page.on("pageerror", (e) => errors.push(e.message));
  await page.goto(`${vite.resolvedUrls.local[0]}parts/`);
  await page.getByRole("heading", { name: "later, Boundary" }).last().waitFor();
  await page.evaluate(() => document.fonts.ready);
  await page.evaluate(axe);
  // Everything stands twice, once in each theme.
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run({ rules: { "landmark-unique": { enabled: false } } }),
  );
  assert.deepEqual(
    violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 200)).join(" ")}`),
    [],
  );
  await picture(page, "parts-1280");
  assert.deepEqual(errors, []);
});
