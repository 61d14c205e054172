import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  call,
  countIs,
  eventually,
  launch,
  linkTo,
  pass,
  person,
  picture,
  questionOf,
  start,
  textIs,
  wrongClock,
} from "./server.mjs";

let server, browser, operator;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
  operator = await person(server, "operator", "olga"); // who sends links asks for nothing
});
after(async () => {
  await browser.close();
  await server.stop();
});

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, reducedMotion: "reduce" };

const ask = (...what) => call(server, ...what);

/** follow opens the link of a question for a person, as a phone without a login does. */
async function follow(gate, name, { by = operator, expiresAt, ready = "region", ...options } = {}) {
  const link = await linkTo(server, gate, name, by, expiresAt);
  return visit(link, ready, options);
}

/** visit opens a link, and waits for the question, or for why there is none. */
async function visit(link, ready, options = {}) {
  const context = await browser.newContext({ ...phone, ...options });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (e) => errors.push(e.message));
  page.on("console", (m) => /Content Security Policy/.test(m.text()) && errors.push(m.text()));
  const sent = [];
  page.on("request", (r) => r.method() === "POST" && sent.push(r.postDataJSON()));
  await page.goto(server.url + link);
  await page
    .getByRole(ready === "region" ? "region" : "heading", { name: ready === "region" ? "what is asked" : ended })
    .waitFor();
  return {
    page,
    sent,
    async close() {
      await context.close();
      assert.deepEqual(errors, []);
    },
  };
}

const ended = "This link is not good, or not any more";

test("a link shows what the question replaces, and a double tap decides nothing", async () => {
  const gate = await questionOf(server, "invoice-1020");
  const { page, sent, close } = await follow(gate, "carol");
  await page
    .getByText(/changed since the question that this one replaces/)
    .first()
    .waitFor();
  const asked = page.getByRole("region", { name: "what is asked" });
  await textIs(asked, /10450\.00/);
  await textIs(asked.locator("del").first(), /9800\.00/);
  await textIs(page.locator("main"), /asked by[\s\S]*deadline[\s\S]*approval|decision is enough/);
  await picture(page, "link-390-light");
  const all = page.getByRole("button", { name: "Show all first" });
  if (await all.count()) await all.tap();
  const place = await page.getByRole("button", { name: "Approve" }).boundingBox();
  const at = [place.x + place.width / 2, place.y + place.height / 2];
  await page.touchscreen.tap(...at);
  await page.touchscreen.tap(...at);
  const confirm = page.getByRole("form", { name: "Approve: confirm" });
  const send = confirm.getByRole("button", { name: "Approve" });
  await send.waitFor();
  const under = await page.evaluate(([x, y]) => document.elementFromPoint(x, y)?.closest("button")?.innerText, at);
  assert.doesNotMatch(under ?? "", /Approve/, "what sends is below the finger that opened it");
  assert.deepEqual(sent, []);
  await picture(page, "link-390-light-confirm");
  await confirm.getByRole("textbox", { name: "reason" }).fill("as agreed");
  await send.tap(); // waits until it is ready
  const outcome = page.getByRole("region", { name: "outcome" });
  await outcome.getByText("Your vote is on record").waitFor();
  await page.getByText("1 of 2 approvals: carol approves").first().waitFor();
  assert.equal(sent[0].shown, gate.hash);
  const { votes } = await ask("GET", `/gates/${gate.id}`);
  assert.deepEqual([votes[0].verdict, votes[0].by, votes[0].reason], ["approve", "carol", "as agreed"]);
  await picture(page, "link-390-light-decided");
  await close();
});

