import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "node:test";
import { createServer } from "vite";
import { launch, picture } from "./server.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

test("the page of parts shows each in both themes, without a violation of axe", async () => {
  const [vite, browser] = await Promise.all([
    createServer({ server: { host: "127.0.0.1", port: 0 }, logLevel: "error" }),
    launch(),
  ]);
  await vite.listen();
  const page = await browser.newPage({ viewport: { width: 1280, height: 4200 } });
  const errors = [];
  page.on("pageerror", (e) => errors.push(e.message));
  await page.goto(`${vite.resolvedUrls.local[0]}parts/`);
  await page.getByRole("heading", { name: "Dialog" }).last().waitFor();
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
  await Promise.all([vite.close(), browser.close()]);
});
