import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { countIs, eventually, launch, open, person, questionOf, start, textIs } from "./server.mjs";

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
  const { page, close } = await open(browser, server, "/?question=refund");
  await page.waitForSelector(article);
  const intent = await page.getAttribute(article, "aria-label");
  await page.waitForTimeout(600); // keys are dead for half a second after the page chose the question itself
  await page.keyboard.press("a");
  await page.waitForSelector('form [aria-label="reason"]');
  await countIs(page.locator("[aria-label=outcome]"), 0, "one key decided");
  await page.keyboard.type("matches the order, a r e p d");
  await page.keyboard.press("Shift+Enter");
  await page.waitForSelector("[aria-label=outcome]");
  await page.waitForFunction(() => document.querySelector("[aria-label=outcome]").textContent.includes("approved by"));
  await textIs(page.locator("[aria-label=outcome]"), /approved by operator.*matches the order/s);
  await eventually(async () =>
    assert.equal(await page.getAttribute(article, "aria-label"), intent, "the question left its place"),
  );
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/gates\/gate-/);
  await page.waitForFunction(() =>
    document.querySelector("[aria-label='what happened']")?.textContent.includes("Executed"),
  );
  await textIs(page.locator("article"), /Receipt/);
  await close();
});

test("one question is decided in two tabs at once: one wins, and both say who", async () => {
  const first = await open(browser, server, "/?show=open&question=refund");
  const second = await open(browser, server, "/?show=open&question=refund");
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

test("Enter is left to what has the focus, and a list has one question alone", async () => {
  const { page, close } = await open(browser, server, "/?show=open&question=pay-invoice");
  await page.waitForSelector(article);
  await eventually(async () =>
    assert.deepEqual(await page.locator("main section h2 > a").allInnerTexts(), ["pay-invoice"]),
  );
  await page.getByRole("button", { name: /Approve|Show all first/ }).focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector('form [aria-label="reason"]');
  await eventually(async () => assert.equal(new URL(page.url()).pathname, "/"));
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: /question pay-invoice/ }).click();
  await page.waitForFunction(() => document.querySelectorAll("main section h2").length > 1);
  await close();
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
  await countIs(second.locator("main li a"), 0);
  await other.close();
});

test("a stranger is led to the login and back", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${server.url}/?show=decided#x`);
  await page.waitForURL(/\/login\?next=/);
  await eventually(async () => assert.equal(new URL(page.url()).searchParams.get("next"), "/?show=decided#x"));
  await page.fill("#token", server.token);
  await page.click("form button.primary");
  await page.waitForURL(/show=decided#x$/);
  await context.close();
});

test("questions of one kind are decided together, each with a decision of its own", async () => {
  const { page, close } = await open(browser, server, "/?show=open");
  await page.waitForSelector(article);
  await page.locator('main a[href*="set=pay-invoice"]').click();
  const rows = page.locator("[aria-label='decide together'] tbody tr");
  await rows.first().waitFor();
  const count = await rows.count();
  assert.ok(count > 2, `${count} questions in a set`);
  await page.getByRole("button", { name: "Choose none" }).click();
  await countIs(rows.locator("input:checked"), 0);
  await page.getByRole("button", { name: "Choose all" }).click();
  await rows.first().locator("input").uncheck();
  await page.getByRole("button", { name: `Approve ${count - 1}` }).click();
  await page.fill('[aria-label="reason"]', "all checked");
  // Another branch does what the last one asks for while the set is open.
  const id = /gate=([^&]+)/.exec(await rows.last().locator("a").getAttribute("href"))[1];
  await page.route(`**/api/gates/${id}?*`, async (route) => {
    const answer = await route.fetch();
    const duplicates = [{ gate: "gate-other", thread: "other", branch: "main", state: "decided" }];
    await route.fulfill({ response: answer, json: { ...(await answer.json()), duplicates } });
  });
  await page.keyboard.press("Shift+Enter");
  const became = page.locator("article footer [role=status]");
  await became
    .getByText(`${count - 2} of ${count - 1} approved: each row says what became of it. 1 not sent`)
    .waitFor();
  await countIs(rows.first().locator("[data-outcome]"), 0);
  await textIs(rows.nth(1).locator("[data-outcome]"), /executed|decided|waiting|approved/);
  await textIs(rows.last(), /another branch or thread asks, or did, the same/);
  await close();
});

