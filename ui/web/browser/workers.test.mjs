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

/** changes notes what a page sends that changes something. */
function changes(page) {
  const sent = [];
  page.on("request", (r) => {
    if (r.method() !== "GET" && r.url().includes("/api/")) sent.push(`${r.method()} ${new URL(r.url()).pathname}`);
  });
  return sent;
}

test("a retry can be taken back, is not sent by who leaves, and is sent after five seconds", async () => {
  const { page, close } = await open(browser, server, "/workers?show=failed");
  const sent = changes(page);
  const retry = page.getByRole("button", { name: "Retry: transcribe" });
  await retry.waitFor();
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 1000);

  await retry.click();
  await page.getByText("Leaving this page sends nothing").first().waitFor();
  await page.locator("button:focus", { hasText: "Take back" }).waitFor();
  await page.keyboard.press("Enter");
  await page.clock.runFor(6000);
  assert.deepEqual(sent, [], "it was taken back");
  await eventually(async () =>
    assert.ok(await retry.evaluate((b) => b === document.activeElement), "the focus is not where it was"),
  );

  await retry.click();
  await page.getByRole("button", { name: "Take back" }).waitFor();
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.clock.runFor(6000);
  await page.getByRole("link", { name: "Workers and tasks" }).click();
  await page.getByRole("link", { name: /^Failed/ }).click();
  await retry.waitFor();
  assert.deepEqual(sent, [], "the page was left");

  await retry.click();
  await page.clock.runFor(4000);
  assert.deepEqual(sent, [], "five seconds are not over");
  await page.clock.runFor(2000);
  await page.clock.resume();
  await page.getByRole("status").getByText("done").waitFor();
  await page.getByText("No task has failed").first().waitFor();
  assert.match(sent.join(), /^POST \/api\/tasks\/gate-[^/]+\/retry$/);
  await close();
});

test("a dead letter says what it is and means, is dropped, and has no retry where that would fail again", async () => {
  const { page, close } = await open(browser, server, "/workers?show=letters");
  const sent = changes(page);
  const letters = page.locator("[aria-label='dead letters'] tbody tr");
  await letters.first().waitFor();
  await countIs(page.getByRole("button", { name: "Drop" }), 2);
  await countIs(page.getByRole("button", { name: "Retry" }), 0);
  const table = page.getByRole("table", { name: "dead letters" });
  await textIs(table, /media-1 asked to say how its task ended\s+its result is 1,310,720 bytes/);
  await textIs(table, /a task transcribe is ready\s+it is cut: its JSON has no end/);
  await textIs(table, /Nothing of it is on record.*\n[^]*The task is on record and is found there/);
  await page.clock.install();
  await page.getByRole("button", { name: "Drop: the message that media-1 asked to say how its task ended" }).click();
  await page.clock.runFor(6000);
  await page.getByRole("status").getByText("done").waitFor();
  await page.waitForFunction(
    () => !document.querySelector("[aria-label='dead letters']").textContent.includes("media-1"),
  );
  assert.match(sent.join(), /^DELETE \/api\/dead-letters\/\d+$/);
  await close();
});

test("numbers lead to the tasks that they count", async () => {
  const { page, close } = await open(browser, server, "/workers");
  const row = page.locator("[aria-label=queues] tr", { hasText: "wipe-tapes" });
  await row.getByText("no worker takes it").waitFor();
  await row.getByRole("link").click();
  await page.waitForURL(/show=tasks&task=wipe-tapes&state=ready/);
  await page.locator("[aria-label='open tasks']").getByText("erasure-C-439").waitFor();
  await textIs(page.locator("[aria-label='open tasks']"), /a worker that takes it: none is there/);
  await page.goto(`${server.url}/workers?show=tasks`);
  const paused = page.locator("[aria-label='open tasks'] tr", { hasText: "task-call-2295" });
  await paused.getByText(/^who speaks: goes on by itself in 5 h$/).waitFor();
  const chips = page.getByRole("navigation", { name: "states" });
  await textIs(chips, /^All\s+3\s+claimed\s+1\s+ready\s+1\s+delayed\s+0\s+paused\s+1$/);
  await close();
});

for (const role of ["viewer", "approver"]) {
  test(`${role}s see who works and what failed, and no button that changes it`, async () => {
    const { page, close } = await open(browser, server, "/workers", { token: await person(server, role) });
    await page.locator("[aria-label=workers] td", { hasText: "media-1" }).waitFor();
    await countIs(page.getByRole("link", { name: /Dead letters/ }), 0);
    await page.getByRole("link", { name: /^Tasks/ }).click();
    await page.locator("[aria-label='open tasks'] td").first().waitFor();
    await countIs(page.locator("main").getByRole("button", { name: /Retry|Give up|Go on|Drop/ }), 0);
    await close();
  });
}
