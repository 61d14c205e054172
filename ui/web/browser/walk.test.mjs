// The whole walk: from the printed link to a decision with its receipt, a fork with another amount, and
// what differs between the two.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually, launch, start } from "./server.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

const sound = "Verified in this browser";

test("a question is approved, its thread forked with another amount, both compared, and the record verified", async () => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (e) => errors.push(e.message));

  await page.goto(server.link);
  await page
    .locator("main li a", { hasText: /^Pay .* EUR to/ })
    .first()
    .click();
  const article = page.locator("article[aria-label]");
  await article.getByRole("button", { name: "Approve" }).click();
  await page.fill('form [aria-label="reason"]', "matches the order");
  await page.keyboard.press("Shift+Enter");
  const outcome = page.locator("[aria-label=outcome]");
  await outcome.getByText("approved by").waitFor();
  await outcome.getByText(sound).waitFor();

  await outcome.getByRole("link", { name: "Its whole life and receipt" }).click();
  await page.waitForURL(/\/gates\/gate-/);
  await page.locator("[aria-label='what happened']").getByText("Executed").waitFor();
  await page.locator("article").getByText("Receipt", { exact: true }).waitFor();
  await page.locator("[aria-label=proof]").getByText(sound).waitFor();

  await page.locator('article a[href^="/threads/"]').first().click();
  await page.waitForURL(/\/threads\//);
  const inspector = page.locator("aside[aria-label=checkpoint]");
  await inspector
    .getByText(/^From #|^#\d+ is the first/)
    .or(inspector.getByText("parts changed"))
    .first()
    .waitFor();
  const main = new URL(page.url()).pathname;

  await page.getByRole("button", { name: /^Fork from #/ }).click();
  const draft = page.locator("form[aria-label=fork]");
  await draft.getByRole("group", { name: "what the fork does" }).waitFor();
  const amount = draft.getByLabel("Amount");
  const was = await amount.inputValue();
  await amount.fill("77.10");
  await draft.getByLabel(/run it at once/).check();
  await draft.getByRole("region", { name: "Asks or acts again" }).getByText("asks").first().waitFor();
  await draft.getByRole("button", { name: /^Fork as fork-/ }).click();
  await page.waitForURL(/branch=fork-/);
  await page.waitForFunction(() =>
    document.querySelector("[aria-label='checkpoints, the newest first']")?.textContent.includes("77.10"),
  );
  await eventually(async () => assert.equal(new URL(page.url()).pathname, main));

  await inspector.getByRole("button", { name: /^Compare/ }).click();
  const pin = inspector.getByLabel("pin as A");
  const head = await pin.locator("option", { hasText: "head of main" }).getAttribute("value");
  await pin.selectOption(head);
  const changed = inspector.locator("[role=listitem]", { hasText: "Amount" }).first();
  await changed.getByText("77.10").waitFor();
  await eventually(async () =>
    assert.ok((await changed.innerText()).includes(was), `both amounts stand there: ${await changed.innerText()}`),
  );

  await inspector.getByRole("button", { name: "Entry" }).click();
  await inspector.getByText(sound).waitFor();
  await context.close();
  assert.deepEqual(errors, []);
});
