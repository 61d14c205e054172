import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, countIs, launch, open, start } from "./server.mjs";

let server, browser, paid;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
  const { items } = await call(server, "GET", "/gates?state=decided&limit=50");
  for (const g of items) {
    const grant = await call(server, "GET", `/gates/${g.id}/grant`);
    if (grant.uses.some((u) => u.status === "executed" && u.task)) paid ??= g;
  }
  assert.ok(paid, "nothing was paid in the made-up week");
});
after(async () => {
  await browser.close();
  await server.stop();
});

const proof = (page) => page.locator("[aria-label=proof]");
const receipt = (page) => page.locator("[aria-label='receipt of the effect']");

/** lie has the server answer something else than is on record. */
const lie = (page, path, change) =>
  page.route(path, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    change(json);
    await route.fulfill({ response, json });
  });

test("a decision and what ran under it are verified against the signed header", async () => {
  const { page, close } = await open(browser, server, `/gates/${paid.id}`);
  await proof(page).getByText("Verified in this browser.").waitFor();
  await receipt(page).getByText("Verified in this browser.").first().waitFor();
  await countIs(page.getByText("This is not what was written"), 0);
  await close();
});

const base64 = (text) => Buffer.from(text).toString("base64");
const sha256 = async (text) => Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(text))).toString("hex");

const gatePath = /\/api\/gates\/gate-[\w-]+\?/;
const grantPath = /\/api\/gates\/gate-[\w-]+\/grant/;
const entryPath = /\/api\/threads\/[^/]+\/entries\//;

/** body puts another body and its hash in the place of a decision's. */
const body = async (entry, kind, change) => {
  const r = entry.records.find((one) => one.kind === kind);
  if (!r?.body) return;
  const text = change(Buffer.from(r.body, "base64").toString());
  Object.assign(r, { body: base64(text), size: text.length, hash: await sha256(text) });
};

for (const [name, change] of Object.entries({
  verdict: (d) => (d.verdict = "reject"),
  "who decided": (d) => (d.by = "mallory"),
  reason: (d) => (d.reason = "because"),
  value: (d) => (d.value = '{"amount":1}'),
  "the entry": (d) => (d.seq = 1),
}))
  test(`a server that lies about a decision is found: ${name}`, async () => {
    const { page, close } = await open(browser, server, "/overview");
    await lie(page, gatePath, (g) => change(g.decision));
    await page.goto(`${server.url}/gates/${paid.id}`);
    await proof(page).getByText("This is not what was written").waitFor();
    await close();
  });

test("a server that invents a body, with its hash, is found", async () => {
  const { page, close } = await open(browser, server, "/overview");
  await page.route(entryPath, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    await body(json, "decision", (text) => text.replace(/"by":"[^"]*"/, '"by":"mallory"'));
    await route.fulfill({ response, json });
  });
  await lie(page, gatePath, (g) => (g.decision.by = "mallory"));
  await page.goto(`${server.url}/gates/${paid.id}`);
  await proof(page).getByText("This is not what was written").waitFor();
  await close();
});

test("a server that shows another outcome of an effect, or the receipt of another gate, is found", async () => {
  const { page, close } = await open(browser, server, "/overview");
  await lie(page, grantPath, (g) => g.uses.forEach((u) => (u.outcome = '{"paid":"nothing"}')));
  await page.goto(`${server.url}/gates/${paid.id}`);
  await receipt(page).getByText("This is not what was written").first().waitFor();
  await page.unroute(grantPath);
  const { items } = await call(server, "GET", "/gates?state=decided&limit=50");
  const other = items.find((g) => g.id !== paid.id && g.verdict !== "reject");
  const uses = (await call(server, "GET", `/gates/${paid.id}/grant?values=text`)).uses;
  await lie(page, grantPath, (g) => (g.uses = uses));
  await page.goto(`${server.url}/gates/${other.id}`);
  await receipt(page).getByText("This is not what was written").first().waitFor();
  await close();
});

test("a key that is pinned is the only one that counts", async () => {
  const { page, close } = await open(browser, server, "/proof?show=keys");
  await page.getByRole("button", { name: "Pin", exact: true }).click();
  await page.getByText("This browser checks signatures with its pinned keys alone.").waitFor();
  await page.goto(`${server.url}/gates/${paid.id}`);
  await proof(page).getByText(", a key pinned here.").waitFor();
  await page.evaluate(() => {
    const [key] = JSON.parse(localStorage.getItem("pinned-keys"));
    localStorage.setItem("pinned-keys", JSON.stringify([{ ...key, id: "ed25519:0123456789abcdef" }]));
  });
  await page.reload();
  await proof(page).getByText("is not among those pinned in this browser").waitFor();
  await page.goto(`${server.url}/proof?show=keys`);
  await page.getByRole("button", { name: "Remove the pin" }).click();
  await page.getByText("No key is pinned in this browser").waitFor();
  await page.goto(`${server.url}/gates/${paid.id}`);
  await proof(page).getByText("Verified in this browser.").waitFor();
  await close();
});
