import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, launch, open, person, start } from "./server.mjs";

test("a page whose server is killed says so, keeps what was typed, and goes on when it is back", async () => {
  const dir = await mkdtemp(join(tmpdir(), "posthouse-page-"));
  const browser = await launch();
  // Of no port that the system gives to others while the server is down.
  const addr = `127.0.0.1:${20_000 + (process.pid % 10_000)}`;
  let server = await start(["--data-dir", dir], addr);
  const { page, close } = await open(browser, server, "/");
  const sent = page.evaluate(async () => {
    const answer = await fetch("/api/agents/dispatch", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ message: "please refund order 7" }),
    });
    await answer.text();
  });
  const send = sent.catch(() => {}); // the server is killed, maybe before it has answered
  await page.waitForSelector("article[aria-label]");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.fill('form [aria-label="reason"]', "within the limit");
  await server.stop("SIGKILL");
  await page.waitForFunction(() => document.querySelector("header [aria-label^='not live since']"));
  await send;
  server = await start(["--data-dir", dir], addr);
  await page.waitForFunction(() => document.querySelector("header [aria-label='live']"), undefined, {
    timeout: 40_000,
  });
  await eventually(async () => assert.equal(await page.inputValue('form [aria-label="reason"]'), "within the limit"));
  await page.locator("article footer form").getByRole("button", { name: "Approve" }).click();
  await page.waitForFunction(() =>
    document.querySelector("[aria-label=outcome]")?.textContent.includes("within the limit"),
  );
  await close();
  await browser.close();
  await server.stop();
  await rm(dir, { recursive: true });
});

test("a page whose session ends says so, keeps what was typed, and a logout empties all tabs", async () => {
  const browser = await launch();
  const server = await start();
  const token = await person(server, "operator", "short");
  const { page, close } = await open(browser, server, "/?show=open", { token });
  const row = page.locator("section[aria-label=pay-invoice] a[href*='gate=']").first();
  await row.click();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.fill('form [aria-label="reason"]', "as agreed");
  const revoked = await fetch(`${server.url}/api/tokens/short`, {
    method: "DELETE",
    headers: { Authorization: `Bearer ${server.token}` },
  });
  assert.equal(revoked.status, 204);
  const confirm = page.locator("article footer form").getByRole("button", { name: "Approve" });
  await confirm.click();
  await page.getByText("You are logged out.").first().waitFor(); // by the answer, not by the next look
  await page.getByRole("button", { name: /^logged out since/ }).waitFor(); // the stream of before ends later
  const failure = page.locator("[role=alert]", { hasText: "Your session has ended." }).first();
  await failure.waitFor();
  assert.doesNotMatch(await page.locator("main").innerText(), /Authorization|Bearer/);

  const [second] = await Promise.all([
    page.waitForEvent("popup"),
    failure.getByRole("link", { name: "Log in again" }).click(),
  ]);
  await second.fill("#token", server.token);
  await Promise.all([second.waitForURL((u) => u.pathname === "/"), second.click("form button.primary")]);
  await page.getByText("You are logged out.").waitFor({ state: "detached" }); // nobody has to look at it
  await page.getByRole("button", { name: "live", exact: true }).waitFor();
  if (!(await confirm.isVisible())) await page.getByRole("button", { name: "Approve" }).first().click();
  await eventually(async () => assert.equal(await page.inputValue('form [aria-label="reason"]'), "as agreed"));

  let go;
  const held = new Promise((done) => (go = done));
  await page.route("**/login?*", async (route) => {
    await held;
    await route.continue();
  });
  // A page that is being left answers no locator: it says by itself what its header reads.
  const told = page.waitForEvent("console", (m) => m.text().startsWith("logged out"));
  await page.evaluate(() => {
    const chip = document.querySelector("header button[aria-label=live]");
    new MutationObserver(() => console.info(chip.ariaLabel)).observe(chip, { attributes: true });
  });
  await second.getByRole("button", { name: "Account" }).click();
  await second.getByRole("button", { name: "Log out" }).click();
  await told;
  go();
  await page.waitForURL((u) => u.pathname === "/login");
  assert.equal(await page.getByText(/live/).count(), 0);
  await close();
  await browser.close();
  await server.stop();
});