/** call asks the API as the operator. */
const call = async (path, body) => {
  const answer = await fetch(`${server.url}/api${path}`, {
    method: body ? "POST" : "GET",
    headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return answer.json();
};
const gateOf = async (query) => (await call(`/gates?${query}`)).items[0];

test("what one asked for oneself is not for oneself, and a set says for how many a verdict works", async () => {
  const input = { Supplier: "Own", IBAN: "CH9300762011623852957", Account: 70012, Amount: 12.5, Currency: "EUR" };
  for (const n of ["own-1", "own-2"])
    await call("/programs/invoice/runs", { id: `invoice-${n}`, input: { ...input, Number: `INV-${n}` } });
  const { page, close } = await open(browser, server, "/?show=open");
  await page.waitForFunction(() => document.body.innerText.includes("invoice-own-2"));
  await page.getByRole("link", { name: "For me" }).click();
  await page.waitForSelector(article);
  const count = async () => Number(await page.locator("nav[aria-label=inbox] [aria-current] span").innerText());
  await eventually(async () => assert.equal(await count(), (await call("/gates?assignee=me&limit=200")).items.length));
  assert.ok(!(await page.innerText("main")).includes("invoice-own"));
  await page.goto(`${server.url}/?show=open&set=pay-invoice`);
  const set = page.getByRole("article", { name: "decide together" });
  await set.waitFor();
  const bar = set.locator("footer");
  await textIs(bar, /Approve \d+\s+Reject \d+/);
  const [, approve, reject] = /Approve (\d+)\s+Reject (\d+)/.exec(await bar.innerText()) ?? [];
  assert.equal(Number(reject) - Number(approve), 2, await bar.innerText());
  await textIs(bar, /Approve does not work for 2 \(2: operator asked for this and cannot approve it\)/);
  await textIs(set.getByRole("region", { name: "left out" }), /INV-1016.*other rules for its values/s);
  for (const box of await set.getByRole("checkbox", { name: /invoice-\d/ }).all()) await box.uncheck();
  await bar.getByRole("button", { name: "Reject 2" }).click();
  await textIs(bar, /Reject 2 of 2/);
  await page.keyboard.press("Shift+Enter");
  await bar.getByText(/^2 of 2 rejected: .* left out \(/).waitFor();
  await close();
});

test("a reason stays when the page is loaded again, and is of who typed it", async () => {
  const [vera, emil] = await Promise.all(["typing", "other"].map((name) => person(server, "approver", name)));
  const { id } = await gateOf("question=pay-invoice&assignee=me");
  const { page, close } = await open(browser, server, `/gates/${id}`, { token: vera });
  const reason = page.locator('form [aria-label="reason"]');
  const reject = () => page.getByRole("button", { name: "Reject" }).first().click();
  await reject();
  // What is too long is said, not cut, and not sent.
  await reason.fill("ü".repeat(3000));
  await page.getByText("The reason is 2,000 bytes too long.").first().waitFor();
  await eventually(async () => assert.equal((await reason.inputValue()).length, 3000));
  await reason.fill("the amount is of last year");
  await page.reload();
  await reject();
  await eventually(async () => assert.equal(await reason.inputValue(), "the amount is of last year"));
  // A session that ends, and another person at the same tab.
  const form = { headers: { Origin: server.url }, form: { token: emil }, maxRedirects: 0 };
  await page.context().request.post(`${server.url}/login`, form);
  await page.reload();
  await reject();
  await eventually(async () => assert.equal(await reason.inputValue(), ""));
  await close();
});

test("what others decided while one wrote stays to be read, whatever key is pressed", async () => {
  const { id } = await gateOf("question=pay-invoice&assignee=me&limit=1");
  const { page, close } = await open(browser, server, `/gates/${id}`);
  await page.getByRole("button", { name: "Reject" }).first().click();
  await page.locator('form [aria-label="reason"]').fill("not ours");
  await call(`/gates/${id}/reject`, { reason: "twice in the list" });
  await page.getByText("“Reject” was not sent.").first().waitFor();
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(600); // the moment in which a button is deaf is over
  await page.keyboard.press("Shift+Enter");
  await textIs(page.locator("footer [role=alert]"), /You had written: “not ours”/);
  await page.getByRole("button", { name: "Close" }).click();
  await close();
});

test("who voted is told so, and how many approvals are missing", async () => {
  const token = await person(server, "approver", "vera");
  const input = { Supplier: "Two", IBAN: "CH9300762011623852957", Account: 70013, Amount: 14000, Currency: "EUR" };
  await call("/programs/invoice/runs", { id: "invoice-two", input: { ...input, Number: "INV-two" } });
  const gate = await questionOf(server, "invoice-two");
  assert.equal(gate.quorum.need, 2);
  const { page, close } = await open(browser, server, `/?show=open&gate=${gate.id}`, { token });
  await page.getByRole("button", { name: "Approve", exact: false }).first().click();
  await page.locator("article footer form").getByRole("button", { name: "Approve" }).click();
  await page.getByText("Your vote is on record. Approvals missing: 1.").first().waitFor();
  await page.reload();
  await page.getByText("You voted: approve. 1 more approval is needed, by somebody else.").first().waitFor();
  await close();
});

test("an answer with nothing chosen is not sent, and one that is refused stays in the form", async () => {
  const gate = await gateOf("question=choose-focus");
  const { page, close } = await open(browser, server, `/?gate=${gate.id}`);
  await page.waitForSelector(article);
  await textIs(page.locator(article), /What the question is about/);
  let refuse = true;
  let sent = 0;
  await page.route(/\/respond/, (route) => {
    sent++;
    if (!refuse) return route.continue();
    const body = {
      code: "invalid",
      field: "value",
      detail: "value does not satisfy it: at focus: type: no",
      status: 400,
    };
    return route.fulfill({ status: 400, contentType: "application/problem+json", body: JSON.stringify(body) });
  });
  const field = page.locator("[aria-label=value] select");
  await page.getByRole("button", { name: "Answer" }).click();
  await page.waitForFunction(() => document.activeElement?.tagName === "SELECT");
  await page.keyboard.press("Shift+Enter");
  await page.getByRole("alert").getByText("“focus” choose one.").waitFor();
  await eventually(async () => assert.equal(await field.getAttribute("aria-invalid"), "true"));
  assert.equal(sent, 0);
  await field.selectOption("costs");
  await field.press("Shift+Enter");
  await page.locator("[aria-label=value]").getByText("no", { exact: true }).waitFor();
  await eventually(async () => assert.equal(await field.inputValue(), '"costs"'));
  refuse = false;
  await field.press("Shift+Enter");
  await page
    .locator("[aria-label=outcome]")
    .getByText(/answered by operator/)
    .waitFor();
  await textIs(page.locator("[aria-label='the answer']"), /costs/);
  assert.equal(sent, 2);
  await close();
});

test("an edit says whether what it was changed to is approved by it", async () => {
  const token = await person(server, "approver", "edith");
  for (const [id, amount, said] of [
    [
      "invoice-less",
      13,
      /What it was changed to has a question of its own: approved by edith .*Look at that question/s,
    ],
    ["invoice-more", 14000, /Nothing is approved yet: what it was changed to is asked in a question of its own/],
  ]) {
    const input = { Number: id, Supplier: "Acme GmbH", IBAN: "CH9300762011623852957", Amount: 12.5, Currency: "EUR" };
    await call("/programs/invoice/runs", { id, input });
    const gate = await questionOf(server, id);
    const { page, close } = await open(browser, server, `/?show=open&gate=${gate.id}`, { token });
    await page.waitForSelector(article);
    const edited = await fetch(`${server.url}/api/gates/${gate.id}/edit`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ value: { ...gate.payload, amount } }),
    });
    assert.ok(edited.ok, await edited.text());
    await textIs(page.locator("[aria-label=outcome]"), said);
    await close();
  }
});

