import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { countIs, eventually, launch, open, pass, person, start, textIs, wrongClock } from "./server.mjs";

let server, browser, carol;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
  carol = await person(server, "approver", "carol");
});
after(async () => {
  await browser.close();
  await server.stop();
});

const article = "article[aria-label]";
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** call asks the API as the operator. */
async function call(path, body) {
  const answer = await fetch(`${server.url}/api${path}`, {
    method: body ? "POST" : "GET",
    headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${path}: ${text}`);
  return JSON.parse(text);
}

/** gatesOf returns the open questions of a thread once there are so many. */
async function gatesOf(thread, count) {
  for (const until = Date.now() + 30_000; Date.now() < until; await new Promise((done) => setTimeout(done, 50))) {
    const { items } = await call(`/gates?thread=${thread}`);
    if (items.length === count) return items;
  }
  assert.fail(`${thread} has not ${count} questions`);
}

test("a fork and its source that ask the same warn of each other, also of what was done already", async () => {
  const thread = "invoice-1014";
  const [main] = await gatesOf(thread, 1);
  const rows = (await call(`/threads/${thread}/outline?limit=50`)).items;
  const at = rows.find((r) => r.node === "compare").id;
  const draft = await open(browser, server, `/threads/${thread}?at=${at}&draft=yes`);
  await draft.page.getByText("main asks it now and goes on asking").first().waitFor();
  await draft.close();
  await call(`/checkpoints/${at}/fork`, { patch: { Amount: 77.77 }, run: true });
  const fork = (await gatesOf(thread, 2)).find((g) => g.id !== main.id);

  const { page, close } = await open(browser, server, `/?gate=${fork.id}`, { token: carol });
  const also = page.getByRole("note", { name: "asked elsewhere, too" });
  await also.getByText("main asks for the same").waitFor();
  await also.getByText("1250.00", { exact: true }).waitFor(); // what differs
  await page.getByRole("button", { name: "Approve" }).click();
  await page
    .locator("form")
    .getByText(/main asks for the same \(open\).*it is done twice/)
    .waitFor();
  await page.keyboard.press("Escape");
  await also.getByRole("link").click();
  await page.waitForURL(`**/gates/${main.id}`);
  await also.getByText("fork-1 asks for the same").waitFor();
  // A set takes neither of them.
  await page.goto(`${server.url}/?set=pay-invoice`);
  const left = page.getByRole("region", { name: "left out" });
  await left.waitFor();
  await eventually(async () =>
    assert.equal((await left.innerText()).match(/another branch or thread asks, or did, the same/g).length, 2),
  );
  // What the other branch did is said as it happens, also on the page of the question alone.
  await page.goto(`${server.url}/gates/${fork.id}`);
  await also.getByText("main asks for the same").waitFor();
  await call(`/gates/${main.id}/approve`, { reason: "on time" });
  await also.getByText(/main did the same already/).waitFor();
  await textIs(also, /approved by operator, .*, executed\)/);
  await page.getByRole("button", { name: "Approve" }).click();
  await page
    .locator("form")
    .getByText(/main did the same already.*it is done twice/)
    .waitFor();
  // A fork in a thread of its own is warned, too.
  const away = await call(`/checkpoints/${main.checkpoint}/fork`, { thread: "invoice-1014-again" });
  await page.goto(`${server.url}/gates/${away.gates[0]}`);
  await also.getByText("Thread invoice-1014 did the same already").waitFor();
  await close();
});

test("the inbox is searched and narrowed, and its address says to what", async () => {
  const { page, close } = await open(browser, server, "/?show=open");
  await page.waitForSelector(article);
  await page.keyboard.press("/");
  await page.keyboard.type("energie for INVOICE");
  await page.waitForURL(/[?&]q=energie/);
  const rows = page.locator("main section li");
  await page.waitForFunction(() => document.querySelectorAll("main section li").length === 1);
  await textIs(rows.first(), /Nordlicht/);
  await page.keyboard.press("Control+a");
  await page.keyboard.type("nothing of that");
  await page.getByText("Nothing fits").first().waitFor();
  await page.getByRole("link", { name: "Show all" }).click();
  await page.waitForFunction(() => document.querySelectorAll("main section h2").length > 1);
  // A link counts, also a moment after a key: what was typed is not searched for after it.
  await page.keyboard.press("/");
  await page.keyboard.type("nothing");
  await page.waitForURL(/[?&]q=nothing/);
  const all = page.getByRole("link", { name: "Show all" });
  await all.waitFor();
  await page.keyboard.type(" of that");
  await all.click();
  await page.waitForTimeout(500);
  await eventually(async () => assert.equal(new URL(page.url()).searchParams.get("q"), null));
  await eventually(async () => assert.equal(await page.getByRole("searchbox").inputValue(), ""));
  await page.getByRole("button", { name: "Filter" }).click();
  await page.locator("form select").nth(1).selectOption("invoice");
  await page.getByLabel("Asked by").fill("bob");
  await page.getByRole("button", { name: "Narrow" }).click();
  await page.waitForURL(/program=invoice.*requester=bob/);
  const narrowed = page.getByRole("navigation", { name: "narrowed to" });
  await narrowed.getByRole("link", { name: /program invoice/ }).waitFor();
  const want = (await call("/gates?program=invoice&requester=bob&limit=200")).items.map((g) => g.thread);
  await page.waitForFunction((n) => document.querySelectorAll("main section li").length === n, want.length);
  await narrowed.getByRole("link", { name: /asked by bob/ }).click();
  await page.waitForURL((u) => !u.search.includes("requester"));
  await close();
});

test("on a phone Back closes a question and a checkpoint, and the focus goes along", async () => {
  const { page, close } = await open(browser, server, "/threads", phone);
  await page.getByRole("link", { name: /^Inbox/ }).tap();
  const row = page.locator("main section li a").first();
  await row.waitFor();
  const id = await row.getAttribute("id");
  const focus = (selector) => page.waitForFunction((s) => document.activeElement?.matches(s), selector);
  for (const back of [() => page.goBack(), () => page.locator("article").getByRole("link", { name: "Inbox" }).tap()]) {
    await row.tap();
    await page.waitForSelector(article);
    await focus("article");
    await back();
    await row.waitFor();
    await eventually(async () => assert.equal(new URL(page.url()).search, ""));
    await focus(`#${id}`);
  }
  await page.goBack();
  await page.waitForURL("**/threads");
  await page.goto(`${server.url}/threads/invoice-1015`);
  const checkpoint = page.locator("[data-rows] li a").first();
  for (const back of [() => page.goBack(), () => page.getByRole("button", { name: "close" }).tap()]) {
    await checkpoint.tap();
    await focus("aside[aria-label=checkpoint]");
    await back();
    await page.locator("aside[aria-label=checkpoint]").waitFor({ state: "detached" });
    await eventually(async () => assert.equal(new URL(page.url()).search, ""));
  }
  await page.goBack();
  await page.waitForURL((u) => !u.pathname.includes("invoice-1015"));
  await close();
});

