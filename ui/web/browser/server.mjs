// The real binary with its made-up week, and a browser. What a page reports as an error, or refuses by
// the policy, fails the test that saw it.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const binary = process.env.PAGE_BINARY ?? "../../bin/posthouse";
const executablePath = process.env.POSTHOUSE_CHROMIUM ?? "/usr/bin/chromium";

/** start serves the made-up week, or a directory, and resolves once it answers. */
export async function start(args = ["--demo"], addr = "127.0.0.1:0") {
  const child = spawn(binary, ["dev", "--addr", addr, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const kill = () => child.kill("SIGKILL"); // a test that fails stops nothing
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  const said = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, value] = /^(API|Log in|Token file) +(\S+)/.exec(line) ?? [];
    if (name) said[name] = value;
    if (line.startsWith("next:")) break;
  }
  child.stdout.resume();
  assert.ok(said.API, "the server did not say where it is");
  const stop = async (signal = "SIGTERM") => {
    child.kill(signal);
    if (child.exitCode !== null || child.signalCode !== null) return;
    await once(child, "exit", { signal: AbortSignal.timeout(60_000) });
  };
  return {
    url: said.API.replace(/\/api$/, ""),
    link: said["Log in"],
    token: (await readFile(said["Token file"], "utf8")).trim(),
    dir: dirname(said["Token file"]),
    stop,
  };
}

export const launch = () =>
  chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"], handleSIGTERM: false });

// A file of tests that takes too long is terminated: what it started goes with it.
process.once("SIGTERM", () => process.exit(1));

/** person makes a token of a role for somebody else than the operator, and returns it. */
export async function person(server, role, name = `a-${role}`) {
  const answer = await fetch(`${server.url}/api/tokens`, {
    method: "POST",
    headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name, role }),
  });
  assert.equal(answer.status, 201, await answer.clone().text());
  await promisify(execFile)(binary, ["token", "confirm", name, "--data-dir", server.dir]);
  return (await answer.json()).token;
}

/** call calls the API, as who has a token. */
export async function call(server, method, path, body, token = server.token) {
  const answer = await fetch(`${server.url}/api${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  assert.ok(answer.ok, text);
  return text && JSON.parse(text);
}

/** questionOf returns the question that a thread waits with. */
export async function questionOf(server, thread) {
  for (const until = Date.now() + 30_000; Date.now() < until; await new Promise((done) => setTimeout(done, 50))) {
    const found = (await call(server, "GET", `/gates?state=open&thread=${thread}`)).items[0];
    if (found) return found;
  }
  assert.fail(`${thread} asks nothing`);
}

/** linkTo makes a link by which a person decides a question, and returns its path. */
export async function linkTo(server, gate, name, by, expiresAt) {
  const { token } = await call(server, "POST", `/gates/${gate.id}/token`, { for: name, expiresAt }, by);
  return `/decide/${gate.id}#${token}`;
}

/** open logs in and opens a page. The page's errors are those that the test ends with. */
export async function open(browser, server, path, { token = server.token, ...options } = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (e) => errors.push(e.message));
  page.on("console", (m) => {
    const refused = /Content Security Policy/.test(m.text());
    if (refused || (m.type() === "error" && !/ERR_|status of (4|5)\d\d/.test(m.text()))) errors.push(m.text());
  });
  const form = { headers: { Origin: server.url }, form: { token }, maxRedirects: 0 };
  const login = await context.request.post(`${server.url}/login`, form);
  assert.equal(login.status(), 303, await login.text());
  await page.goto(server.url + path);
  return {
    page,
    /** close ends the test's page, and fails with what went wrong on it. */
    async close() {
      // What the page asked for and a test holds back is of no use any more.
      for (const p of context.pages()) await p.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
      assert.deepEqual(errors, []);
    },
  };
}

/** eventually tries what is asserted of a page until it holds, and fails as the last try after ten seconds. */
export async function eventually(holds) {
  for (const until = Date.now() + 10_000; ; await new Promise((done) => setTimeout(done, 50)))
    try {
      return await holds();
    } catch (e) {
      if (Date.now() > until) throw e;
    }
}

/** textIs waits until a part of a page reads so: parts of a page come when their answers do. */
export const textIs = (part, text, ...message) =>
  eventually(async () => {
    const read = await part.innerText({ timeout: 10_000 });
    if (text instanceof RegExp) assert.match(read, text, ...message);
    else assert.equal(read, text, ...message);
  });

/** countIs waits until a page has so many of something. */
export const countIs = (parts, count, ...message) =>
  eventually(async () => assert.equal(await parts.count(), count, ...message));

/** wrongClock has the device of a page go wrong by so many milliseconds, from its next load on. */
export const wrongClock = (page, ms) =>
  page.addInitScript((by) => {
    const real = (globalThis.rightDate ??= Date);
    globalThis.Date = class extends real {
      constructor(...of) {
        super(...(of.length > 0 ? of : [real.now() + by]));
      }
      static now = () => real.now() + by;
    };
  }, ms);

/** pass lets so many milliseconds pass: on the device of a page, and in what the server tells it of the time. */
export async function pass(page, ms) {
  const moved = (date) => new Date(Date.parse(date) + ms).toUTCString();
  await page.unroute(/\/api\/(?!events)/);
  await page.route(/\/api\/(?!events)/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, headers: { ...response.headers(), date: moved(response.headers().date) } });
  });
  await page.evaluate((by) => {
    globalThis.elapsed ??= performance.now.bind(performance);
    performance.now = () => globalThis.elapsed() + by;
  }, ms);
}

const pictures = process.env.PAGE_PICTURES;

/** picture writes a picture of a page for a person to look at, if a directory for them is named. */
export async function picture(page, name) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${name} scrolls sideways by ${wide} pixels`);
  if (!pictures) return;
  await mkdir(pictures, { recursive: true });
  await page.screenshot({ path: `${pictures}/${name}.png` });
}