test("an unknown outcome says what each answer does, and leads to what licensed it", async () => {
  const gate = await gateOf("kind=outcome");
  const { page, close } = await open(browser, server, `/?gate=${gate.id}`);
  await page.waitForSelector(article);
  const bar = page.locator(`${article} footer`);
  await bar.getByRole("button", { name: "It was done" }).waitFor();
  await countIs(bar.getByRole("button", { name: "Approve" }), 0);
  await bar.getByRole("button", { name: "Do it again" }).click();
  await bar.getByText(/it is done twice/).waitFor();
  await page.keyboard.press("Escape");
  assert.ok(!(await page.innerText("h2")).includes("gate-"));
  await page.getByRole("link", { name: "the approval and its receipt" }).click();
  await page.waitForURL(/\/gates\/gate-/);
  await close();
});

test("a second tap at the place of Approve sends nothing", async () => {
  const gate = await gateOf("question=send-newsletter");
  const { page, close } = await open(browser, server, `/?gate=${gate.id}`, {
    viewport: { width: 390, height: 844 },
    hasTouch: true,
  });
  const approve = page.getByRole("button", { name: "Approve" });
  const { x, y, width, height } = await approve.boundingBox();
  const [at, down] = [x + width / 2, y + height / 2];
  await page.touchscreen.tap(at, down);
  await page.waitForSelector('form [aria-label="reason"]');
  await page.touchscreen.tap(at, down);
  await countIs(page.locator("form").getByRole("button", { name: "Approve" }), 1, "two taps decided");
  assert.equal((await call(`/gates/${gate.id}`)).state, "open");
  await close();
});

