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

/** fork makes a branch of a checkpoint by the API, with parts of the state, or all of it, given. */
const fork = async (id, body) => {
  const answer = await fetch(`${server.url}/api/checkpoints/${id}/fork`, {
    method: "POST",
    headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()).id;
};
const read = async (path) =>
  (await fetch(`${server.url}/api${path}`, { headers: { Authorization: `Bearer ${server.token}` } })).json();

test("a long value says its size and opens, and shows where it changed", async () => {
  const head = (await read("/threads/handover/outline")).items[0].id;
  const letter = "dear Ann, ".repeat(600);
  const paper = Array.from({ length: 50 }, (_, i) => `Line ${i}`).join("\n");
  const before = await fork(head, { branch: "before", state: { note: "as before ".repeat(20), letter, paper } });
  await fork(before, { branch: "after", patch: { letter: `${letter}Bob`, paper: paper.replace("Line 7", "Row 7") } });
  const { page, close } = await open(browser, server, "/threads/handover?branch=after");
  const part = (name) => page.getByRole("listitem").filter({ hasText: new RegExp(`^${name}`) });
  await part("note").getByRole("button", { name: "show all 200 characters" }).click();
  await textIs(part("note"), /(as before ){19}as before/);
  await textIs(part("letter"), /5,9\d\d characters …/);
  await textIs(part("letter").locator("ins mark"), "Bob");
  await textIs(part("paper").locator("ins"), "Row 7");
  await part("paper").getByRole("button", { name: "6 equal lines" }).click();
  await part("paper").getByText("Line 3", { exact: true }).waitFor();
  await close();
});

test("a question that was edited shows what was asked and what was approved, in Change and in Compare", async () => {
  const { page, close } = await open(browser, server, "/threads/refund-8884");
  const edited = page.getByRole("region", { name: "edited question" });
  const look = async () => {
    await edited.getByText("dana edited what was asked, and approved it so").waitFor();
    const amount = edited.getByRole("listitem").filter({ hasText: "Amount" });
    await textIs(amount, /149\.00\s*49\.66/);
  };
  await look();
  await page.locator("[data-rows] li").getByText("edited by").waitFor();
  const rows = (await read("/threads/refund-8884/outline")).items;
  await page.goto(`${server.url}/threads/refund-8884?at=${rows[0].id}&with=${rows.at(-1).id}&tab=compare`);
  await look();
  await close();
});

test("attempts that failed are told with their errors", async () => {
  const rows = (await read("/threads/invoice-1003/outline")).items;
  const id = (seq) => rows.find((r) => r.seq === seq).id;
  const { page, close } = await open(browser, server, `/threads/invoice-1003?tab=step&at=${id(9)}`);
  const step = page.getByRole("group", { name: "view: step" });
  await step.getByText("retried ×1").first().waitFor();
  await step.getByText("the model is overloaded, try again later").waitFor();
  await page.goto(`${server.url}/threads/invoice-1003?tab=step&at=${id(5)}`);
  await step.getByText("attempt 1 failed").waitFor();
  await step.getByText("the model is overloaded, try again later").waitFor();
  await close();
});

test("a step shows what it returned, as it is on record", async () => {
  const rows = (await read("/threads/invoice-1003/outline")).items;
  const stories = await Promise.all(rows.map((r) => read(`/checkpoints/${r.id}?state=false&steps=true&results=true`)));
  const at = stories.findIndex((c) => (c.steps ?? []).some((s) => s.result !== undefined));
  const { page, close } = await open(browser, server, `/threads/invoice-1003?tab=step&at=${rows[at].id}`);
  const step = page.getByRole("group", { name: "view: step" });
  await step.getByText("result", { exact: true }).first().click();
  await step.locator("details[open]").first().waitFor();
  await close();
});

test("the draft of a fork says what it does beside the form, or above its button, and why it cannot run at once", async () => {
  const head = (await read("/threads/invoice-1018/outline")).items[0].id;
  for (const width of [1280, 390]) {
    const { page, close } = await open(browser, server, `/threads/invoice-1018?draft=yes&at=${head}`, {
      viewport: { width, height: 800 },
    });
    const lists = page.getByRole("group", { name: "what the fork does" });
    await lists.waitFor();
    const [list, button] = [
      await lists.boundingBox(),
      await page.getByRole("button", { name: /^Fork as/ }).boundingBox(),
    ];
    assert.ok(list.y < button.y && list.y < 800 && button.y + button.height <= 800, JSON.stringify([list, button]));
    const run = page.getByLabel(/run it at once/);
    await eventually(async () => assert.ok(await run.isDisabled()));
    await page.getByText("it begins where the run had ended").first().waitFor();
    await close();
  }
});

test("the inspector's tabs stand whole at 360 pixels", async () => {
  const rows = (await read("/threads/invoice-1018/outline")).items;
  const { page, close } = await open(browser, server, `/threads/invoice-1018?at=${rows[1].id}`, {
    viewport: { width: 360, height: 700 },
  });
  const tabs = page.getByRole("navigation", { name: "views of the checkpoint" }).getByRole("button");
  await tabs.first().waitFor();
  for (const tab of await tabs.all()) {
    const box = await tab.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 360, `${await tab.innerText()}: ${JSON.stringify(box)}`);
  }
  await close();
});

