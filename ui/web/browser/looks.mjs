// Every screen of the made-up week, looked at by rules: what is too wide, and what axe finds.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { launch, linkTo, open, person, picture, questionOf, start } from "./server.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const links = {};

const screens = [
  { name: "inbox", path: "/", ready: "main li a", narrow: true },
  { name: "thread", path: "/threads/invoice-1019", ready: "[data-rows] li" },
  { name: "step", path: "/threads/invoice-1019?tab=step", ready: "[data-rows] li", act: look(".react-flow__node") },
  { name: "entry", path: "/threads/invoice-1019?tab=entry", ready: "[data-rows] li", act: look("text=Verified") },
  { name: "fork", path: "/threads/invoice-1019?draft=yes", ready: "[aria-label='what the fork does']" },
  { name: "resume", path: "/threads/invoice-1009", ready: "[data-rows] li", act: resume },
  { name: "version", path: "/threads/newsletter-customers?version=1", ready: "[data-rows] li", act: seen("Verified") },
  { name: "signal", path: "/threads/erasure-C-460", ready: "[data-rows] li", act: signal },
  { name: "wait", path: "/threads/erasure-C-460", ready: "[data-rows] li", act: wait },
  { name: "question", path: "/", ready: "main li a", open: true },
  { name: "confirm", path: "/?question=pay-invoice", ready: "main li a", open: true, press: "Approve" },
  { name: "set", path: "/?set=refund", ready: "[aria-label='decide together']" },
  { name: "unknown", path: "/", ready: "main li a", act: pick("It is not known", "It was done") },
  { name: "answer", path: "/", ready: "main li a", act: pick("What shall the report", "Answer", "choose one") },
  { name: "file", path: "/file", ready: "main label" },
  { name: "missing", path: "/threads/nosuchthread", ready: "main h2" },
  { name: "node", path: "/threads?program=invoice&node=approve", ready: "[role=row] a" },
  { name: "decided", path: "/?show=decided", ready: "main li a" },
  { name: "gate", path: "/?show=decided", ready: "main li a", open: true, page: true },
  { name: "threads", path: "/threads", ready: "[role=row] a" },
  { name: "threads-chosen", path: "/threads?status=failed", ready: "[role=row] a", act: choose },
  { name: "programs", path: "/programs", ready: "main li a" },
  { name: "program", path: "/programs/research", ready: "[aria-label='where its threads are'] li" },
  { name: "program-text", path: "/programs/refund", ready: "main form" },
  { name: "palette", path: "/threads", ready: "[role=row] a", act: search },
  { name: "threads-none", path: "/threads?q=nosuchthread&program=refund", ready: "main h2" },
  { name: "workers", path: "/workers", ready: "[aria-label=workers] td" },
  { name: "tasks", path: "/workers?show=tasks", ready: "[aria-label='open tasks'] td" },
  { name: "failed", path: "/workers?show=failed", ready: "[aria-label='failed tasks'] td" },
  { name: "proof", path: "/proof", ready: "section[aria-label='newest verification'] h2", press: "Verify now" },
  { name: "keys", path: "/proof?show=keys", ready: "[aria-label=keys] td" },
  { name: "audit", path: "/proof?show=audit", ready: "[aria-label='who did what'] td" },
  { name: "access", path: "/proof?show=access", ready: "[aria-label=tokens] td" },
  { name: "overview", path: "/overview", ready: "[aria-label='waits by question'] td" },
  { name: "settings", path: "/settings", ready: "[aria-label='my substitute'] form" },
  { name: "settings-tokens", path: "/settings?show=tokens", ready: "[aria-label='access tokens'] td" },
  { name: "settings-webhooks", path: "/settings?show=webhooks", ready: "main h2" },
  { name: "link", path: () => links["invoice-1020"], ready: "[aria-label='what is asked']" },
  { name: "login", path: "/login?next=%2Fproof", ready: "#token" },
  { name: "link-confirm", path: () => links["invoice-1020"], ready: "main", press: "Reject" },
  { name: "link-ended", path: `/decide/gate-none#${"0".repeat(64)}`, ready: "main h1" },
  { name: "link-unknown", path: () => links["invoice-1011"], ready: "[aria-label='what is asked']" },
  { name: "login-wrong", path: "/login", ready: "#token", act: mistype },
  { name: "letters", path: "/workers?show=letters", ready: "[aria-label='dead letters'] td" },
];

/** look opens the newest row of the thread, and waits for what the inspector shows. */
function look(ready) {
  return async (page) => {
    await page.locator("[data-rows] li a").first().click();
    await page.waitForSelector(ready);
  };
}

/** pick opens a question, presses a button of it, and with lacks sends what is not complete. */
function pick(intent, button, lacks) {
  return async (page) => {
    await page.getByRole("link", { name: intent }).click();
    await page.getByRole("button", { name: button, exact: false }).first().click();
    const field = page.locator("[aria-label=value] :is(input, select)").first();
    await field.waitFor();
    if (!lacks) return;
    await field.press("Shift+Enter");
    await page.getByRole("alert").getByText(lacks).first().waitFor();
  };
}

