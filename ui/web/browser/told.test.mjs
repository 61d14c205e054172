import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { countIs, launch, open, person, picture, start, textIs } from "./server.mjs";

let server, browser, receiver, dir;
let status = 200;
const calls = new AbortController();
before(async () => {
  receiver = createServer((_, answer) => {
    answer.statusCode = status;
    answer.end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  dir = await mkdtemp(join(tmpdir(), "posthouse-told-"));
  await writeFile(join(dir, "ops.secret"), `whsec_${Buffer.alloc(32, 7).toString("base64")}\n`, { mode: 0o600 });
  const hook = (name, address) =>
    `  - {name: ${name}, url: "${address}", secretFile: ops.secret, allow: [127.0.0.0/8], insecure: true, ` +
    "retry: {initialDelay: 500ms, maxDelay: 500ms}}\n";
  const file = join(dir, "notify.yaml");
  await writeFile(
    file,
    `url: http://127.0.0.1:8095\nwebhooks:\n${hook("ops", `http://127.0.0.1:${receiver.address().port}/hook`)}` +
      hook("pager", "http://127.0.0.1:1/hook?token=s3cret"),
  );
  [server, browser] = await Promise.all([start(["--data-dir", join(dir, "data"), "--notify", file]), launch()]);
});
after(async () => {
  calls.abort();
  await browser.close();
  await server.stop();
  receiver.close();
  await rm(dir, { recursive: true });
});

const headers = () => ({ Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" });
const read = (path) => fetch(server.url + path, { headers: headers() }).then((a) => a.json());

/** ask begins a run whose question waits, and returns the id of its gate. */
async function ask(order) {
  fetch(`${server.url}/api/agents/dispatch`, {
    method: "POST",
    headers: headers(),
    body: JSON.stringify({ message: `please refund order ${order}` }),
    signal: calls.signal,
  }).catch(() => {});
  for (;;) {
    const { items } = await read("/api/gates");
    const found = items.find((g) => JSON.stringify(g).includes(order));
    if (found) return found.id;
  }
}

/** settled waits until each endpoint has made an attempt to tell of a gate. */
async function settled(id) {
  for (;;) {
    const { items } = await read(`/api/gates/${id}/deliveries`);
    if (items.length === 2 && items.every((t) => t.attempts > 0)) return items;
  }
}

test("a question says who was told by which channel, and why others were not", async () => {
  const id = await ask("4711");
  await settled(id);
  const { page, close } = await open(browser, server, `/gates/${id}`);
  const life = page.locator("ol[aria-label='what happened']");
  await life.getByText(/ops \(webhook\): told/).waitFor();
  await life.getByText(/pager \(webhook\): not told, \d+ attempts? failed: .*refused/).waitFor();
  await countIs(life.getByText("Nobody was told yet"), 0);
  assert.ok(!(await page.content()).includes("s3cret"));
  await picture(page, "told");
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, "told-390");
  await close();

  const viewer = await open(browser, server, `/gates/${id}`, { token: await person(server, "viewer") });
  await viewer.page
    .getByText(/pager \(webhook\): not told, \d+ attempts? failed/)
    .first()
    .waitFor();
  const content = await viewer.page.content();
  for (const secret of ["s3cret", "127.0.0.1:1", "refused"])
    assert.ok(!content.includes(secret), `a viewer sees ${secret}`);
  await viewer.page.goto(`${server.url}/overview`);
  await viewer.page.locator("section[aria-label=store]").waitFor();
  await countIs(viewer.page.locator("section[aria-label='endpoints that fail']"), 0);
  await viewer.close();
});

test("the overview names endpoints that fail, since when and how much waits, until they are back", async () => {
  status = 503;
  const id = await ask("4712");
  await settled(id);
  const { page, close } = await open(browser, server, `/gates/${id}`);
  const life = page.locator("ol[aria-label='what happened']");
  await life.getByText("Nobody was told yet").waitFor();
  await life.getByText(/ops \(webhook\): not told, \d+ attempts? failed: the receiver answered 503/).waitFor();
  await page.goto(`${server.url}/overview`);
  const failing = page.locator("section[aria-label='endpoints that fail']");
  const ops = failing.locator("li", { hasText: "ops" });
  await ops.getByText("1 delivery waits").waitFor();
  await textIs(ops, /retrying\s+\d+ attempts? failed, the first .*\s+the receiver answered 503/s);
  await failing.locator("li", { hasText: "pager" }).getByText("2 deliveries wait").waitFor();
  await picture(page, "failing");
  status = 200;
  await ops.waitFor({ state: "detached" });
  await failing.getByRole("link", { name: "settings" }).click();
  await page.locator("section[aria-label='webhook pager']").waitFor();
  await page.goto(`${server.url}/gates/${id}`);
  await life.getByText(/ops \(webhook\): told .*, after \d+ attempts/).waitFor();
  await close();
});
