import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { countIs, eventually, launch, open, person, start, textIs } from "./server.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

const read = (path) =>
  fetch(server.url + path, { headers: { Authorization: `Bearer ${server.token}` } }).then((a) => a.json());

test("each figure is the server's, and leads to what it counts", async () => {
  const { page, close } = await open(browser, server, "/overview");
  const tile = page.locator("[aria-label='threads by status'] a");
  await tile.first().waitFor();
  const { counts } = await read("/api/threads?counts=true&limit=1");
  await textIs(tile.filter({ hasText: "failed" }).locator("b"), String(counts.failed));
  await tile.filter({ hasText: "unknown effects" }).getByText("1", { exact: true }).waitFor();

  const days = page.locator("ol[aria-label='decisions a day'] li");
  await countIs(days, 14);
  const { days: known } = await read("/api/waits");
  const sum = (all) => all.reduce((n, x) => n + Number(x), 0);
  await eventually(async () =>
    assert.equal(sum(await days.locator("b").allInnerTexts()), sum(known.map((d) => d.decided))),
  );

  await textIs(page.locator("section[aria-label=store]"), /SQLite.*power cut.*(KiB|MiB)/s);
  await textIs(page.locator("section[aria-label=commits]"), /commits\/s/);
  await page.locator("table[aria-label=processes] td").first().waitFor();
  await page.locator("table[aria-label='waits by person'] td", { hasText: "dana" }).waitFor();

  for (const [table, name, list] of [
    ["waits by question", "pay-invoice", "state=open&question=pay-invoice"],
    ["waits by person", "dana", "state=open&assigned=dana"],
  ]) {
    const row = page.locator(`table[aria-label='${table}'] tr`, { has: page.getByText(name, { exact: true }) });
    const figure = row.getByRole("link").first();
    await textIs(figure, String((await read(`/api/gates?${list}&limit=200`)).items.length));
    await eventually(async () =>
      assert.match(await figure.getAttribute("href"), /^\/\?show=open&(question|assigned)=/),
    );
    const other = row.getByRole("link").nth(1);
    await eventually(async () =>
      assert.match(await other.getAttribute("href"), /question=pay-invoice|by=dana.*kind=decision/),
    );
  }
  await eventually(async () => assert.equal(await page.title(), "Overview · Posthouse"));
  await page.setViewportSize({ width: 1920, height: 1080 });
  const ends = await page.$$eval("[aria-label='threads by status'], [aria-label=store]", (all) =>
    all.map((e) => innerWidth - e.getBoundingClientRect().right),
  );
  assert.ok(Math.max(...ends) <= 24, `at 1920 there is room left at the right: ${ends}`);

  await tile.filter({ hasText: "failed" }).click();
  await page.waitForURL(/\/threads\?status=failed$/);
  await close();
});

test("an empty store has first steps", async () => {
  const empty = await start(["--ephemeral"]);
  const { page, close } = await open(browser, empty, "/overview");
  await page.getByRole("heading", { name: "First steps" }).waitFor();
  await textIs(page.locator("section[aria-label=store]"), /memory/);
  await countIs(page.locator("[aria-label='threads by status']"), 0);
  await close();
  await empty.stop();
});

test("a viewer and an approver see figures, and nothing of what operators ask for", async () => {
  for (const role of ["viewer", "approver"]) {
    const { page, close } = await open(browser, server, "/overview", { token: await person(server, role) });
    await page.locator("table[aria-label='waits by question'] td").first().waitFor();
    await countIs(page.locator("table[aria-label=processes]"), 0);
    await countIs(page.locator("[role=alert]"), 0);
    await close();
  }
});
