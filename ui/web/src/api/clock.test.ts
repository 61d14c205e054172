import { expect, test } from "vitest";
import { clock } from "./clock";

const day = 86_400_000;
const noon = Date.parse("2026-11-27T12:00:00Z");
const date = (at: number) => new Date(at).toUTCString();

/** world is a server, an elapsed time, and a clock that is off. */
function world(off: number) {
  let ran = 1234.5;
  const server = () => noon + ran;
  const c = clock(() => ran, noon + off);
  return {
    ...c,
    server,
    wait: (ms: number) => (ran += ms),
    /** ask has an answer, half way between. */
    ask(takes: number, wrong = 0) {
      const sent = ran;
      ran += takes / 2;
      const said = date(server() + wrong);
      ran += takes / 2;
      c.hear(said, sent);
    },
  };
}

test("a right clock is left as it is", () => {
  const w = world(0);
  w.ask(80);
  expect(w.now()).toBe(Math.floor(w.server()));
  expect(w.off()).toBe(0);
});

test("a clock that is days off says the server's time after one answer", () => {
  for (const off of [3 * day, -3 * day, 90_000, -90_000]) {
    const w = world(off);
    w.ask(80);
    expect(Math.abs(w.now() - w.server())).toBeLessThan(541);
    expect(Math.abs(w.off() - off)).toBeLessThan(541);
  }
});

test("more answers make it better, and slow ones do not make it worse", () => {
  const w = world(-day);
  for (let i = 0; i < 40; i++) {
    w.ask(20);
    w.wait(137);
  }
  const good = Math.abs(w.now() - w.server());
  expect(good).toBeLessThan(160);
  w.ask(30_000);
  expect(Math.abs(w.now() - w.server())).toBeLessThanOrEqual(good + 1);
});

test("it does not run back while it learns", () => {
  const w = world(700);
  let last = w.now();
  for (let i = 0; i < 50; i++) {
    w.ask(10);
    w.wait(45);
    expect(w.now()).toBeGreaterThanOrEqual(last);
    last = w.now();
  }
});

test("an answer of a moved clock replaces the earlier ones, and no date says nothing", () => {
  const w = world(0);
  w.ask(20);
  w.ask(20, day);
  expect(Math.abs(w.now() - w.server() - day)).toBeLessThan(1021);
  w.ask(20);
  expect(Math.abs(w.now() - w.server())).toBeLessThan(1021);
  w.hear(null, 0);
  w.hear("yesterday", 0);
  expect(Math.abs(w.now() - w.server())).toBeLessThan(1021);
});

test("no other file asks this device for the time", () => {
  const sources = import.meta.glob<string>("../**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });
  const asks = Object.keys(sources).filter((f) => /\bDate\.now\b|new Date\(\)/.test(sources[f] ?? ""));
  expect(asks.filter((f) => !f.endsWith(".test.ts"))).toEqual(["./clock.ts"]);
  expect(Object.keys(sources).length).toBeGreaterThan(200);
});
