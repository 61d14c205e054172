import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open, start } from "./server.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

const article = "article[aria-label]";

test("a question is approved with the keyboard alone, and its receipt is seen", async () => {
  const { page, close } = await open(browser, server, "/");
  await page.waitForSelector(article);
  const intent = await page.getAttribute(article, "aria-label");
  await page.waitForTimeout(600); // keys are dead for half a second after the page chose the question itself
  await page.keyboard.press("a");
  await page.waitForSelector('form [aria-label="reason"]');
  assert.equal(await page.locator("[aria-label=outcome]").count(), 0, "one key decided");
  await page.keyboard.type("matches the order, a r e p d");
  await page.keyboard.press("Shift+Enter");
  await page.waitForSelector("[aria-label=outcome]");
  await page.waitForFunction(() => document.querySelector("[aria-label=outcome]").textContent.includes("approved by"));
  assert.match(await page.innerText("[aria-label=outcome]"), /approved by operator.*matches the order/s);
  assert.equal(await page.getAttribute(article, "aria-label"), intent, "the question left its place");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/gates\/gate-/);
  await page.waitForFunction(() =>
    document.querySelector("[aria-label='what happened']")?.textContent.includes("Executed"),
  );
  assert.match(await page.innerText("article"), /Receipt/);
  await close();
});

test("one question is decided in two tabs at once: one wins, and both say who", async () => {
  const first = await open(browser, server, "/?show=open");
  const second = await open(browser, server, "/?show=open");
  for (const { page } of [first, second]) {
    await page.waitForSelector(article);
    await page.getByRole("button", { name: "Reject" }).click();
    await page.fill('form [aria-label="reason"]', "once");
  }
  // The first decision is held back until the other tab has sent one, too.
  const sent = [];
  let both;
  const race = new Promise((done) => (both = done));
  for (const { page } of [first, second]) {
    await page.route(/\/(reject|deny)$|\/(reject|deny)\?/, async (route) => {
      sent.push(route.request().url());
      if (sent.length === 2) both();
      await race;
      await route.continue();
    });
    await page.locator("article footer form").getByRole("button", { name: "Reject" }).click();
  }
  await race;
  for (const { page, close } of [first, second]) {
    await page.waitForFunction(() =>
      document.querySelector("[aria-label=outcome]")?.textContent.includes("rejected by operator"),
    );
    await close();
  }
});

test("the link that was printed logs in once, and the inbox is there", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(server.link);
  await page.waitForSelector("main li a");
  await context.close();
  const other = await browser.newContext();
  const second = await other.newPage();
  await second.goto(server.link);
  await second.waitForSelector("#token");
  assert.equal(await second.locator("main li a").count(), 0);
  await other.close();
});

test("a stranger is led to the login and back", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${server.url}/?show=decided#x`);
  await page.waitForURL(/\/login\?next=/);
  assert.equal(new URL(page.url()).searchParams.get("next"), "/?show=decided#x");
  await page.fill("#token", server.token);
  await page.click("form button.primary");
  await page.waitForURL(/show=decided#x$/);
  await context.close();
});

test("questions of one kind are decided together, each with a decision of its own", async () => {
  const { page, close } = await open(browser, server, "/?show=open");
  await page.waitForSelector(article);
  await page.getByRole("link", { name: "decide together" }).first().click();
  const rows = page.locator("[aria-label='decide together'] tbody tr");
  await rows.first().waitFor();
  const count = await rows.count();
  assert.ok(count > 1, `${count} questions in a set`);
  await rows.first().locator("input").uncheck();
  await page.getByRole("button", { name: `Approve ${count - 1}` }).click();
  await page.fill('[aria-label="reason"]', "all checked");
  await page.keyboard.press("Shift+Enter");
  await page.waitForFunction((n) => document.body.innerText.includes(`${n} of ${n} sent`), count - 1);
  assert.equal(await rows.first().locator("td").last().innerText(), "");
  assert.match(await rows.nth(1).locator("td").last().innerText(), /executed|decided|waiting|running/);
  await close();
});
