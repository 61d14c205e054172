import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { countIs, eventually, launch, open, person, start } from "./server.mjs";

let server, browser, receiver, dir;
const told = [];
before(async () => {
  receiver = createServer((request, answer) => {
    told.push(request.headers["webhook-id"]);
    answer.end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  dir = await mkdtemp(join(tmpdir(), "posthouse-notify-"));
  await writeFile(join(dir, "ops.secret"), `whsec_${Buffer.alloc(32, 7).toString("base64")}\n`, { mode: 0o600 });
  const address = `http://127.0.0.1:${receiver.address().port}/hook`;
  const file = join(dir, "notify.yaml");
  await writeFile(
    file,
    `url: http://127.0.0.1:8095\nwebhooks:\n  - name: ops\n    url: ${address}\n    secretFile: ops.secret\n    allow: [127.0.0.0/8]\n    insecure: true\n`,
  );
  [server, browser] = await Promise.all([start(["--demo", "--notify", file]), launch()]);
});
after(async () => {
  await browser.close();
  await server.stop();
  receiver.close();
  await rm(dir, { recursive: true });
});

test("theme, times and keys are kept by the browser", async () => {
  const { page, close } = await open(browser, server, "/settings", { colorScheme: "light" });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByText("Dark", { exact: true }).click();
  assert.notEqual(await ground(), light);
  await Promise.all([page.waitForEvent("load"), page.getByText("UTC", { exact: true }).click()]);
  await page
    .getByText(/Now is .* UTC/)
    .first()
    .waitFor();
  assert.notEqual(await ground(), light, "the theme is gone after a reload");
  await Promise.all([page.waitForEvent("load"), page.getByText("Off", { exact: true }).click()]);
  await page.getByRole("radio", { name: "Off" }).waitFor({ state: "attached" });
  await page.keyboard.press("?");
  await countIs(page.locator("dialog[open]"), 0, "a single key works though keys are off");
  await close();
});

test("a token is made, shown once, used, and revoked by its name", async () => {
  const { page, close } = await open(browser, server, "/settings?show=tokens");
  await page.fill("form[aria-label='make a token'] input", "vera");
  await page.getByRole("button", { name: "Make it" }).click();
  const secret = page.locator("[aria-label='the new token'] button").first();
  const token = (await secret.innerText()).trim();
  const me = () => fetch(`${server.url}/api/me`, { headers: { Authorization: `Bearer ${token}` } });
  assert.deepEqual(await (await me()).json(), { name: "vera", role: "viewer" });
  await page.getByRole("button", { name: "I have copied it" }).click();
  assert.ok(!(await page.content()).includes(token), "the secret is still on the page");
  await page.getByRole("button", { name: "revoke vera" }).click();
  const revoke = page.locator("dialog[open]").getByRole("button", { name: "Revoke" });
  await eventually(async () => assert.ok(await revoke.isDisabled()));
  await page.locator("dialog[open] input").fill("vera");
  await revoke.click();
  await page.getByRole("button", { name: "revoke vera" }).waitFor({ state: "detached" });
  assert.equal((await me()).status, 401);
  await close();
});

test("a webhook says how it is, takes a test, and is told once more", async () => {
  const { page, close } = await open(browser, server, "/settings?show=webhooks");
  const hook = page.locator("section[aria-label='webhook ops']");
  await hook.getByRole("button", { name: "Send a test" }).click();
  await hook.getByText("The test was taken").waitFor();
  assert.equal(told.length > 0, true);
  await hook.getByRole("button", { name: "Replay" }).click();
  const before = told.length;
  await hook.getByRole("button", { name: "Replay from then" }).click();
  await hook.getByText(/Replay\s*since .* done/).waitFor();
  assert.ok(told.length > before, "nothing was sent again");
  await close();
});

test("an approver names a substitute, snoozes a question with h, and has both back", async () => {
  const { page, close } = await open(browser, server, "/settings", { token: await person(server, "approver", "ann") });
  await countIs(page.getByRole("link", { name: /Webhooks|Tokens/ }), 0);
  await page.getByRole("combobox", { name: "Who" }).click();
  await page.getByRole("option", { name: /^bob/ }).click();
  await page.getByRole("button", { name: "Name a substitute" }).click();
  await page.locator("[aria-label=substitutes]").getByText("bob for you").waitFor();
  await page.getByRole("button", { name: "Withdraw" }).click();
  await page.locator("[aria-label=substitutes]").waitFor({ state: "detached" });

  await page.getByRole("link", { name: /^Inbox/ }).click();
  const article = page.locator("article[aria-label]");
  await page.locator("main li a").last().click(); // one without a deadline
  await page.waitForURL(/gate=/);
  await article.waitFor();
  const intent = await article.getAttribute("aria-label");
  await page.keyboard.press("h");
  await page.getByRole("group", { name: "snooze until" }).getByRole("button", { name: "1 hour" }).click();
  await page.getByText("it is back in your inbox at").first().waitFor();
  await eventually(async () =>
    assert.equal(await article.getAttribute("aria-label"), intent, "the question left its place"),
  );
  await page.goto(`${server.url}/settings`);
  const row = page.locator("[aria-label='snoozed questions'] tbody tr");
  await row.getByRole("button", { name: /have it back/ }).click();
  await row.waitFor({ state: "detached" });
  await close();
});

test("a viewer chooses for the browser, and changes nothing else", async () => {
  const { page, close } = await open(browser, server, "/settings?show=tokens", {
    token: await person(server, "viewer"),
  });
  await page.getByRole("heading", { name: "This browser" }).waitFor();
  await countIs(page.getByRole("heading", { name: /My substitute|Snoozed|Tokens/ }), 0);
  await close();
});