/** seen waits for words. */
function seen(words) {
  return (page) => page.getByText(words).first().waitFor();
}

/** resume opens what a resume would do. */
async function resume(page) {
  await page.getByRole("button", { name: "Resume", exact: true }).first().click();
  await page.getByText("is tried again").waitFor();
}

/** signal opens the form of a signal that a thread waits for. */
async function signal(page) {
  await page.getByRole("button", { name: "Send the signal" }).first().click();
  await page.getByLabel("value, as JSON").waitFor();
}

/** wait opens the page of a wait that no person decides. */
async function wait(page) {
  const gates = "/api/gates?kind=signal&state=open&limit=1";
  const id = await page.evaluate(
    (path) =>
      fetch(path)
        .then((r) => r.json())
        .then((l) => l.items[0].id),
    gates,
  );
  await page.goto(new URL(`/gates/${id}`, page.url()).href);
  await page.getByRole("heading", { name: /^Waits for the signal/ }).waitFor();
}

/** choose chooses the first thread, and opens what would be done to it. */
async function choose(page) {
  const narrow = page.getByRole("button", { name: "Choose", exact: true });
  if (await narrow.count()) await narrow.click();
  await page.locator("[role=cell] input").first().check();
  await page.getByRole("button", { name: "Release" }).click();
  await page.getByRole("button", { name: "Release 1 thread" }).waitFor();
}

/** mistype logs in with a token that is none. */
async function mistype(page) {
  await page.fill("#token", "ph_none");
  await page.click("form button.primary");
  await page.waitForSelector("[role=alert]");
}

/** search opens the palette, and types. */
async function search(page) {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("re");
  await page.getByRole("option", { name: /^refund-8905/ }).waitFor();
}

export const both = ["light", "dark"];
/** of is the one theme that a size is looked at in, or both when pictures are drawn. */
export const of = (theme) => (process.env.PAGE_PICTURES ? both : [theme]);

/**
 * looks tests every screen on a device. It is loaded in the first of the sizes, and then made narrower
 * or wider. A theme changes colours alone: they are looked at in both at one width. Pictures show both
 * at each.
 */
export function looks(device, sizes) {
  let server, browser;
  before(async () => {
    [server, browser] = await Promise.all([start(), launch()]);
    const operator = await person(server, "operator", "olga"); // who sends links asks for nothing
    for (const thread of ["invoice-1020", "invoice-1011"])
      links[thread] = await linkTo(server, await questionOf(server, thread), "carol", operator);
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });
  test(`every screen on a ${device}: nothing sideways, no violation of axe`, async () => {
    const [{ width, height }] = sizes;
    const { page, close } = await open(browser, server, "/", { viewport: { width, height } });
    for (const s of screens) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme: "light" });
      await show(page, server.url, s);
      for (const size of sizes) await judge(page, s.name, size);
    }
    await close();
  });
}

/** show opens a screen, and does what it is looked at after. */
async function show(page, url, s) {
  await page.goto(url + (typeof s.path === "string" ? s.path : s.path()));
  await page.waitForSelector(s.ready);
  if (s.open) await page.locator("main li a").first().click();
  if (s.page) {
    await page.locator('article a[href^="/gates/"]').first().click();
    await page.waitForSelector("[aria-label='what happened']");
  }
  if (s.act) await s.act(page);
  if (s.press) await press(page, s.press);
  await page.evaluate(() => document.fonts.ready);
}

/** press presses a button, once all that it approves was on the screen. */
async function press(page, name) {
  const all = page.getByRole("button", { name: "Show all first" });
  const button = page.getByRole("button", { name }).first();
  await button.or(all).first().waitFor();
  if (name === "Approve" && (await all.count())) await all.click();
  await button.click();
}

/** settled waits until what a size or a theme changes is drawn: observers of sizes, then React, then what moves. */
const settled = (page) =>
  page.evaluate(async () => {
    const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    for (let i = 0; i < 3; i++) await drawn();
    await Promise.allSettled(
      document
        .getAnimations()
        .filter((a) => Number.isFinite(a.effect?.getComputedTiming().endTime))
        .map((a) => a.finished),
    );
  });

/** judge looks at what is shown in a size, in its themes. */
async function judge(page, name, { width, height, themes, axe: rules }) {
  await page.setViewportSize({ width, height });
  for (const theme of themes) {
    await page.emulateMedia({ colorScheme: theme });
    await settled(page);
    await picture(page, `${name}-${width}-${theme}`);
    if (!rules) continue;
    await page.evaluate(axe);
    const options = theme === "dark" ? { runOnly: ["color-contrast"] } : {};
    const { violations } = await page.evaluate((options) => globalThis.axe.run(options), options);
    assert.deepEqual(
      violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 200)).join(" ")}`),
      [],
      `${name} at ${width} in ${theme}`,
    );
  }
}
