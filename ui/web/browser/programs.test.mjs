import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually, launch, open, start, textIs } from "./server.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

test("a node says how many threads are in which status, and each number is that of its list", async () => {
  const { page, close } = await open(browser, server, "/programs/invoice");
  const places = page.getByRole("region", { name: "where its threads are" });
  const rows = (n) =>
    page.waitForFunction((n) => document.querySelectorAll("[role=row]:has([role=cell])").length === n, n);
  // One thread is done, with a fork that was left where it is: its branch counts, and its status is another.
  await places.getByRole("button", { name: /^approve ?, 6 threads: 5 waiting, 1 interrupted$/ }).click();
  await page.waitForURL((u) => u.search === "?program=invoice&node=approve");
  await rows(6);
  for (const [status, n] of [
    ["Waiting", 5],
    ["Interrupted", 1],
  ]) {
    await page
      .getByRole("navigation", { name: "status" })
      .getByRole("link", { name: `${status} ${n}` })
      .click();
    await rows(n);
  }
  await textIs(page.locator("[role=row]:has([role=cell])"), /done\s+interrupted, fork-\d/);
  await page.goto(`${server.url}/programs/invoice`);
  await places.getByRole("link", { name: "failed, 1 at pay" }).click();
  await page.waitForURL((u) => u.search === "?status=failed&program=invoice&node=pay");
  await rows(1);
  await close();
});

test("a run is started with the input of an earlier one, another amount, a name and a label", async () => {
  const { page, close } = await open(browser, server, "/programs");
  await page.getByRole("link", { name: "invoice", exact: true }).click();
  await page.waitForURL(/\/programs\/invoice$/);
  const form = page.getByRole("region", { name: "start" });
  await form.getByRole("button", { name: "Earlier inputs" }).click();
  await page.getByRole("button", { name: /^invoice-1020/ }).click();
  const amount = form.getByRole("textbox", { name: /^Amount/ });
  await amount.fill("12.3x");
  await form.getByRole("button", { name: "Start" }).click();
  await form.getByText("“Amount” must be a number, with a point as in 12.50.").waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-invalid") === "true");
  await eventually(async () =>
    assert.equal(
      await page.evaluate(() => document.activeElement.value),
      "12.3x",
      "the focus is not on the wrong field",
    ),
  );
  await amount.fill("12.30");
  await form.getByText("Name, time and labels").click();
  await form.getByRole("textbox", { name: "Thread" }).fill("invoice-a/b");
  await form.getByRole("button", { name: "Add a label" }).click();
  await form.getByRole("textbox", { name: "label", exact: true }).fill("team");
  await form.getByRole("textbox", { name: "its value" }).fill("blue");
  let sent;
  page.on("request", (r) => r.method() === "POST" && /\/runs/.test(r.url()) && (sent = r.postDataJSON()));
  await form.getByRole("button", { name: "Start" }).click();
  const link = form.getByRole("status").getByRole("link", { name: "invoice-a/b" });
  await link.waitFor();
  assert.match(sent.input, /"Amount":12\.30[,}]/);
  assert.match(sent.input, /"IBAN":"/);
  assert.doesNotMatch(sent.input, /"Receipt"|"Outcome"|null|""/, "what was left empty is sent");
  assert.deepEqual(sent.labels, { team: "blue" });
  await page.waitForFunction(() => document.activeElement?.textContent === "invoice-a/b");
  await eventually(async () =>
    assert.ok(
      await form.getByRole("button", { name: "Started" }).isDisabled(),
      "the same may be started at once again",
    ),
  );
  await form.getByRole("button", { name: "Start another like it" }).click();
  await form.getByRole("textbox", { name: "Thread" }).fill("invoice-a/b"); // once more
  await form.getByRole("button", { name: "Start", exact: true }).click();
  await form.getByRole("alert").getByText("No run began.").waitFor();
  await page.goto(`${server.url}/threads?label=team%3Dblue`);
  await page.getByRole("link", { name: "invoice-a/b" }).waitFor();
  await close();
});

