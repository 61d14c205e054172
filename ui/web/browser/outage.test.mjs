import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { launch, open, start } from "./server.mjs";

test("a page whose server is killed says so, keeps what was typed, and goes on when it is back", async () => {
  const dir = await mkdtemp(join(tmpdir(), "posthouse-page-"));
  const browser = await launch();
  let server = await start(["--data-dir", dir]);
  const addr = new URL(server.url).host;
  const { page, close } = await open(browser, server, "/");
  const send = page.evaluate(async () => {
    const answer = await fetch("/api/agents/dispatch", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ message: "please refund order 7" }),
    });
    await answer.text();
  });
  await page.waitForSelector("article[aria-label]");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.fill('form [aria-label="reason"]', "within the limit");
  await server.stop("SIGKILL");
  await page.waitForFunction(() => document.querySelector("header [aria-label^='not live since']"));
  await send.catch(() => {});
  server = await start(["--data-dir", dir], addr);
  await page.waitForFunction(() => document.querySelector("header [aria-label='live']"), undefined, {
    timeout: 40_000,
  });
  assert.equal(await page.inputValue('form [aria-label="reason"]'), "within the limit");
  await page.locator("article footer form").getByRole("button", { name: "Approve" }).click();
  await page.waitForFunction(() =>
    document.querySelector("[aria-label=outcome]")?.textContent.includes("within the limit"),
  );
  await close();
  await browser.close();
  await server.stop();
  await rm(dir, { recursive: true });
});
