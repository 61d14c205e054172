import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { countIs, launch, open, person, start, textIs } from "./server.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

test("the record is verified, a witness is downloaded, and the store is compared with it", async () => {
  const { page, close } = await open(browser, server, "/proof");
  await page.getByText("Not verified since this server started").first().waitFor();
  await page.getByRole("button", { name: "Verify now" }).click();
  await page.getByRole("heading", { name: /^The record (is|was) whole/ }).waitFor();
  const facts = page.locator("[aria-label='what was verified']");
  await textIs(facts, /Signed\s+\d[\d,]* of \d[\d,]* entries/);

  await page.getByRole("link", { name: "Keys and witness" }).click();
  await page.getByRole("cell", { name: "signs" }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download a witness" }).click(),
  ]);
  const witness = await readFile(await download.path(), "utf8");
  assert.match(witness, /application\/vnd\.posthouse\.head\+json/);

  const file = (text) => ({ name: "witness.json", mimeType: "application/json", buffer: Buffer.from(text) });
  await page.setInputFiles("[aria-label='witness file']", file("hello"));
  await page.getByRole("alert").getByText("is another file").waitFor();
  await page.setInputFiles("[aria-label='witness file']", file(witness.replace(/"sig":"./, '"sig":"_')));
  await page
    .getByRole("alert")
    .getByText(/signature|key/i)
    .first()
    .waitFor();
  await page.setInputFiles("[aria-label='witness file']", file(witness));
  await page.getByRole("heading", { name: /^The record (is|was) whole/ }).waitFor();
  await facts.getByText("Witness").waitFor();
  await page.getByLabel("earlier verifications").getByText("verified").waitFor();
  await fetch(`${server.url}/api/threads/refund-8829/copy`, {
    method: "POST",
    headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ thread: "copied-later" }),
  });
  await page.reload();
  await page.getByRole("heading", { name: "The record was whole" }).waitFor();
  await page
    .getByText(/\d+ entries since, in \d+ threads?, \d+ of them new: not verified/)
    .first()
    .waitFor();
  await close();
});

test("a store that was changed beside the server has a red line, and what to do", async () => {
  const dir = await mkdtemp(join(tmpdir(), "posthouse-proof-"));
  let other = await start(["--data-dir", dir]);
  const call = (path, method, body) =>
    fetch(other.url + path, {
      method,
      headers: { Authorization: `Bearer ${other.token}`, "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    }).then((a) => a.json());
  const begun = await call("/api/agents/dispatch", "POST", { message: "please refund order 1234" });
  assert.ok(begun);
  await other.stop();
  const path = join(dir, "posthouse.db");
  const data = await readFile(path);
  const at = data.indexOf("order 1234");
  assert.ok(at > 0, "the request is not in the database as text");
  for (let i = at; i >= 0; i = data.indexOf("order 1234", i + 1)) data.write("order 9999", i);
  await writeFile(path, data);
  other = await start(["--data-dir", dir]);
  const { page, close } = await open(browser, other, "/proof");
  await page.getByRole("button", { name: "Verify now" }).click();
  await page.getByRole("heading", { name: "The record has faults" }).waitFor();
  const faults = page.locator("section[aria-label=faults]");
  await faults
    .getByText(/entry \d+/)
    .first()
    .waitFor();
  await textIs(faults, /restore the newest backup/);
  await close();
  await other.stop();
  await rm(dir, { recursive: true });
});

test("who did what is listed by time, narrowed to a person, and exported", async () => {
  const { page, close } = await open(browser, server, "/proof?show=audit");
  const rows = page.locator("[aria-label='who did what'] tbody tr");
  await rows.first().waitFor();
  const times = await rows.locator("time").evaluateAll((all) => all.map((t) => Date.parse(t.dateTime)));
  assert.deepEqual(
    times,
    [...times].sort((a, b) => b - a),
  );
  await page.fill("[aria-label=person]", "dana");
  await page.keyboard.press("Enter");
  await page.waitForURL(/by=dana/);
  await page.waitForFunction(() => {
    const all = [...document.querySelectorAll("[aria-label='who did what'] tbody tr td:first-child")];
    return all.length > 0 && all.every((td) => td.textContent.includes("dana"));
  });
  const href = await page.getByRole("link", { name: "Export JSON" }).getAttribute("href");
  const lines = await page.evaluate((at) => fetch(at).then((a) => a.text()), href);
  const last = JSON.parse(lines.trim().split("\n").at(-1));
  assert.equal(last.end, true);
  assert.ok(last.acts > 0);
  const table = await page.evaluate((at) => fetch(at).then((a) => a.text()), href.replace("jsonl", "csv"));
  assert.match(table, /^at,by,sent by,did,what,/);
  assert.equal(table.trim().split("\n").at(-1), `end,${last.acts}`);
  await page.goto(`${server.url}/proof?show=audit&days=30&kind=effect`);
  const paid = rows.filter({ hasText: "Pay 58.00 EUR to Paper & Sons" });
  await paid.first().waitFor();
  await countIs(paid, 1, "a payment is one row");
  await textIs(paid, /acted\s+pay, approved by dana: .*by #\d+/s);
  await page.goto(`${server.url}/proof?show=audit&days=30&kind=decision`);
  await rows.first().waitFor();
  assert.doesNotMatch(await page.locator("[aria-label='who did what']").innerText(), /gate-|worker:|\$/);
  await page.getByRole("link", { name: "Pay 58.00 EUR to Paper & Sons for invoice INV-1021?" }).click();
  await page.waitForURL(/\/gates\/gate-/);
  await page.goto(`${server.url}/proof`);
  await page.getByRole("link", { name: "Access" }).click();
  await page.locator("[aria-label=tokens] td", { hasText: "operator, you" }).waitFor();
  await close();
});

for (const role of ["viewer", "approver"]) {
  test(`${role}s see what was verified and the keys, and no button`, async () => {
    const { page, close } = await open(browser, server, "/proof", { token: await person(server, role) });
    await page.getByText("An operator begins a verification").first().waitFor();
    await countIs(page.getByRole("button", { name: "Verify now" }), 0);
    await countIs(page.getByRole("link", { name: /Who did what|Access/ }), 0);
    await page.getByRole("link", { name: "Keys and witness" }).click();
    await page.getByRole("cell", { name: "signs" }).waitFor();
    await countIs(page.getByRole("button", { name: /witness|Choose a file/ }), 0);
    await close();
  });
}