test("a draft is left by Esc, and keeps its place and what was typed", async () => {
  const rows = (await read("/threads/invoice-1013/outline")).items;
  const at = rows.at(-2);
  const { page, close } = await open(browser, server, `/threads/invoice-1013?at=${at.id}`);
  await page.getByText(`You look at #${at.seq}.`).first().waitFor();
  await page.keyboard.press("f");
  const amount = page.getByLabel("Amount");
  await amount.fill("999.00");
  await page.keyboard.press("Escape");
  await page.waitForURL((u) => !u.search.includes("draft") && u.search.includes(at.id));
  await page.locator("[data-rows] li a").first().focus();
  await page.keyboard.press("f");
  await page.getByText(", as you left it").first().waitFor();
  await eventually(async () => assert.equal(await amount.inputValue(), "999.00"));
  await page.locator("[data-rows] li a").first().click();
  await page.waitForURL((u) => !u.search.includes("draft"));
  await close();
});

test("what cannot be read says why, and who could read it", async () => {
  const head = (await read("/threads/handover/outline")).items.at(-1).id;
  const bytes = await fork(head, {
    branch: "bytes",
    state: Buffer.from("gob").toString("base64"),
    codecs: { state: "gob" },
  });
  const { page, close } = await open(browser, server, `/threads/handover?at=${bytes}&tab=state`);
  const note = page.locator("aside").getByRole("note");
  await note.getByText("It has 3 B of the codec gob, which is no JSON.").waitFor();
  await textIs(note, /^binary/);

  const detail = 'thread "handover" (generation 1) is encrypted, and key "k1" is not in the keyring';
  await page.route(/\/api\/checkpoints\/[^?]+\?values/, (route) =>
    route.fulfill({
      status: 503,
      contentType: "application/problem+json",
      body: JSON.stringify({ code: "sealed", detail }),
    }),
  );
  await page.reload();
  await note.getByText('key "k1" is not in the keyring').waitFor();
  await textIs(note, /^encrypted[\s\S]*started with that key/);
  await page.unroute(/\/api\/checkpoints\/[^?]+\?values/);

  const after = await fork(bytes, { branch: "after-bytes", state: { plan: 2 } });
  const gone = await fetch(`${server.url}/api/checkpoints/${bytes}?mode=orphan`, {
    method: "DELETE",
    headers: { Authorization: `Bearer ${server.token}` },
  });
  assert.ok(gone.ok, await gone.text());
  await page.goto(`${server.url}/threads/handover?at=${after}&with=${bytes}&tab=compare`);
  await note.getByText("Nothing of it is on record").waitFor();
  await textIs(note, /^removed[\s\S]*backup/);
  await close();
});

test("a branch that stops says why, and no person is asked for what no person answers", async () => {
  const { page, close } = await open(browser, server, "/threads/erasure-C-460");
  const facts = page.locator("main dl").first();
  await facts.getByText("waits for", { exact: true }).waitFor();
  await textIs(facts, /the signal confirmed/);
  await countIs(page.getByRole("button", { name: "Answer" }), 0);
  await page.goto(`${server.url}/threads/research-freight`);
  await facts.getByText("before publish; Resume goes on there").waitFor();
  await close();
});

test("a thread that was released says so, and lists its versions", async () => {
  const { page, close } = await open(browser, server, "/threads/refund-8829");
  await page.getByRole("button", { name: "Release" }).first().click();
  await page.getByLabel("the thread's name").fill("refund-8829");
  await page.getByRole("dialog").getByRole("button", { name: "Release" }).click();
  await page.waitForURL(/version=1/);
  await page.getByRole("note", { name: "released version" }).waitFor();
  await page.goto(`${server.url}/threads/refund-8829`);
  await page.getByText("The thread was released").first().waitFor();
  const versions = page.getByRole("region", { name: "released versions" });
  await versions.getByRole("link", { name: "version 1", exact: true }).waitFor();
  await close();
});

test("a step and its entry lead to the trace of the run, where the server names one", async () => {
  const { page, close } = await open(browser, server, "/threads/refund-8850");
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const traceUrl = `https://traces.example.com/trace/${traceId}`;
  await page.route(/\/api\/checkpoints\/[^/]+\?/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), traceId, traceUrl } });
  });
  for (const tab of ["step", "entry"]) {
    await page.goto(`${server.url}/threads/refund-8850?tab=${tab}`);
    const link = page.locator("aside").getByRole("link", { name: "open the trace" });
    await eventually(async () => assert.equal(await link.getAttribute("href"), traceUrl, tab));
  }
  await close();
});