test("a device whose clock is off shows the time by the clock of the server", async () => {
  const gate = (await call("/gates?state=open&thread=contract-lopez")).items[0];
  const { page, close } = await open(browser, server, `/?gate=${gate.id}&show=open&q=contract-lopez`, { token: carol });
  const said = async () => {
    await page.waitForSelector(article);
    const times = await page.locator(`#row-${gate.id}, ${article} header, ${article} [class*=chip]`).allInnerTexts();
    const hours = /^(\d+) h ago$/.exec(await page.locator(`${article} time`).first().innerText());
    return [times.join("|"), Number(hours?.[1])];
  };
  const right = await said();
  assert.match(right[0], /\d (d|h) left/);
  for (const hours of [72, -72, 0.5, -6.5]) {
    await wrongClock(page, hours * 3600_000);
    await page.reload();
    const [times, ago] = await said();
    assert.equal(times, right[0], `off by ${hours} h`);
    assert.ok(Math.abs(ago - right[1]) <= 1, `asked ${ago} h ago, and not ${right[1]}`);
  }
  await page.goto(`${server.url}/settings`);
  await page
    .getByText(/The clock of this device is 6 h behind\.$/)
    .first()
    .waitFor();
  await close();
});

test("a deadline's last minute is counted beside the decision, and what was typed stays", async () => {
  const gate = (await call("/gates?order=deadline&question=send-newsletter&limit=1")).items[0];
  const { page, close } = await open(browser, server, `/?gate=${gate.id}&show=open`, { token: carol });
  await page.waitForSelector(article);
  await page.getByRole("button", { name: "Reject" }).click();
  const form = page.locator("article form");
  await form.getByLabel("reason").fill("not this week");
  await countIs(form.getByText(/ s left/), 0);
  const left = Date.parse(gate.expiresAt) - Date.now();
  await pass(page, left - 20_000);
  await form.getByText(/^(20|1\d) s left: after that it expires\.$/).waitFor();
  await page.getByText("Less than a minute is left to decide this.").first().waitFor();
  await pass(page, left + 1000);
  await form.getByText("Its deadline has passed.").waitFor();
  await eventually(async () => assert.equal(await form.getByLabel("reason").inputValue(), "not this week"));
  await close();
});

