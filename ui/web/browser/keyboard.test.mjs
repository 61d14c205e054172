import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, eventually, launch, open, start } from "./server.mjs";

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
  await page.keyboard.press("k");
  await focused(page, `li a[aria-current]:not([data-gate="${second}"])`, "after k");
  await page.keyboard.press("k");
  await focused(page, "li a[aria-current]", "at the first row");
  await page.keyboard.press("j"); // the first one is about an unknown outcome
  await focused(page, `li a[aria-current][data-gate="${second}"]`, "after j once more");
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
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.textContent), first));
  await page.keyboard.press("Space");
  await page.getByText("1 chosen").first().waitFor();
  await page.keyboard.press("Space");
  for (let i = 0; i < 30; i++) {
    const was = await page.evaluate(() => document.activeElement.textContent);
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction((was) => {
      const at = document.activeElement;
      return at?.matches("[role=row][aria-current] a") && at.textContent !== was;
    }, was);
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
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.textContent), name));
  await eventually(async () => assert.equal(await scroll.evaluate((e) => e.scrollTop), top));
  await close();
});

test("keys act on the thread that had the focus, also when its row moves away or leaves the list", async () => {
  const { page, close } = await open(browser, server, "/threads", { viewport: { width: 1280, height: 420 } });
  const list = async (query) => (await call(server, "GET", `/threads?limit=200&${query}`)).items.map((t) => t.thread);
  const cancel = (thread) => call(server, "POST", `/threads/${encodeURIComponent(thread)}/cancel`, { reason: "old" });
  const at = (thread) =>
    page.waitForFunction(
      (path) => document.activeElement.matches("[role=row] a") && document.activeElement.pathname === path,
      `/threads/${encodeURIComponent(thread)}`,
    );
  const onList = () => page.waitForFunction(() => document.activeElement.ariaLabel === "list of threads");
  const link = (thread) => page.locator(`[role=row] a[href='/threads/${encodeURIComponent(thread)}']`);
  const all = await list("");
  const far = (await list("status=waiting")).findLast((t) => all.indexOf(t) > 30);
  assert.ok(far, "no thread that waits is far down");
  await page.waitForSelector("[role=row] [role=cell] a");
  const scroll = page.getByRole("group", { name: "list of threads" });
  await scroll.evaluate((e, row) => e.scrollTo(0, row * 36 - 100), all.indexOf(far));
  await link(far).focus();
  await cancel(far); // it moves to the top, out of sight
  await onList();
  await page.keyboard.press("Space");
  await page.getByText("1 chosen").first().waitFor();
  await page.keyboard.press("Space");
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(
    (href) => {
      const row = document.querySelector(`[role=row] a[href='${href}']`)?.closest("[role=row]");
      const now = document.activeElement.closest("[role=row]");
      return now && row && now.ariaRowIndex - row.ariaRowIndex === 1;
    },
    `/threads/${encodeURIComponent(far)}`,
  );

  await page.goto(`${server.url}/threads?status=waiting`);
  await page.waitForSelector("[role=row] [role=cell] a");
  await page.keyboard.press("j");
  await page.keyboard.press("End");
  const [before, last] = (await list("status=waiting")).slice(-2);
  await at(last);
  await cancel(last);
  await onList();
  await page.keyboard.press("ArrowUp");
  await at(before);
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/threads/${encodeURIComponent(before)}`);
  await close();
});
