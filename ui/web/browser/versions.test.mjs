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

const ask = (path, options = {}) =>
  fetch(`${server.url}/api${path}`, {
    ...options,
    headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" },
  });
const read = async (path) => (await ask(path)).json();

test("a resume says what is tried again under whose decision, with its values, before it is sent", async () => {
  const { page, close } = await open(browser, server, "/threads/invoice-1009");
  await page.getByRole("button", { name: "Resume", exact: true }).first().click();
  const plan = page.getByRole("group", { name: "what the resume does" });
  await plan.getByText("pay is tried again: attempt 3").waitFor();
  for (const said of [
    /the approval of carol/,
    /People are not asked again/,
    /3300\.00/,
    /Lopez Logistics/,
    /limit for this day/,
  ])
    await textIs(plan, said);
  const before = (await read("/threads/invoice-1009")).tail.seq;
  await page.keyboard.press("Escape");
  assert.equal((await read("/threads/invoice-1009")).tail.seq, before);
  await close();
});

test("a release leads to its version, which is looked at, listed and found", async () => {
  const { page, close } = await open(browser, server, "/threads/refund-8888");
  await page.waitForSelector("[data-rows] li a[aria-current]");
  const rows = await page.locator("[data-rows] li").count();
  await page.getByRole("button", { name: "Release", exact: true }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason, goes on record").fill("shipped");
  await dialog.getByLabel("the thread's name").fill("refund-8888");
  await dialog.getByRole("button", { name: "Release" }).click();
  await page.waitForURL(/version=1/);
  const note = page.getByRole("note", { name: "released version" });
  await note.getByText("“shipped”").waitFor();
  await note.getByText("Verified in this browser.").waitFor();
  await note.getByText("Nothing has begun under its name since").waitFor();
  await page.waitForSelector("[data-rows] li a[aria-current]");
  await eventually(async () => assert.equal(await page.locator("[data-rows] li").count(), rows));
  for (const name of ["Resume", "Cancel", "Release"])
    await countIs(page.getByRole("button", { name, exact: true }), 0, name);
  const gate = (await read("/threads/refund-8888/outline?generation=1&details=true")).items.flatMap(
    (r) => r.gates ?? [],
  )[0];
  await page.goto(`${server.url}/gates/${gate}`);
  await page.getByRole("link", { name: "refund-8888", exact: true }).first().click();
  await page.waitForURL(/version=1/); // the thread of now has no such checkpoint
  await page.goto(`${server.url}/threads/refund-8888`);
  await page.getByText("The thread was released").first().waitFor();
  await page.getByRole("link", { name: "version 1" }).waitFor();
  await page.goto(`${server.url}/threads?released=yes`);
  await page.getByRole("row").filter({ hasText: "refund-8888" }).waitFor();
  await page.goto(`${server.url}/threads/refund-8888?version=9`);
  await page.getByText("There is no version 9 of the thread").first().waitFor();
  await close();
});

test("a wait says what it is in words, and a signal is sent with its value as it is written", async () => {
  const [timer] = (await read("/gates?kind=timer&state=open&limit=1")).items;
  const { page, close } = await open(browser, server, `/gates/${timer.id}`);
  await page.getByRole("heading", { name: "Sleeps until a time" }).waitFor();
  await countIs(page.getByRole("button", { name: /Approve|Reject|Respond|Edit/ }), 0);
  const [task] = (await read("/gates?kind=task&state=open&limit=1")).items;
  await page.goto(`${server.url}/gates/${task.id}`);
  await page.getByRole("heading", { name: `Waits for a worker that does ${task.call.task}` }).waitFor();

  const [gate] = (await read("/gates?kind=signal&state=open&limit=1")).items;
  await page.goto(`${server.url}/gates/${gate.id}`);
  await page.getByRole("heading", { name: "Waits for the signal confirmed" }).waitFor();
  await page.goto(`${server.url}/threads/${gate.thread}`);
  await page.getByRole("button", { name: "Send the signal" }).first().click();
  const dialog = page.getByRole("dialog");
  const value = dialog.getByLabel("value, as JSON");
  const send = dialog.getByRole("button", { name: /^Send it/ });
  await value.fill("by mail");
  await eventually(async () => assert.ok(await send.isDisabled()));
  await value.fill('"9007199254740993.10 by mail"');
  await send.click();
  await dialog.waitFor({ state: "hidden" });
  const log = await (await ask(`/threads/${gate.thread}/log?order=desc&limit=20`)).text();
  assert.match(log, /"9007199254740993\.10 by mail"/);
  await page.goto(`${server.url}/gates/${gate.id}`);
  await page.getByText("The signal came.").first().waitFor();
  await close();
});

test("who may not decide is not offered a signal", async () => {
  const token = await person(server, "viewer");
  const [gate] = (await read("/gates?kind=signal&limit=1&state=decided")).items;
  const { page, close } = await open(browser, { ...server, token }, `/gates/${gate.id}`);
  await page.getByRole("heading", { name: /signal/ }).waitFor();
  await countIs(page.getByRole("button", { name: "Send the signal" }), 0);
  await close();
});

test("a part of the line is kept in the address, and what is looked at is in it", async () => {
  const { page, close } = await open(browser, server, "/threads/invoice-1019?branch=main");
  await page.waitForSelector("[data-rows] li a[aria-current]");
  await page.keyboard.press("t");
  const box = await page.getByRole("slider").boundingBox();
  await page.mouse.move(box.x + box.width * 0.05, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 10, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/rows=\d+-\d+/);
  const [, from, to] = /rows=(\d+)-(\d+)/.exec(page.url()).map(Number);
  const at = Number((await page.locator("[data-rows] li a[aria-current]").innerText()).match(/#(\d+)/)[1]);
  assert.ok(at >= from && at <= to, `#${at} is not from #${from} to #${to}`);
  await page.reload();
  await page.getByRole("button", { name: `#${from} to #${to}` }).waitFor();
  await close();
});
