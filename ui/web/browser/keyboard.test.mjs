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

/** focused waits until the focus is on what a selector finds, which is never the page itself. */
async function focused(page, which, what) {
  await page
    .waitForFunction(
      (which) => document.activeElement !== document.body && document.activeElement?.matches(which),
      which,
      {
        timeout: 10_000,
      },
    )
    .catch(async () => {
      const at = await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200));
      assert.fail(`${what}: the focus is on ${at}`);
    });
}

/** tabTo presses Tab until the focus is on what a selector finds. */
async function tabTo(page, which, most) {
  for (let i = 1; i <= most; i++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((which) => document.activeElement?.matches(which), which)) return i;
  }
  const at = await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200));
  assert.fail(`${most} times Tab do not lead to ${which}; the focus is on ${at}`);
}

const goTo = async (page, name, path) => {
  await page.keyboard.press("Control+k");
  await page.keyboard.type(name);
  await page.getByRole("option", { name, exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL((u) => u.pathname === path);
};

test("a run is started, a question decided and its thread read with the keyboard alone", async () => {
  const { page, close } = await open(browser, server, "/programs/refund");
  await page.waitForSelector("main form textarea");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter"); // skips the navigation
  await focused(page, "main h1", "after the skip link");
  await tabTo(page, "main form textarea", 40);
  await page.keyboard.type("please refund order 8860");
  await tabTo(page, "main form [type=submit]", 10);
  await page.keyboard.press("Enter");
  await focused(page, "[role=status] a[href^='/threads/']", "after the start");

  await goTo(page, "Inbox", "/");
  await page.waitForSelector("main li a");
  await focused(page, "main, main h1", "in the inbox");
  await page.keyboard.press("j");
  await focused(page, "li a[aria-current]", "after j");
  const second = await page.evaluate(() => document.activeElement.dataset.gate);
  await page.keyboard.press("ArrowUp");
  await focused(page, `li a[aria-current]:not([data-gate="${second}"])`, "after ArrowUp");
  await page.keyboard.press("k");
  await focused(page, "li a[aria-current]", "at the first row");
  const stops = await tabTo(page, "article a, article button, article summary", 3);
  assert.ok(stops <= 2, `the list has ${stops} stops of Tab`);

  await page.keyboard.press("a");
  await focused(page, "input[aria-label=reason]", "in the line to confirm");
  await page.keyboard.press("Escape");
  await focused(page, "article, article *", "after Esc");
  await page.keyboard.press("a");
  await focused(page, "input[aria-label=reason]", "in the line to confirm, once more");
  await page.keyboard.type("by keyboard");
  await page.keyboard.press("Shift+Enter");
  await page.waitForFunction(() => /^approved/i.test(document.getElementById("announced")?.textContent ?? ""));
  await focused(page, "article, article *", "after the decision");
  await tabTo(page, "article a[href^='/threads/']", 10);
  await page.keyboard.press("Enter");
  await page.waitForURL((u) => u.pathname.startsWith("/threads/"));
  await page.waitForSelector("[data-rows] li");
  await focused(page, "main, main *", "in the thread");
  await page.keyboard.press("ArrowRight");
  await page.waitForURL(/at=/);
  await focused(page, "main, main *", "on another row");
  await close();
});

test("the list of threads is one stop of Tab, Space chooses, and Back leads to the row that was opened", async () => {
  const { page, close } = await open(browser, server, "/threads", { viewport: { width: 1280, height: 420 } });
  await page.waitForSelector("[role=row] [role=cell] a");
  await page.keyboard.press("/");
  await page.keyboard.press("Escape");
  await focused(page, "[role=cell] a", "after the search");
  const first = await page.evaluate(() => document.activeElement.textContent);
  await page.keyboard.press("Tab");
  assert.equal(
    await page.evaluate(() => document.activeElement.closest("[role=table]")),
    null,
    "rows are stops of Tab",
  );
  await page.keyboard.press("Shift+Tab");
  await focused(page, "[role=cell] a", "back in the list");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), first);
  await page.keyboard.press("Space");
  await page.getByText("1 chosen").waitFor();
  await page.keyboard.press("Space");
  for (let i = 0; i < 30; i++) {
    const was = await page.evaluate(() => document.activeElement.textContent);
    await page.keyboard.press("ArrowDown");
    const moved = (timeout) =>
      page.waitForFunction(
        (was) => {
          const at = document.activeElement;
          return at?.matches("[role=row][aria-current] a") && at.textContent !== was;
        },
        was,
        { timeout },
      );
    // A run of the test before may end now: a key is lost on a row that moves away at that moment.
    await moved(2000).catch(() => page.keyboard.press("ArrowDown").then(() => moved(30_000)));
  }
  const scroll = page.getByRole("group", { name: "list of threads" });
  const top = await scroll.evaluate((e) => e.scrollTop);
  assert.ok(top > 500, `the list is scrolled by ${top}`);
  const name = await page.evaluate(() => document.activeElement.textContent);
  await page.keyboard.press("Enter");
  await page.waitForURL((u) => u.pathname !== "/threads");
  await page.waitForSelector("[data-rows] li");
  await focused(page, "main, main *", "in the thread");
  await page.goBack();
  await focused(page, "[role=row][aria-current] a", "back in the list");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), name);
  assert.equal(await scroll.evaluate((e) => e.scrollTop), top);
  await close();
});
