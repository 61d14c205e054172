import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { countIs, eventually, launch, picture, start } from "./server.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([start(["--ephemeral"]), launch()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

/** reading opens the documentation without a login. The page's errors fail the test that sees them. */
async function reading(options, path = "/docs") {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (e) => errors.push(e.message));
  page.on("console", (m) => {
    if (/Content Security Policy/.test(m.text()) || m.type() === "error") errors.push(m.text());
  });
  await page.goto(server.url + path);
  return {
    page,
    async close() {
      await context.close();
      assert.deepEqual(errors, []);
    },
  };
}

for (const [width, theme, checked] of [
  [360, "dark", ["/docs/graph", "/docs/api"]],
  [390, "light", []],
  [1280, "light", ["/docs", "/docs/graph"]],
  [1280, "dark", []],
]) {
  test(`documentation at ${width} in ${theme}: nothing sideways, no violation of axe`, async () => {
    const { page, close } = await reading({ viewport: { width, height: 800 }, colorScheme: theme });
    for (const path of [
      "/docs",
      "/docs/graph",
      "/docs/errors#conflict",
      "/docs/reference/configuration",
      "/docs/api",
    ]) {
      await page.goto(server.url + path);
      await page.waitForSelector(path === "/docs/api" ? "#paths summary" : path === "/docs" ? ".road a" : "article h1");
      await page.evaluate(() => document.fonts.ready);
      await picture(page, `docs${path.slice(5).replaceAll(/[/#]/g, "-")}-${width}-${theme}`);
      if (!checked.includes(path)) continue;
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      assert.deepEqual(
        violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 200)).join(" ")}`),
        [],
        path,
      );
    }
    await close();
  });
}

test("a word is found by the keyboard, and leads to its section", async () => {
  const { page, close } = await reading({ viewport: { width: 1280, height: 800 } });
  await page.keyboard.press("/");
  await page.keyboard.type("drain timeout");
  await page.waitForSelector("#found [aria-selected=true]");
  const first = await page.locator("#found a").first().getAttribute("href");
  assert.match(first, /^\/docs\//);
  await page.keyboard.press("ArrowDown");
  await eventually(async () =>
    assert.equal(await page.locator("#found a").nth(1).getAttribute("aria-selected"), "true"),
  );
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForURL((u) => u.pathname + u.hash === first);
  await page.keyboard.press("/");
  for (const [word, where] of [
    ["posthouse serve", "/docs/reference/cli#posthouse-serve"],
    ["POST /api/gates/{id}/approve", "/docs/reference/http#post-apigatesidapprove"],
    ["quorum", "/docs/approvals"],
  ]) {
    await page.fill(".search input", word);
    await page.waitForSelector(`#found a[href^="${where}"]`);
  }
  await page.fill(".search input", "zzyzx");
  await page.getByText("Nothing is found").first().waitFor();
  await close();
});

test("figures, copying, the theme and the contents work", async () => {
  const { page, close } = await reading(
    { viewport: { width: 1280, height: 800 }, colorScheme: "light" },
    "/docs/graph",
  );
  const shown = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("figure img")]
        .filter((i) => getComputedStyle(i).display !== "none")
        .map((i) => i.currentSrc.replace(/.*\./, "") + i.className),
    );
  await page.locator("figure").first().scrollIntoViewIfNeeded();
  await page.waitForFunction(() =>
    [...document.querySelectorAll("figure img.light")].every((i) => i.complete && i.naturalWidth > 0),
  );
  await eventually(async () => assert.deepEqual(new Set(await shown()), new Set(["svglight"])));
  await page.click("button.theme"); // light
  await page.click("button.theme"); // dark
  await page.waitForFunction(() => [...document.querySelectorAll("figure img.dark")].some((i) => i.naturalWidth > 0));
  await eventually(async () => assert.deepEqual(new Set((await shown()).map((s) => s.slice(3))), new Set(["dark"])));
  await page.goto(`${server.url}/docs/walk`);
  await eventually(async () => assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark"));

  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const code = page.locator(".code:has(pre.console)").first();
  await code.hover();
  await code.getByRole("button").click();
  await code.getByText("Copied").waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(copied.length > 0 && !copied.includes("$ "), copied);

  await countIs(page.locator(".contents [aria-current=page]"), 1);
  await page.setViewportSize({ width: 390, height: 800 });
  await page.click("button.menu");
  await page.locator(".contents [aria-current=page]").waitFor();
  await close();
});
