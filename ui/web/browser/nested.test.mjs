// What is approved is on the screen, however deep it nests: no value is beyond an edge or squeezed while Approve is live.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, launch, linkTo, open, person, start } from "./server.mjs";

let server, browser, by, asked;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
  by = await person(server, "approver", "dana");
  asked = (await call(server, "GET", "/gates?state=open&limit=200")).items.filter((g) => g.name === "pay-invoice");
  assert.ok(asked.length > 1, "the made-up week has no invoices to pay");
});
after(async () => {
  await browser.close();
  await server.stop();
});

const depths = {
  360: [1, 2, 4, 7, 9, 10, 20, 40],
  390: [...Array.from({ length: 12 }, (_, i) => i + 1), 16, 20, 24, 28, 32, 36, 40, 127],
  1280: [1, 3, 5, 8, 9, 11, 24, 40],
};

/** nested is a payload that hides another amount so many levels deep, in objects or in lists. */
const nested = (depth, list) => {
  let inner = { amount: "1000000.00", payee: "Mallory Ltd" };
  for (let i = depth - 1; i > 0; i--) inner = list ? [inner] : { [`level${i}`]: inner };
  return { amount: "10.00", payee: "Bob", z: inner };
};

/** shows has the server show questions with another payload: no route of the API asks any. */
async function shows(page, payload) {
  const change = (gate) => {
    const members = gate?.binding ? "binding" : "fields"; // for the holder of a link
    if (!gate?.[members]) return;
    gate.payload = JSON.stringify(payload);
    gate[members] = Object.entries(payload).map(([name, value]) => ({
      name,
      label: name,
      value: JSON.stringify(value),
    }));
    delete gate.before;
    delete gate.duplicates;
  };
  await page.unrouteAll({ behavior: "wait" }); // answers under way are given before another is shown
  await page.route(/\/api\/gates/, async (route) => {
    const response = await route.fetch();
    const json = await response.json().catch(() => undefined);
    if (!json) return route.fulfill({ response });
    for (const gate of [json, json.gate, ...(json.items ?? [])]) change(gate);
    await route.fulfill({ response, json });
  });
}

/** hidden lists what is not to be read in a card: values beyond its edges or the window's, and squeezed ones. */
const hidden = (page) =>
  page.evaluate(() => {
    const card = document.querySelector("[aria-label='what is asked'], [aria-label='questions']");
    const edge = card.getBoundingClientRect();
    return [...card.querySelectorAll("dd code, td code")].flatMap((value) => {
      const place = value.closest("dd, td, li");
      const out = [...value.getClientRects()].some(
        (r) => r.left < Math.max(edge.left, 0) - 1 || r.right > Math.min(edge.right, innerWidth) + 1,
      );
      const squeezed = place.tagName !== "TD" && place.clientWidth < 160;
      return out || squeezed ? [`${value.textContent.slice(0, 20)} has ${place.clientWidth} px`] : [];
    });
  });

/** approves presses until Approve opens its line, and returns how often it was said to show all first. */
async function approvable(page, text) {
  const first = page.getByRole("button", { name: "Show all first" });
  const approve = page.getByRole("button", { name: /^Approve/ }).first();
  for (let pressed = 0; pressed < 4; pressed++) {
    await first.or(approve).first().waitFor();
    await page.waitForTimeout(60);
    if (await approve.isVisible()) {
      assert.deepEqual(await hidden(page), []);
      const card = await page.locator("[aria-label='what is asked'], [aria-label='questions']").first().innerText();
      assert.ok(card.includes(text), `Approve is live, and ${text} is not in the card`);
      return pressed;
    }
    await first.click();
  }
  assert.fail("Approve is never live");
}

for (const width of [360, 390, 1280]) {
  const options = { viewport: { width, height: width < 900 ? 740 : 800 } };
  test(`at ${width} px what is nested is read before it can be approved`, async () => {
    const { page, close } = await open(browser, server, "/overview", { ...options, token: by });
    for (const depth of depths[width]) {
      await shows(page, nested(depth, depth % 3 === 0));
      await page.goto(`${server.url}/gates/${asked[0].id}`);
      await page.locator("[aria-label='what is asked']").waitFor();
      const pressed = await approvable(page, "1000000.00");
      if (depth > 9) assert.ok(pressed > 0, `${depth} levels do not fold`);
    }
    await close();
  });

  test(`at ${width} px the page of a link shows what is nested before it can be approved`, async () => {
    const path = await linkTo(server, asked[0], "dana", by, undefined);
    const { page, close } = await open(browser, server, "/overview", options);
    for (const depth of [1, 3, 4, 8, 9, 40]) {
      await shows(page, nested(depth, false));
      await page.goto("about:blank");
      await page.goto(server.url + path);
      await page.locator("[aria-label='what is asked']").waitFor();
      await approvable(page, "1000000.00");
    }
    await close();
  });

  test(`at ${width} px a set shows what is nested before it can be approved`, async () => {
    const { page, close } = await open(browser, server, "/overview", { ...options, token: by });
    for (const depth of [1, 4, 9, 40]) {
      await shows(page, { ...nested(depth, false), order: { z: nested(depth, true), list: [1, "two"] } });
      await page.goto(`${server.url}/?set=pay-invoice`);
      await approvable(page, "1000000.00");
    }
    await close();
  });
}

test("a table of many columns is no table where it would be squeezed", async () => {
  const lines = Array.from({ length: 3 }, (_, i) => ({
    sku: `A-${i}`,
    name: "A name of a thing that is long enough to wrap",
    quantity: "3",
    price: "1000000.00",
    total: "3000000.00",
    account: "FR1420041010050500013M02606",
  }));
  for (const width of [360, 1280]) {
    const { page, close } = await open(browser, server, "/overview", { viewport: { width, height: 800 }, token: by });
    await shows(page, {
      amount: "10.00",
      lines,
      few: lines.map(({ sku, price }) => ({ sku, price })),
      deep: { a: { lines } },
    });
    await page.goto(`${server.url}/gates/${asked[0].id}`);
    await page.locator("[aria-label='what is asked']").waitFor();
    await approvable(page, "FR1420041010050500013M02606");
    const broken = await page.evaluate(
      () =>
        [...document.querySelectorAll("[aria-label='what is asked'] td code")].filter(
          (c) => c.textContent === "1000000.00" && c.getClientRects().length > 1,
        ).length,
    );
    assert.equal(broken, 0, "an amount is broken in itself");
    await close();
  }
});
