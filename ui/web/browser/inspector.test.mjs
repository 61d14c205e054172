import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open, start } from "./server.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

/** fork makes a branch of a checkpoint by the API, with parts of the state, or all of it, given. */
const fork = async (id, body) => {
  const answer = await fetch(`${server.url}/api/checkpoints/${id}/fork`, {
    method: "POST",
    headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()).id;
};
const read = async (path) =>
  (await fetch(`${server.url}/api${path}`, { headers: { Authorization: `Bearer ${server.token}` } })).json();

test("a long value says its size and opens, and shows where it changed", async () => {
  const head = (await read("/threads/handover/outline")).items[0].id;
  const letter = "dear Ann, ".repeat(600);
  const paper = Array.from({ length: 50 }, (_, i) => `Line ${i}`).join("\n");
  const before = await fork(head, { branch: "before", state: { note: "as before ".repeat(20), letter, paper } });
  await fork(before, { branch: "after", patch: { letter: `${letter}Bob`, paper: paper.replace("Line 7", "Row 7") } });
  const { page, close } = await open(browser, server, "/threads/handover?branch=after");
  const part = (name) => page.getByRole("listitem").filter({ hasText: new RegExp(`^${name}`) });
  await part("note").getByRole("button", { name: "show all 200 characters" }).click();
  assert.match(await part("note").innerText(), /(as before ){19}as before/);
  assert.match(await part("letter").innerText(), /5,9\d\d characters …/);
  assert.equal(await part("letter").locator("ins mark").innerText(), "Bob");
  assert.equal(await part("paper").locator("ins").innerText(), "Row 7");
  await part("paper").getByRole("button", { name: "6 equal lines" }).click();
  await part("paper").getByText("Line 3", { exact: true }).waitFor();
  await close();
});