test("a count leads to its threads", async () => {
  const { page, close } = await open(browser, server, "/programs/research");
  const places = page.getByRole("region", { name: "where its threads are" });
  await places.getByRole("link", { name: "focus", exact: true }).click();
  await page.waitForURL(/\/threads\?program=research&node=focus/);
  await page.getByRole("link", { name: "research-paper" }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll("[role=row]:has([role=cell])").length === 1);
  await page.goBack();
  await places.getByRole("button", { name: /^publish ?, 2 threads: 2 interrupted$/ }).click(); // in the graph
  await page.waitForURL(/node=publish/);
  await page.getByRole("link", { name: "research-freight" }).waitFor();
  await page.goto(`${server.url}/programs/research`);
  await page.getByRole("region", { name: "versions" }).getByRole("link", { name: /open$/ }).click();
  await page.waitForURL(/version=/);
  await page.getByRole("link", { name: "research-freight" }).waitFor();
  await close();
});

test("a form in which nothing is filled is refused by what it takes, and begins nothing at once", async () => {
  const { page, close } = await open(browser, server, "/programs/newsletter");
  const form = page.getByRole("region", { name: "start" });
  const sent = page.waitForRequest((r) => r.method() === "POST" && /\/runs/.test(r.url()));
  await form.getByRole("button", { name: "Start" }).click();
  await form.getByRole("alert").getByText("Nothing is filled in. The program takes “").waitFor();
  await page.waitForFunction(() => document.activeElement?.matches("form input, form textarea, form select"));
  await form.getByRole("button", { name: "Start with nothing" }).click();
  assert.equal((await sent).postDataJSON().input, "{}");
  await close();
});

test("what is typed stays while somebody looks elsewhere, and a lost answer begins one run", async () => {
  const { page, close } = await open(browser, server, "/programs/refund");
  const form = page.getByRole("region", { name: "start" });
  const request = form.getByRole("textbox", { name: /^Request/ });
  await form.getByRole("button", { name: "Start" }).click();
  await form.getByRole("alert").getByText("needs a value").first().waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-invalid") === "true");
  await request.fill("please refund order 8851");
  const screens = page.getByRole("navigation", { name: "screens" });
  await screens.getByRole("link", { name: "Threads" }).click();
  await page.getByRole("link", { name: "refund-8905" }).first().waitFor();
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("form textarea")?.value === "please refund order 8851");
  const keys = [];
  await page.route(/\/runs/, async (route) => {
    keys.push(route.request().headers()["idempotency-key"]);
    if (keys.length > 1) return route.continue();
    await route.fetch(); // it arrives, and its answer does not
    await route.abort();
  });
  await form.getByRole("button", { name: "Start" }).click();
  await form.getByRole("alert").getByText("It is not known whether the run began.").waitFor();
  await form.getByRole("button", { name: "Start" }).dblclick();
  const link = form.getByRole("status").getByRole("link");
  await link.waitFor();
  assert.deepEqual(keys, [keys[0], keys[0]], "a lost answer or a double click is another run");
  const name = await link.textContent();
  await eventually(async () => assert.equal(await link.getAttribute("href"), `/threads/${name}`));
  assert.doesNotMatch(name, /…/, "the name is not whole");
  await screens.getByRole("link", { name: "Threads" }).click();
  await page.goBack();
  await form.getByRole("button", { name: "Started" }).waitFor();
  await close();
});

test("an input that is one text is called as the program calls it, and begins a run", async () => {
  const { page, close } = await open(browser, server, "/programs/refund");
  const form = page.getByRole("region", { name: "start" });
  await form.getByRole("textbox", { name: /^Request/ }).fill("please refund order 8850");
  await form.getByRole("button", { name: "Start" }).click();
  await form.getByRole("status").getByRole("link").waitFor();
  await close();
});