test("a link shows hostile values as they are, and says when it is not good", async () => {
  await ask("POST", "/programs/invoice/runs", {
    id: "hostile-link",
    input: {
      Number: "INV\u202e4101",
      Supplier: "Аcme GmbН",
      IBAN: "DE89370400440532013000",
      Amount: 1,
      Currency: "EUR",
    },
  });
  const gate = await questionOf(server, "hostile-link");
  const { page, close } = await follow(gate, "carol", { colorScheme: "dark" });
  const asked = page.getByRole("region", { name: "what is asked" });
  await textIs(asked, /‹Cyrillic А›cme Gmb‹Cyrillic Н›/);
  await textIs(asked, /INV‹U\+202E›4101/);
  assert.doesNotMatch(await asked.innerText(), /"INV|\\u202e/);
  await page
    .getByRole("note")
    .getByText(/not seen stand here.*another script/)
    .waitFor();
  assert.match(
    await asked
      .locator("code")
      .first()
      .evaluate((e) => getComputedStyle(e).fontFamily),
    /^PosthouseMono/,
  );
  await picture(page, "link-390-dark");
  await page.getByRole("button", { name: "Reject" }).tap();
  await page.getByRole("form", { name: "Reject: confirm" }).getByRole("button", { name: "Reject" }).tap();
  await page
    .getByRole("region", { name: "outcome" })
    .getByText(/rejected by carol/)
    .waitFor();
  assert.equal((await ask("GET", `/gates/${gate.id}`)).decision.by, "carol");
  await page.goto(`${server.url}/decide/gate-none#${"0".repeat(64)}`);
  await page.getByRole("heading", { name: ended }).waitFor();
  await close();
});

test("a link about an unknown outcome names each verdict by what it does, and none is green", async () => {
  const gate = await questionOf(server, "invoice-1011");
  const { page, sent, close } = await follow(gate, "carol");
  const bar = page.locator("footer");
  const buttons = bar.getByRole("button");
  await bar.getByRole("button", { name: "It was done" }).waitFor();
  await page.getByText("Posthouse", { exact: true }).first().waitFor();
  // To do it again needs what the approval needed, and is given on the question's own page only.
  await page.locator("main > div > :last-child").evaluate((end) => end.scrollIntoView());
  await eventually(async () => assert.deepEqual(await buttons.allInnerTexts(), ["It was done", "Give it up"]));
  const colours = await buttons.evaluateAll((all) => all.map((b) => getComputedStyle(b).backgroundColor));
  assert.equal(new Set(colours).size, 1, `one of them stands out: ${colours}`);
  assert.doesNotMatch(await page.locator("body").innerText(), /Approve|Reject\b/);
  await buttons.getByText("Give it up").tap();
  const confirm = page.getByRole("form", { name: "Give it up: confirm" });
  await confirm.getByRole("button", { name: "Give it up" }).tap();
  await page.getByRole("region", { name: "outcome" }).getByText(/carol/).waitFor();
  assert.deepEqual(
    sent.map((s) => s.verdict),
    ["give-up"],
  );
  const { decision } = await ask("GET", `/gates/${gate.id}`);
  assert.deepEqual([decision.verdict, decision.by], ["give-up", "carol"]);
  await close();
});

test("a link that was used shows what was decided, and one that ended while it was read decides nothing", async () => {
  const gate = await questionOf(server, "invoice-1014");
  const used = await linkTo(server, gate, "carol", operator);
  const first = await visit(used, "region");
  const { page, sent, close } = await visit(await linkTo(server, gate, "carol", operator), "region"); // it ends the first
  await first.page.getByRole("button", { name: "Reject" }).tap();
  await first.page.getByRole("heading", { name: ended }).waitFor(); // it is read again before a decision is written
  await textIs(first.page.locator("main"), /Nothing was decided by opening it/);
  assert.doesNotMatch(await first.page.locator("body").innerText(), /Bearer|posthouse token/);
  assert.equal((await ask("GET", `/gates/${gate.id}`)).decision, undefined);
  await first.close();
  await page.getByRole("button", { name: "Reject" }).tap();
  await page.getByRole("form").getByRole("textbox", { name: "reason" }).fill("not ours");
  await page.getByRole("form").getByRole("button", { name: "Reject" }).tap();
  await page
    .getByRole("region", { name: "outcome" })
    .getByText(/rejected by carol/)
    .waitFor();
  assert.equal(sent.length, 1);
  await page.reload();
  await page.getByRole("region", { name: "outcome" }).getByText("not ours").waitFor();
  await countIs(page.locator("footer button"), 0, "it was used, and offers a verdict");
  await close();
});

test("a link that expired or whose maker lost the access shows no question", async () => {
  const gate = await questionOf(server, "invoice-1020");
  const rita = await person(server, "operator", "rita");
  const revoked = async () => {
    const link = await linkTo(server, gate, "dana", rita);
    await ask("DELETE", "/tokens/rita");
    return link;
  };
  const otto = await person(server, "operator", "otto"); // olga's link has voted here
  const expired = () => linkTo(server, gate, "dana", otto, new Date(Date.now() + 1000).toISOString());
  for (const make of [revoked, expired]) {
    const link = await make();
    const [path, token] = link.split("#");
    const api = `${server.url}/api/gates/${path.split("/").pop()}/by-token`;
    while ((await fetch(api, { headers: { Authorization: `Bearer ${token}` } })).status !== 401) {
      await new Promise((done) => setTimeout(done, 50));
    }
    const { page, close } = await visit(link, "heading");
    await textIs(page.locator("body"), /Nothing was decided by opening it/);
    assert.doesNotMatch(await page.locator("body").innerText(), /1020|10450/, "it says what is asked");
    await close();
  }
});

test("a link on a device whose clock is off counts to its deadline by the clock of the server", async () => {
  const { page, close } = await follow(await questionOf(server, "contract-lopez"), "dana");
  const left = () => page.locator("main [class*=chip]").first().innerText();
  const right = await left();
  assert.match(right, /\d (d|h) left/);
  await wrongClock(page, 30 * 86_400_000);
  await page.reload();
  await page.getByRole("region", { name: "what is asked" }).waitFor();
  assert.equal(await left(), right);
  await close();
});

test("a link that ends before its question says so before, with what to do, and counts its last minute", async () => {
  const gate = await questionOf(server, "contract-lopez");
  const expiresAt = new Date(Date.now() + 300_000).toISOString();
  const { page, close } = await follow(gate, "dana", { expiresAt });
  await page
    .getByText(/ends before that: .*, [45] min left\. Then ask whoever sent it for another\./)
    .first()
    .waitFor();
  await page.getByRole("button", { name: "Reject" }).tap();
  const form = page.locator("footer");
  await form.getByLabel("reason").fill("not so dear");
  await countIs(form.getByText(/ s left/), 0);
  await pass(page, 280_000);
  await form.getByText(/^(20|1\d) s left: after that this link decides nothing\.$/).waitFor();
  await pass(page, 301_000);
  await form.getByText("This link has ended. Ask whoever sent it for another.").waitFor();
  await eventually(async () => assert.equal(await form.getByLabel("reason").inputValue(), "not so dear"));
  await close();
});

/** paid begins an invoice of a name, and returns the question whether to pay it. */
async function paid(id) {
  const input = { Number: id, Supplier: "Acme GmbH", IBAN: "DE89370400440532013000", Amount: 12.5, Currency: "EUR" };
  await ask("POST", "/programs/invoice/runs", { id, input });
  return questionOf(server, id);
}

test("a verdict by a link that came too late says so, and shows what was typed", async () => {
  const nina = await person(server, "approver", "nina");
  const gate = await paid("late-link");
  const { page, sent, close } = await follow(gate, "carol");
  await page.getByRole("button", { name: "Approve" }).tap();
  const confirm = page.getByRole("form", { name: "Approve: confirm" });
  await confirm.getByRole("textbox", { name: "reason" }).fill("as agreed");
  await ask("POST", `/gates/${gate.id}/reject`, { reason: "not ours" }, nina);
  await confirm.getByRole("button", { name: "Approve" }).tap();
  const late = page.getByRole("alert").filter({ hasText: "“Approve” came too late: it was decided before." });
  await late.getByText("You had written: “as agreed”").waitFor();
  await page
    .getByRole("region", { name: "outcome" })
    .getByText(/rejected by nina/)
    .waitFor();
  assert.equal(sent.length, 1);
  await late.getByRole("button", { name: "Close" }).tap();
  await late.waitFor({ state: "detached" });
  await close();
});

test("a link that is open warns of what another branch did meanwhile", async () => {
  const gate = await paid("forked-link");
  const { page, sent, close } = await follow(gate, "carol");
  await ask("POST", `/checkpoints/${gate.checkpoint}/fork`, {});
  const other = async () =>
    (await ask("GET", "/gates?state=open&thread=forked-link")).items.find((g) => g.branch !== gate.branch);
  let twin;
  while (!(twin = await other())) await new Promise((done) => setTimeout(done, 50));
  await ask("POST", `/gates/${twin.id}/approve`, { shown: twin.hash }, operator);
  await page.getByRole("button", { name: "Approve" }).tap();
  const confirm = page.getByRole("form", { name: "Approve: confirm" });
  await confirm.getByText(/did the same already.*it is done twice/).waitFor();
  await page.keyboard.press("Escape");
  await confirm.waitFor({ state: "detached" });
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.tagName), "MAIN"));
  assert.deepEqual(sent, []);
  await close();
});

