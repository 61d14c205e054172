import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { countIs, eventually, launch, open, start, textIs } from "./server.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

const rows = "[data-rows] li";
const current = `${rows} a[aria-current]`;
const at = async (page, seq) => {
  await page.waitForFunction(
    ([selector, text]) => document.querySelector(selector)?.textContent.startsWith(text),
    [current, `#${seq}`],
  );
};
const read = async (path) =>
  (await fetch(`${server.url}/api${path}`, { headers: { Authorization: `Bearer ${server.token}` } })).json();
const seqs = (page) => page.locator(`${rows} a > span:first-child`).allInnerTexts();

test("a thread is walked by its rows, its branches and its line", async () => {
  const { page, close } = await open(browser, server, "/threads/invoice-1019");
  await page.waitForSelector(current);
  const all = await seqs(page);
  assert.ok(all.length >= 10, all.join());
  const gate = page.locator(rows).filter({ hasText: "Pay 900.00 EUR" });
  await gate.getByRole("link").click();
  const seq = Number((await gate.locator("a > span").first().innerText()).slice(1));
  await at(page, seq);
  await page.waitForFunction((s) => document.body.innerText.includes(`You look at #${s}.`), seq);
  await eventually(async () => assert.match(page.url(), /at=[^&]+/));
  await page.keyboard.press("ArrowLeft");
  await at(page, seq - 1);
  await page.keyboard.press("Shift+ArrowRight");
  await at(page, seq);
  await page.keyboard.press("k");
  await page.keyboard.press("j");
  await at(page, seq);
  await page.keyboard.press("o");
  await gate.locator("ol, p").first().waitFor();
  await page.keyboard.press("t");
  await page.getByRole("button", { name: "in order" }).waitFor();
  await page.keyboard.press("c");
  await page.waitForURL(/with=[^&]+&tab=compare/);
  await page.getByRole("button", { name: "Back to the head" }).click();
  await page.waitForFunction(() => !document.body.innerText.includes("You look at"));
  const before = await page.locator(current).innerText();
  await page.keyboard.press("]");
  await page.waitForFunction(([s, was]) => document.querySelector(s).innerText !== was, [current, before]);
  await eventually(async () => assert.match(page.url(), /branch=/));
  await page.getByRole("group", { name: "which checkpoints" }).getByRole("button", { name: "Questions" }).click();
  await page.waitForFunction(([s, n]) => document.querySelectorAll(s).length < n, [rows, all.length]);
  await close();
});

