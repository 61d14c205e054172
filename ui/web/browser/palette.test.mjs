import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually, launch, open, start } from "./server.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

test("the palette goes to threads, programs, questions and commands, and says what it found", async () => {
  const { page, close } = await open(browser, server, "/");
  await page.waitForSelector("main li a");
  const list = page.getByRole("listbox", { name: "what was found" });
  const type = async (text) => {
    await page.keyboard.press("Control+k");
    await list.waitFor();
    await page.keyboard.type(text);
  };
  await type("invoice-10");
  const first = list.getByRole("option").first();
  await page.waitForFunction(() => document.querySelector("[role=option]")?.textContent.startsWith("invoice-10"));
  await page
    .getByRole("status")
    .getByText(/6 threads, the newest of more/)
    .waitFor();
  const name = /^invoice-\d+/.exec(await first.innerText())[0];
  await page.keyboard.press("Enter");
  await page.waitForURL((u) => u.pathname === `/threads/${name}`);
  await type("8877"); // the end of a name
  await list.getByRole("option", { name: /^refund-8877/ }).waitFor();
  await page.keyboard.press("Control+k");
  await type("resea");
  await list
    .getByRole("group", { name: "Programs" })
    .getByRole("option", { name: /^research/ })
    .click();
  await page.waitForURL(/\/programs\/research$/);
  const gate = await page.evaluate(async () => (await (await fetch("/api/gates?limit=1")).json()).items[0]);
  await type(gate.id);
  await list.getByRole("option").first().waitFor();
  await page.getByRole("status").getByText("1 question", { exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/gates\/gate-/);
  const open1 = await page.evaluate(async () => (await (await fetch("/api/gates?limit=1")).json()).items[0]);
  await type(open1.id.slice(-6)); // the end of an id
  await list.getByRole("group", { name: "Questions" }).getByRole("option", { name: open1.intent }).click();
  await page.waitForURL((u) => u.pathname === `/gates/${open1.id}`);
  await type("threads: fail");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/threads\?status=failed/);
  await type("threads: clear");
  await list.getByRole("option", { name: "Threads: clear the filter" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/threads$/);
  await type("no such thing");
  await page.getByRole("status").getByText("Nothing has that name or id").waitFor();
  await page.keyboard.press("Enter");
  await eventually(async () => assert.ok(await list.isVisible()));
  await page.keyboard.press("Escape");
  await list.waitFor({ state: "hidden" });
  await close();
});