test("a link that ended before an answer came says that it is not known, and shows what was typed", async () => {
  const gate = await paid("lost-link");
  const { page, close } = await follow(gate, "carol");
  await page.route(/decide-by-token/, async (route) => {
    await route.fetch();
    await page.route(/by-token/, (r) => r.fulfill({ status: 401, json: { code: "unauthenticated", status: 401 } }));
    await route.abort();
  });
  await page.getByRole("button", { name: "Approve" }).tap();
  const confirm = page.getByRole("form", { name: "Approve: confirm" });
  await confirm.getByRole("textbox", { name: "reason" }).fill("as agreed");
  await confirm.getByRole("button", { name: "Approve" }).tap();
  await page.getByRole("heading", { name: ended }).waitFor();
  await textIs(page.locator("main"), /not known here whether it is on record[\s\S]*as agreed/);
  assert.doesNotMatch(await page.locator("main").innerText(), /Nothing was decided/);
  await close();
});

test("a link to a question of a cancelled branch says who cancelled it, and not in which words", async () => {
  const gate = await paid("cancelled-link");
  const link = await linkTo(server, gate, "carol", operator);
  await ask("POST", "/threads/cancelled-link/cancel", { reason: "called off" });
  const { page, close } = await visit(link, "region");
  const outcome = page.getByRole("region", { name: "outcome" });
  await textIs(outcome, /withdrawn by posthouse, .*: the branch was cancelled by operator\n/);
  assert.doesNotMatch(await page.locator("body").innerText(), /called off|went on without/);
  await picture(page, "link-390-light-cancelled");
  await close();
});