test("a drag on the line narrows the rows, and Esc shows all again", async () => {
  const { page, close } = await open(browser, server, "/threads/invoice-1019");
  await page.waitForSelector(current);
  await page.keyboard.press("t");
  const all = (await seqs(page)).length;
  const line = page.getByRole("slider");
  const box = await line.boundingBox();
  await page.mouse.move(box.x + box.width * 0.05, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 10, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(([s, n]) => document.querySelectorAll(s).length < n, [rows, all]);
  await page.keyboard.press("Escape");
  await page.waitForFunction(([s, n]) => document.querySelectorAll(s).length === n, [rows, all]);
  await close();
});

test("a part of the line is chosen by keys, and Esc shows all again", async () => {
  const { page, close } = await open(browser, server, "/threads/invoice-1019?branch=main");
  await page.waitForSelector(current);
  const all = (await seqs(page)).length;
  await page.getByRole("slider").focus();
  await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Shift+ArrowLeft");
  await page.getByRole("button", { name: /^#\d+ to #\d+/ }).waitFor();
  await page.waitForFunction(([s, n]) => document.querySelectorAll(s).length < n, [rows, all]);
  await eventually(async () =>
    assert.match(await page.getByRole("slider").getAttribute("aria-valuetext"), /^#\d+ to #\d+$/),
  );
  await page.keyboard.press("Escape");
  await page.waitForFunction(([s, n]) => document.querySelectorAll(s).length === n, [rows, all]);
  await close();
});

test("a thread that was saved by hand has that word, in its header and in the list", async () => {
  const { page, close } = await open(browser, server, "/threads?status=saved");
  const row = page.getByRole("row").filter({ hasText: "handover" });
  await row.getByText("saved", { exact: true }).waitFor();
  await page.getByRole("link", { name: /^Saved/ }).waitFor();
  await countIs(page.locator("[role=row] a"), 1);
  await row.getByRole("link").first().click();
  await page.waitForSelector(current);
  await page.locator("main header").getByText("saved", { exact: true }).first().waitFor();
  await page.getByText("#3 was saved by itself").first().waitFor();
  await close();
});

test("a header says when a thread ended, by which version, and its labels", async () => {
  const { page, close } = await open(browser, server, "/threads/invoice-1018");
  const facts = page.locator("main dl").first();
  await facts.getByText("served now").waitFor();
  await facts.getByRole("link", { name: "supplier=Nordlicht Energie" }).waitFor();
  const first = page.locator(rows).first();
  const ended = await facts
    .locator("div", { hasText: /^ended/ })
    .locator("time")
    .getAttribute("datetime");
  const held = await read("/threads/contract-helvetia");
  assert.ok(held.hold.since > (await read("/threads/contract-helvetia/outline")).items[0].at);
  assert.equal(ended, (await read("/threads/invoice-1018/outline")).items[0].at);
  await textIs(first, /executed/);
  await page.goto(`${server.url}/threads/invoice-1006`);
  await textIs(page.locator(rows).first(), /retried\s*×1[\s\S]*executed/);
  await page.locator(rows).filter({ hasText: "waits to be tried again: the bank refuses" }).waitFor();
  await close();
});

test("a fork of a thread that ended moves no end, and is no act of its source's node", async () => {
  const { items } = await read("/threads/invoice-1018/outline");
  const [end, source] = [items[0], items.find((r) => r.next?.[0] === "approve" && r.kind === "node")];
  const { name } = await read("/me");
  const fork = async (id) => {
    const made = await fetch(`${server.url}/api/checkpoints/${id}/fork`, {
      method: "POST",
      headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" },
      body: "{}",
    });
    assert.equal(made.status, 200);
  };
  await fork(source.id);
  const { page, close } = await open(browser, server, "/threads/invoice-1018");
  const facts = page.locator("main dl").first();
  const ended = (branch) =>
    facts.locator("div", { hasText: new RegExp(`^${branch} ended`) }).locator(`time[datetime="${end.at}"]`);
  await ended("main").waitFor();
  await facts.getByText(/^fork-1 stopped\s*before approve; Resume goes on there$/).waitFor();
  await page
    .getByText(/^\d.*, and \d+ [hd] until it was forked$/)
    .first()
    .waitFor();
  const row = page.locator(rows).first();
  await eventually(async () =>
    assert.ok((await row.innerText()).includes(`forked by ${name} from #${source.seq}, before approve`)),
  );
  await fork(end.id);
  await page.goto(`${server.url}/threads/invoice-1018?branch=fork-2`);
  await ended("fork-2").waitFor();
  await close();
});

test("the number of a checkpoint leads to it, and one that is none says so", async () => {
  const { page, close } = await open(browser, server, "/threads/invoice-1018?at=6&tab=state");
  await at(page, 6);
  await eventually(async () => assert.match(page.url(), /at=[0-9a-f]+-[0-9a-f-]+&tab=state/));
  await page.goto(`${server.url}/threads/invoice-1018?at=%238`);
  await page.getByRole("alert").getByText("Entry #8 of this thread's log has none.").waitFor();
  await page.goto(`${server.url}/threads/invoice-1018?at=100000`);
  await page.getByRole("heading", { name: "There is no checkpoint #100000" }).waitFor();
  await page
    .getByText(/The log of this thread ends at #\d+\./)
    .first()
    .waitFor();
  await page.getByRole("link", { name: "The thread" }).click();
  await page.waitForSelector(current);
  await close();
});

test("a thread that runs is followed, and what is read stays in its place", async () => {
  const { page, close } = await open(browser, server, "/threads/reconcile-today");
  await page.waitForSelector(`${rows} >> text=/runs for .*, last entry/`);
  const first = Number((await page.locator(current).innerText()).match(/#(\d+)/)[1]);
  await page.waitForFunction(
    ([s, n]) => Number(document.querySelector(s)?.innerText.match(/#(\d+)/)?.[1]) > n,
    [current, first],
  );
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => document.body.innerText.includes("You look at"));
  const read = await page.locator(current).innerText();
  await page.getByRole("button", { name: /^\d+ new$/ }).waitFor();
  await textIs(page.locator(current), read);
  await page.getByRole("button", { name: "Cancel" }).click();
  const cancel = page.getByRole("dialog").getByRole("button", { name: "Cancel" });
  await eventually(async () => assert.ok(await cancel.isDisabled()));
  await page.getByLabel("the thread's name").fill("reconcile-today");
  await cancel.click();
  await page.waitForFunction(() => /cancelled/.test(document.querySelector("main header").innerText));
  await close();
});

test("no thread of a name, and a thread of a hostile name, say so", async () => {
  const { page, close } = await open(browser, server, `/threads/${encodeURIComponent("no/such%\u202e<b>")}`);
  await page.getByRole("alert").waitFor();
  await textIs(page.locator("h1"), /no\/such%‹U\+202E›<b>/);
  await page.goto(`${server.url}/threads/-?thread=..`);
  await page.getByRole("alert").waitFor();
  await textIs(page.locator("h1"), /^\.\.$/);
  await close();
});

test("a thread is exported and looked at from its file", async () => {
  const { page, close } = await open(browser, server, "/threads/refund-8888");
  await page.waitForSelector(current);
  await page.getByRole("button", { name: "more actions" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator("#thread-actions").getByRole("button", { name: "Export" }).click(),
  ]);
  const file = await download.path();
  await page.goto(`${server.url}/file`);
  await page.setInputFiles("input[type=file]", file);
  await page.getByRole("note").getByText("Nothing of it is in the store").waitFor();
  const all = await seqs(page);
  assert.ok(all.length >= 5, all.join());
  await page.keyboard.press("j");
  await page.locator("aside").getByText("the table wobbles").first().waitFor();
  await page.getByRole("button", { name: "Close the file" }).click();
  await page.setInputFiles("input[type=file]", {
    name: "letter.txt",
    mimeType: "text/plain",
    buffer: Buffer.from("no thread"),
  });
  await page.getByRole("alert").waitFor();
  await close();
});

test("a thread is read once, while its screen is loaded and the person is looked up", async () => {
  const { page, close } = await open(browser, server, "/settings");
  const asked = [];
  let both;
  const read = new Promise((done) => (both = done));
  await page.route(/\/api\/events/, (route) => route.abort()); // what is new is read again
  await page.route(/\/api\/threads\/invoice-1019(\/outline\?details.*)?$/, (route) => {
    asked.push(new URL(route.request().url()).pathname);
    if (new Set(asked).size === 2) both();
    return route.continue();
  });
  await page.route(/\/api\/me$/, async (route) => {
    await read;
    await route.continue();
  });
  await page.goto(`${server.url}/threads/invoice-1019`);
  await page.waitForSelector(current);
  assert.deepEqual(asked.sort(), ["/api/threads/invoice-1019", "/api/threads/invoice-1019/outline"]);
  await close();
});

test("a viewer has no button that changes a thread", async () => {
  const made = await fetch(`${server.url}/api/tokens`, {
    method: "POST",
    headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "victor", role: "viewer" }),
  });
  const { token } = await made.json();
  const { page, close } = await open(browser, { ...server, token }, "/threads/invoice-1019");
  await page.waitForSelector(current);
  await page.locator(rows).filter({ hasText: "Pay 900.00 EUR" }).getByRole("link").click();
  await page.waitForFunction(() => document.body.innerText.includes("You look at"));
  for (const name of ["more actions", "Fork here", "Resume", /^Fork from/])
    await countIs(page.getByRole("button", { name }), 0, String(name));
  await page.keyboard.press("f");
  assert.doesNotMatch(page.url(), /draft/);
  await close();
});

test("a copy says of what it is one and who made it, and has no forks of its own", async () => {
  const { name } = await read("/me");
  const made = await fetch(`${server.url}/api/threads/refund-8829/copy`, {
    method: "POST",
    headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ thread: "copy-of-8829" }),
  });
  assert.equal(made.status, 200);
  const { page, close } = await open(browser, server, "/threads/copy-of-8829");
  await page.waitForSelector(current);
  const facts = page.locator("dl").first();
  await facts.getByText("the original started").waitFor();
  await textIs(facts, new RegExp(`copied\\s+[^\\n]* by ${name}`));
  await textIs(facts, /copy of\s+refund-8829/);
  await countIs(page.getByRole("button", { name: /^Forks/ }), 0);
  assert.doesNotMatch(await page.locator("[data-rows]").innerText(), /forked/);
  const took = async (thread) =>
    (await read(`/threads/${thread}/outline?details=true`)).items
      .flatMap((r) => (r.asked ?? []).map((w) => w.at - Date.parse(r.at)))
      .join();
  assert.equal(await took("copy-of-8829"), await took("refund-8829"));
  await close();
});

test("the draft of a fork at a run that failed says what is tried, asked and kept again, and what is not known", async () => {
  const { page, close } = await open(browser, server, "/threads/invoice-1009?draft=yes");
  const lists = page.getByRole("group", { name: "what the fork does" });
  await lists.getByText("was tried 2 times, and did not act").waitFor();
  await textIs(lists, /pay\s+external, asks before/);
  await textIs(lists, /main failed in pay at #18:\s+the bank refuses/);
  await textIs(lists, /What else pay asks or does is not known/);
  await close();
});

test("the header says how the branch that is shown stands, and the thread once where that is another", async () => {
  const { page, close } = await open(browser, server, "/threads/refund-8877?branch=main");
  const bar = page.locator("header").first();
  const facts = page.locator("main dl").first();
  await bar.getByText("thread waiting", { exact: true }).waitFor();
  await bar.getByText("done", { exact: true }).waitFor();
  await facts.getByText("main ended").waitFor();
  await page.keyboard.press("]");
  await page.waitForURL(/branch=fork-1/);
  await bar.getByText("thread waiting", { exact: true }).waitFor({ state: "detached" });
  await bar.getByText("waiting", { exact: true }).waitFor();
  await page.setViewportSize({ width: 390, height: 800 });
  await facts.getByText("waiting", { exact: true }).waitFor();
  await page.keyboard.press("[");
  await facts.getByText("thread waiting", { exact: true }).waitFor();
  await close();
});

test("where Resume goes on is said once the head is read", async () => {
  const { page, close } = await open(browser, server, "/threads?status=interrupted");
  let go;
  const held = new Promise((done) => (go = done));
  await page.route(/\/api\/(checkpoints\/|threads\/[^/]+\/outline)/, async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole("link", { name: "research-freight" }).click();
  const stopped = page.locator("main dl div", { hasText: /^stopped/ });
  await stopped.locator("[aria-hidden]").waitFor();
  assert.equal(await stopped.innerText(), "stopped");
  go();
  await stopped.getByText("before publish; Resume goes on there").waitFor();
  await close();
});