test("what is approved is in sight in a magnified window, and keys that are off are not shown", async () => {
  const { page, close } = await open(browser, server, "/?show=open&question=pay-invoice", {
    viewport: { width: 640, height: 400 },
    token: carol,
  });
  await page.locator("main section li a").first().click();
  const all = page.getByRole("button", { name: "Show all first" });
  await page.getByRole("button", { name: /Approve|Show all first/ }).waitFor();
  if (await all.count()) await all.click();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.waitForSelector('form [aria-label="reason"]');
  await page.waitForFunction(() => {
    const asked = document.querySelector("[aria-label='what is asked']").getBoundingClientRect();
    const bar = document.querySelector("article footer").getBoundingClientRect();
    return asked.top >= 0 && Math.min(asked.bottom, bar.top) - asked.top > 120;
  });
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.evaluate(() => localStorage.setItem("keys", "off"));
  await page.goto(`${server.url}/?show=open&question=pay-invoice`);
  await page.getByRole("button", { name: "Reject" }).waitFor();
  const hints = await page.locator("article footer kbd").allInnerTexts();
  assert.deepEqual(hints, []);
  await close();
});

test("a question that expired is asked again on a fork, which is said before, and each leads to the other", async () => {
  const gate = (await call("/gates?thread=invoice-1012&state=expired")).items[0];
  const { page, close } = await open(browser, server, `/gates/${gate.id}`);
  await page
    .getByText(/main went on since and is done: this makes a fork of it/)
    .first()
    .waitFor();
  await page.getByRole("textbox", { name: "reason" }).fill("it was a holiday");
  await page.getByRole("button", { name: "Ask again on a fork" }).click();
  await page.getByText("asked again: it was a holiday").first().waitFor();
  await page.waitForURL((u) => u.pathname.startsWith("/gates/") && !u.pathname.endsWith(gate.id));
  await page
    .getByText(/It repeats a question that expired .*, asked again by operator\./)
    .first()
    .waitFor();
  await page.getByRole("link", { name: "a question that expired" }).click();
  await page.waitForURL(`**/gates/${gate.id}`);
  await page.getByRole("button", { name: "Show the question that is asked in its place" }).waitFor();
  await close();
});

test("a question of a cancelled branch says who cancelled it and why, and no quotation marks but theirs", async () => {
  const { thread, id } = (await call("/gates?state=open")).items.find(
    (g) => g.branch === "main" && /^invoice-/.test(g.thread),
  );
  await call(`/threads/${encodeURIComponent(thread)}/cancel`, { reason: "called off" });
  const { page, close } = await open(browser, server, `/gates/${id}`);
  const life = page.getByLabel("its life");
  await life.getByText(/^the branch was cancelled by \S+: called off$/).waitFor();
  await page
    .getByText(/main was cancelled: this makes a fork of it/)
    .first()
    .waitFor();
  await page.goto(`${server.url}/proof?show=audit&days=30&kind=decision`);
  const rows = page.locator("[aria-label='who did what'] tbody tr");
  await rows
    .filter({ hasText: "withdrew" })
    .getByText(/^\(the branch was cancelled by \S+: called off\)$/)
    .waitFor();
  await close();
});