test("a viewer sees all that waits, and reads once that they decide nothing", async () => {
  const token = await person(server, "viewer");
  const { page, close } = await open(browser, server, "/", { token });
  await page.waitForSelector(article);
  await countIs(page.getByRole("link", { name: "For me" }), 0);
  await countIs(page.getByRole("link", { name: /wait for you/ }), 0);
  await textIs(page.locator("main"), /^((?!viewer).)*viewer((?!viewer).)*$/s);
  await countIs(page.locator("article footer"), 0);
  await page.getByRole("link", { name: "Decided" }).first().click();
  await page.getByRole("link", { name: "Expired" }).click();
  await page.waitForFunction(() => /expired/.test(document.querySelector("main li a")?.innerText ?? ""));
  await close();
});

test("a decision whose answer is lost is shown as it is on record, and no other is called too late", async () => {
  const gate = await questionOf(server, "refund-8905");
  const { page, close } = await open(browser, server, `/gates/${gate.id}`);
  await page.route(/\/approve/, async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.getByRole("button", { name: "Approve" }).first().click();
  await page.getByRole("textbox", { name: "reason" }).fill("as agreed");
  await page.keyboard.press("Shift+Enter");
  await page
    .getByText(/approved by operator|as agreed/)
    .first()
    .waitFor();
  await page.getByRole("button", { name: "Approve" }).waitFor({ state: "detached" });
  assert.doesNotMatch(await page.locator("body").innerText(), /too late|did not arrive|not known/);
  await close();
});

/** vote approves what a page shows. The server takes it, and its answer is lost. */
async function loseVote(page, then = () => {}) {
  await page.route(/\/approve/, async (route) => {
    await route.fetch();
    await then();
    await route.abort();
  });
  await page.getByRole("button", { name: "Approve" }).first().click();
  await page.getByRole("textbox", { name: "reason" }).fill("as agreed");
  await page.keyboard.press("Shift+Enter");
  await page.getByText("The answer was lost on its way, and your vote is on record.").first().waitFor();
}

test("a vote whose answer is lost, while no event comes, counts in its row", async () => {
  const gate = await questionOf(server, "invoice-1020");
  const token = await person(server, "approver", "wanda");
  const { page, close } = await open(browser, server, `/?gate=${gate.id}`, { token });
  const row = page.locator(`[data-gate="${gate.id}"]`);
  await row.getByText(/0 of 2/).waitFor();
  await page.route("**/api/events*", (route) => route.abort());
  await loseVote(page);
  await row.getByText("waits for others").waitFor();
  await row.getByText(/1 of 2/).waitFor();
  await close();
});

test("a list that was asked for before a vote, and comes after it, takes nothing back", async () => {
  const gate = await questionOf(server, "contract-paper");
  const token = await person(server, "approver", "bob");
  const { page, close } = await open(browser, server, `/?show=open&gate=${gate.id}`, { token });
  const row = page.locator(`[data-gate="${gate.id}"]`);
  await row.getByText(/0 of 2/).waitFor();
  await page.getByRole("button", { name: "live", exact: true }).waitFor();
  let [go, asked, came] = [];
  const held = new Promise((done) => (go = done));
  const old = new Promise((done) => (asked = done));
  const answered = new Promise((done) => (came = done));
  await page.route(/\/api\/gates\?.*order=deadline/, async (route) => {
    const response = await route.fetch(); // before the vote
    asked();
    await held;
    await route.fulfill({ response }).catch(() => {}); // the page may have taken the request back
    came();
  });
  await call("/threads/research-freight/hold", { reason: "an event" });
  await old;
  await page.unroute(/\/api\/gates\?.*order=deadline/);
  await loseVote(page);
  await row.getByText(/1 of 2/).waitFor();
  go();
  await answered;
  const again = page.waitForResponse(/\/api\/gates\?.*order=deadline/);
  await call("/threads/refund-8877/hold", { reason: "another event" });
  await again;
  await textIs(row, /1 of 2/);
  await close();
});
