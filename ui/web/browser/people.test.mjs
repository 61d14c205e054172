import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually, launch, open, person, start } from "./server.mjs";

let server, browser, dana, gate;
const ask = (path, token, init = {}) =>
  fetch(`${server.url}${path}`, {
    ...init,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
  }).then((r) => r.json());
const send = (path, token, body) => ask(path, token, { method: "POST", body: JSON.stringify(body) });
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
  dana = await person(server, "approver", "dana");
  await person(server, "viewer", "vera");
  const { items } = await ask("/api/gates?question=sign-contract", dana);
  gate = items.find((g) => g.may.includes("delegate"));
  assert.ok(gate, "dana may delegate no contract");
});
after(async () => {
  await browser.close();
  await server.stop();
});
const delegations = async () =>
  ((await ask(`/api/gates/${gate.id}`, dana)).assignments ?? []).filter((a) => !a.escalation);

test("a typo is confirmed twice, goes on record, and is taken back", async () => {
  const { page, close } = await open(browser, server, `/gates/${gate.id}`, { token: dana });
  await page.getByRole("button", { name: "Delegate" }).first().waitFor();
  await page.keyboard.press("d");
  const to = page.getByRole("combobox", { name: "to" });
  await to.waitFor();
  const alert = page.getByRole("form").getByRole("alert");
  await page.keyboard.press("Shift+Enter");
  await alert.filter({ hasText: "Say who" }).waitFor();
  // Names are offered; those who may not have it say why, and are not chosen.
  await page.keyboard.press("ArrowDown");
  await page.getByRole("option", { name: /vera.*role viewer/ }).click({ force: true });
  await eventually(async () => assert.equal(await to.inputValue(), ""));
  for (const [name, why] of [
    ["vera", "the role viewer"],
    [gate.requestedBy, "asked for this"],
  ]) {
    await to.fill(name);
    await page.keyboard.press("Shift+Enter");
    await alert.filter({ hasText: why }).waitFor();
  }
  // Another name is possible, once the risk was confirmed.
  await to.fill("nobody-xyz");
  const sure = page.getByRole("checkbox", { name: /I mean nobody-xyz.*until you take it back/ });
  await assertEventually(async () => {
    await to.press("Shift+Enter");
    await sure.waitFor({ timeout: 1000 });
  });
  await page.keyboard.press("Shift+Enter");
  assert.deepEqual(await delegations(), [], "it was sent without the second confirmation");
  await sure.check();
  await page.keyboard.press("Shift+Enter");
  await page.getByText("You handed it to nobody-xyz").first().waitFor();
  await page.keyboard.press("t");
  await page.getByRole("textbox", { name: "reason" }).fill("a typo");
  await page.keyboard.press("Shift+Enter");
  await page.getByRole("button", { name: "Approve" }).first().waitFor();
  const [given, back] = await delegations();
  assert.deepEqual([given.to, back.takesBack, back.reason], [["nobody-xyz"], given.seq, "a typo"]);
  await page.getByLabel("what happened").getByText("Taken back").waitFor();
  await close();
});

test("a known name is chosen by keys, and what is used is not taken back", async () => {
  const { page, close } = await open(browser, server, `/gates/${gate.id}`, { token: dana });
  await page.getByRole("button", { name: "Delegate" }).first().waitFor();
  await page.keyboard.press("d");
  await page.getByRole("combobox", { name: "to" }).fill("oper");
  await page.getByRole("option", { name: /operator/ }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await eventually(async () => assert.equal(await page.getByRole("combobox", { name: "to" }).inputValue(), "operator"));
  await page.keyboard.press("Shift+Enter");
  await page.getByText("You handed it to operator").first().waitFor();
  await page.keyboard.press("t");
  await page.getByRole("textbox", { name: "reason" }).waitFor();
  await send(`/api/gates/${gate.id}/approve`, server.token, {});
  await page.keyboard.press("Shift+Enter");
  await page
    .getByText(/came too late|was not sent|was decided/)
    .first()
    .waitFor();
  assert.equal((await delegations()).at(-1).to[0], "operator");
  await close();
});

test("a substitute is chosen from known names, and an unknown one is confirmed", async () => {
  const { page, close } = await open(browser, server, "/settings", { token: dana });
  const who = page.getByRole("combobox", { name: "Who" });
  const name = page.getByRole("button", { name: "Name a substitute" });
  await who.fill("vera");
  await assertEventually(async () => {
    await name.click();
    await page.getByRole("alert").filter({ hasText: "the role viewer" }).waitFor({ timeout: 1000 });
  });
  await who.fill("nobody-of-that-name");
  const sure = page.getByRole("checkbox", { name: /waits while you are away/ });
  await assertEventually(async () => {
    await name.click();
    await sure.waitFor({ timeout: 1000 });
  });
  assert.deepEqual((await ask("/api/substitutes", dana)).items, []);
  await sure.check();
  await name.click();
  await page.getByRole("button", { name: "Withdraw" }).click();
  await page.getByRole("button", { name: "Withdraw" }).waitFor({ state: "detached" });
  await close();
});

/** assertEventually tries again what needs an answer of the server first. */
async function assertEventually(attempt, times = 10) {
  for (let i = 1; ; i++) {
    try {
      return await attempt();
    } catch (e) {
      if (i === times) throw e;
    }
  }
}
