import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, countIs, eventually, launch, open, start } from "./server.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

test("what does not exist is named, with the list it would stand in, and a search that begins with it", async () => {
  const { page, close } = await open(browser, server, "/threads");
  for (const [path, says, way, to] of [
    ["/threads/refund-88", "There is no thread refund-88", "All threads", "/threads"],
    ["/gates/gate-refund-88", "There is no question gate-refund-88", "Inbox", "/"],
    ["/programs/refund-88", "There is no program refund-88", "All programs", "/programs"],
    ["/nope/refund-88", "There is no page /nope/refund-88", "Inbox", "/"],
  ]) {
    const answer = await page.goto(server.url + path);
    assert.equal(answer.status(), path.startsWith("/nope") ? 404 : 200, path);
    await page.getByRole("heading", { name: says, exact: true }).waitFor();
    await page.getByRole("button", { name: "Search for it" }).click();
    await eventually(async () => assert.match(await page.getByRole("combobox").inputValue(), /refund-88$/));
    await page.keyboard.press("Escape");
    await page.getByRole("main").getByRole("link", { name: way, exact: true }).click();
    await page.waitForURL((u) => u.pathname === to);
  }
  await page.goto(`${server.url}/threads/refund-88`);
  await page.getByRole("button", { name: "Search for it" }).click();
  await page
    .getByRole("option", { name: /^refund-88\d\d/ })
    .first()
    .click();
  await page.waitForURL(/\/threads\/refund-88\d\d$/);
  await close();
});

test("the page of what does not exist stays while other threads go on", async () => {
  const { page, close } = await open(browser, server, "/threads/refund-88");
  await page.getByRole("heading", { name: "There is no thread refund-88", exact: true }).waitFor();
  await page.getByRole("button", { name: "live", exact: true }).waitFor();
  const read = [];
  page.on("request", (r) => read.push(new URL(r.url()).pathname));
  await call(server, "POST", "/programs/refund/runs", { id: "goes-on", input: "refund order 9" });
  await eventually(async () => assert.ok(read.includes("/api/gates"), read.join()));
  assert.ok(!read.includes("/api/threads/refund-88"), "it is read again");
  await close();
});

test("a page whose server is slow holds its place, and is connecting until it was live", async () => {
  const { page, close } = await open(browser, server, "/threads");
  await page.getByRole("button", { name: "live", exact: true }).waitFor();
  let go;
  const held = new Promise((done) => (go = done));
  await page.route("**/api/events*", (route) => route.abort());
  await page.route("**/api/me", async (route) => {
    await held;
    await route.continue();
  });
  await page.reload({ waitUntil: "commit" });
  await page.locator("[aria-busy=true] main [aria-hidden]").first().waitFor();
  go();
  await page.getByRole("button", { name: /^connecting since/ }).waitFor();
  await countIs(page.getByRole("button", { name: /not live/ }), 0);
  await close();
});
