import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open, person, start } from "./server.mjs";

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
  assert.equal(await tile.filter({ hasText: "failed" }).locator("b").innerText(), String(counts.failed));
  await tile.filter({ hasText: "unknown effects" }).getByText("1", { exact: true }).waitFor();

  const days = page.locator("ol[aria-label='decisions a day'] li");
  assert.equal(await days.count(), 14);
  const drawn = await days.locator("b").allInnerTexts();
  const { days: known } = await read("/api/waits");
  const sum = (all) => all.reduce((n, x) => n + Number(x), 0);
  assert.equal(sum(drawn), sum(known.map((d) => d.decided)));

  assert.match(await page.locator("section[aria-label=store]").innerText(), /SQLite.*power cut.*(KiB|MiB)/s);
  assert.match(await page.locator("section[aria-label=commits]").innerText(), /commits\/s/);
  await page.locator("table[aria-label=processes] td").first().waitFor();
  await page.locator("table[aria-label='waits by person'] td", { hasText: "dana" }).waitFor();

  for (const [table, name, list] of [
    ["waits by question", "pay-invoice", "state=open&question=pay-invoice"],
    ["waits by person", "dana", "state=open&assigned=dana"],
  ]) {
    const row = page.locator(`table[aria-label='${table}'] tr`, { has: page.getByText(name, { exact: true }) });
    const figure = row.getByRole("link").first();
    assert.equal(await figure.innerText(), String((await read(`/api/gates?${list}&limit=200`)).items.length));
    assert.match(await figure.getAttribute("href"), /^\/\?show=open&(question|assigned)=/);
    assert.match(
      await row.getByRole("link").nth(1).getAttribute("href"),
      /question=pay-invoice|by=dana.*kind=decision/,
    );
  }
  assert.equal(await page.title(), "Overview · Posthouse");
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
  assert.match(await page.locator("section[aria-label=store]").innerText(), /memory/);
  assert.equal(await page.locator("[aria-label='threads by status']").count(), 0);
  await close();
  await empty.stop();
});

test("a viewer and an approver see figures, and nothing of what operators ask for", async () => {
  for (const role of ["viewer", "approver"]) {
    const { page, close } = await open(browser, server, "/overview", { token: await person(server, role) });
    await page.locator("table[aria-label='waits by question'] td").first().waitFor();
    assert.equal(await page.locator("table[aria-label=processes]").count(), 0);
    assert.equal(await page.locator("[role=alert]").count(), 0);
    await close();
  }
});
