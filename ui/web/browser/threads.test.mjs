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

const rows = "[role=row]:has([role=cell])";
const names = (page) => page.locator(`${rows} a`).allInnerTexts();
const called = (page, method, path, body) =>
  page.evaluate(
    async ([method, path, body]) => {
      const headers = { "Content-Type": "application/json", "X-Posthouse-Csrf": "1" };
      const answer = await fetch(path, { method, headers, ...(body ? { body } : {}) });
      return { status: answer.status, text: await answer.text() };
    },
    [method, path, body],
  );

test("threads are found, narrowed and opened with the keyboard alone, and the address says it", async () => {
  const { page, close } = await open(browser, server, "/threads");
  await page.waitForSelector(rows);
  await page.keyboard.press("/");
  await page.keyboard.type("refund-88");
  await page.waitForURL(/q=refund-88/);
  await page.waitForFunction(() => {
    const found = [...document.querySelectorAll("[role=cell] a")].map((a) => a.innerText);
    return found.length > 2 && found.every((name) => name.startsWith("refund-88"));
  });
  await page.keyboard.press("Enter"); // leaves the field for the first row
  await page.keyboard.press("j");
  const at = (await names(page))[1];
  await page.locator("[role=row][aria-current] a").getByText(at, { exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL((u) => u.pathname === `/threads/${at}`);
  await page.goBack();
  await page.waitForSelector(rows);
  await page.getByRole("link", { name: /^Failed/ }).click();
  await page.waitForURL(/status=failed.*q=refund-88/);
  await page.waitForFunction(() => {
    const found = [...document.querySelectorAll("[role=cell] a")].map((a) => a.innerText);
    return found.join() === "refund-8870";
  });
  await page.getByRole("searchbox").fill("customer=C-450");
  await page.keyboard.press("Enter");
  await page.waitForURL(/label=customer%3DC-450/);
  await page.getByText("No thread fits").first().waitFor();
  await page.getByRole("link", { name: "All", exact: true }).click();
  await page.waitForFunction(() => document.querySelector("[role=cell] a")?.innerText === "refund-8877");
  await close();
});

test("a view and the columns are kept", async () => {
  const { page, close } = await open(browser, server, "/threads?status=failed");
  await page.waitForSelector(rows);
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("textbox", { name: "name of the view" }).fill("Failed ones");
  await page.getByRole("button", { name: "Save" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Labels" }).check();
  await page.goto(`${server.url}/threads`);
  await page.waitForSelector(rows);
  await page.getByRole("columnheader", { name: "Labels" }).waitFor();
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("link", { name: "Failed ones" }).click();
  await page.waitForURL(/status=failed/);
  await close();
});

test("columns keep their widths whatever is listed, and the line of now has the most room", async () => {
  const { page, close } = await open(browser, server, "/threads");
  const widths = async (path) => {
    await page.goto(server.url + path);
    await page.waitForSelector(rows);
    return page.$$eval("[role=columnheader]", (all) => all.map((h) => Math.round(h.getBoundingClientRect().width)));
  };
  const all = await widths("/threads");
  for (const path of ["/threads?status=failed", "/threads?unknown=yes", "/threads?program=invoice&node=approve"]) {
    assert.deepEqual(await widths(path), all, path);
  }
  const now = all[4];
  assert.ok(now >= 480 && now === Math.max(...all), `now has ${now} of ${all}`);
  await page.getByRole("link", { name: "Open a file" }).click();
  await page.waitForURL(/\/file$/);
  await page.getByRole("link", { name: "Threads", exact: true }).last().click();
  await page.waitForURL(/\/threads$/);
  await close();
});

test("several threads are cancelled: what would be done, a confirmation, and what failed", async () => {
  const { page, close } = await open(browser, server, "/threads?q=newsletter-");
  await page.waitForSelector(rows);
  const all = await names(page);
  await page.getByRole("checkbox", { name: "select all that are shown" }).check();
  await page.getByText(`${all.length} chosen`).first().waitFor();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel threads" });
  const go = dialog.getByRole("button", { name: /^Cancel \d+ threads$/ });
  await go.waitFor();
  const n = Number(/\d+/.exec(await go.innerText())[0]);
  assert.ok(n > 1 && n < all.length, `${n} of ${all.length} would be cancelled`);
  await eventually(async () => assert.ok(await go.isDisabled(), "it needs no confirmation"));
  const { status } = await called(page, "DELETE", "/api/threads/newsletter-staff"); // meanwhile
  assert.equal(status, 200);
  await dialog.getByRole("textbox", { name: /Reason/ }).fill("the offer is over");
  await dialog.getByRole("textbox", { name: /Type/ }).fill(String(n));
  await page.keyboard.press("Enter");
  await dialog.getByText(`${n - 1} threads cancelled, 1 failed.`).waitFor();
  await textIs(dialog.getByRole("region", { name: "Failed" }), /newsletter-staff\s+there is no thread/);
  await dialog.getByRole("button", { name: /^Close/ }).click();
  await page.getByText("1 chosen").first().waitFor();
  await page.waitForFunction(() => document.querySelectorAll("[role=row]:has([role=cell])").length > 0);
  const left = await called(page, "GET", "/api/threads?q=newsletter-&status=cancelled");
  assert.equal(JSON.parse(left.text).items.length >= n - 1, true, left.text);
  await close();
});

test("rows stay under a resting mouse: new ones wait until they are asked for, or it leaves", async () => {
  const { page, close } = await open(browser, server, "/threads");
  await page.waitForSelector(rows);
  const begin = async (id) => {
    const begun = await called(page, "POST", "/api/programs/refund/runs", JSON.stringify({ input: "x", id }));
    assert.equal(begun.status, 201, begun.text);
  };
  const under = page.locator(`${rows}:hover a`);
  await page.locator(`${rows} a`).nth(3).hover();
  const aimed = await under.innerText();
  await begin("held-1");
  await page.getByRole("button", { name: "1 new" }).waitFor();
  await textIs(under, aimed);
  await page.getByRole("button", { name: "1 new" }).click();
  await page.getByRole("link", { name: "held-1", exact: true }).waitFor();
  await begin("held-2");
  await page.getByRole("button", { name: "1 new" }).waitFor();
  await page.mouse.move(2, 2);
  await page.getByRole("link", { name: "held-2", exact: true }).waitFor();
  await close();
});

test("names that lead astray are shown as they are, and lead to their threads", async () => {
  const { page, close } = await open(browser, server, "/threads");
  const hostile = ["../../login", "<img src=x onerror=alert(1)>", "a\u202Eb/100%?#"];
  for (const id of hostile) {
    const begun = await called(
      page,
      "POST",
      "/api/programs/refund/runs",
      JSON.stringify({ input: "x", id, labels: { l: id } }),
    );
    assert.equal(begun.status, 201, begun.text);
  }
  await page.reload();
  for (const [id, shown] of [
    [hostile[0], hostile[0]],
    [hostile[1], hostile[1]],
    [hostile[2], "a‹U+202E›b/100%?#"],
  ]) {
    const link = page.getByRole("link", { name: shown, exact: true });
    await link.waitFor();
    const to = new URL(await link.getAttribute("href"), server.url);
    assert.equal(decodeURIComponent(to.pathname.replace("/threads/", "")), id);
  }
  await close();
});
