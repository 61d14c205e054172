import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { busy } from "./busy.mjs";
import { launch, open, start } from "./server.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

/** until waits for a minute at most, and says what it is then. */
async function until(page, holds, now) {
  for (const end = Date.now() + 60_000; !holds(); await page.waitForTimeout(50)) assert.ok(Date.now() < end, now());
}

test("eight tabs share one stream, and 1,000 events a second cost each at most two reads a second", async () => {
  const between = await busy(server.url, 1000);
  const { page, close } = await open(browser, { ...server, url: between.url }, "/?show=open");
  await page.getByRole("button", { name: "live", exact: true }).waitFor(); // so that it reads the stream
  const tabs = [page];
  while (tabs.length < 8) {
    const tab = await page.context().newPage();
    await tab.goto(`${between.url}/?show=open`);
    tabs.push(tab);
  }
  for (const tab of tabs) await tab.getByRole("button", { name: "live", exact: true }).waitFor();
  assert.equal(between.counts.open, 1, "streams for eight tabs");

  const count = () => between.counts.reads.get("/api/gates") ?? 0;
  const [began, before] = [Date.now(), count()];
  // Each tab answers a person meanwhile.
  for (const tab of tabs) {
    await tab.keyboard.press("?");
    await tab.getByRole("heading", { name: "Keys" }).waitFor();
    await tab.keyboard.press("Escape");
  }
  await until(
    page,
    () => count() >= before + 16,
    () => `${count() - before} reads of lists`,
  );
  const [seconds, reads] = [(Date.now() - began) / 1000, count() - before];
  // A tab shows two lists: the open questions, and those that wait for the person.
  assert.ok(reads <= (seconds + 1) * 8 * 2 * 2, `${reads} reads of lists in ${seconds} s by eight tabs`);

  // The stream goes on in another tab when the one that reads it is closed.
  await tabs[0].close();
  const { counts } = between;
  await until(
    tabs[1],
    () => counts.streams >= 2 && counts.open === 1,
    () => `${counts.streams} streams, ${counts.open} open`,
  );
  await tabs[7].getByRole("button", { name: "live", exact: true }).waitFor();
  await close();
  between.stop();
});
