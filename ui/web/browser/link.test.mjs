import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, person, picture, start } from "./server.mjs";

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

/** ask calls the API as the operator. */
async function ask(method, path, body, token = server.token) {
  const answer = await fetch(`${server.url}/api${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  assert.ok(answer.ok, text);
  return JSON.parse(text);
}

/** questionOf returns the question that a thread waits with. */
async function questionOf(thread) {
  for (const until = Date.now() + 30_000; Date.now() < until; await new Promise((done) => setTimeout(done, 50))) {
    const found = (await ask("GET", `/gates?state=open&thread=${thread}`)).items[0];
    if (found) return found;
  }
  assert.fail(`${thread} asks nothing`);
}

/** follow opens the link of a question for a person, as a phone without a login does. */
async function follow(gate, name, options = {}) {
  const { token } = await ask("POST", `/gates/${gate.id}/token`, { for: name }, operator);
  const context = await browser.newContext({ ...phone, ...options });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (e) => errors.push(e.message));
  page.on("console", (m) => /Content Security Policy/.test(m.text()) && errors.push(m.text()));
  const sent = [];
  page.on("request", (r) => r.method() === "POST" && sent.push(r.postDataJSON()));
  await page.goto(`${server.url}/decide/${gate.id}#${token}`);
  await page.getByRole("region", { name: "what is asked" }).waitFor();
  return {
    page,
    sent,
    async close() {
      await context.close();
      assert.deepEqual(errors, []);
    },
  };
}

test("a link shows what the question replaces, and a double tap decides nothing", async () => {
  const gate = await questionOf("invoice-1020");
  const { page, sent, close } = await follow(gate, "carol");
  await page.getByText(/changed since the question that this one replaces/).waitFor();
  const asked = page.getByRole("region", { name: "what is asked" });
  assert.match(await asked.innerText(), /10450\.00/);
  assert.match(await asked.locator("del").first().innerText(), /9800\.00/);
  assert.match(await page.locator("main").innerText(), /asked by[\s\S]*deadline[\s\S]*approval|decision is enough/);
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
  await page.getByText("1 of 2 approvals: carol approves").waitFor();
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
  const gate = await questionOf("hostile-link");
  const { page, close } = await follow(gate, "carol", { colorScheme: "dark" });
  const asked = page.getByRole("region", { name: "what is asked" });
  const values = await asked.innerText();
  assert.match(values, /‹Cyrillic А›cme Gmb‹Cyrillic Н›/);
  assert.match(values, /INV‹U\+202E›4101/);
  assert.doesNotMatch(values, /"INV|\\u202e/);
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
  await page.getByRole("heading", { name: "This link is not good, or not any more" }).waitFor();
  await close();
});
