// How fast a thread of 10,000 checkpoints on 41 branches is shown and scrolled. It asserts nothing:
//
//	go run ./internal/proof/crowd/fill /tmp/crowd/posthouse.db
//	bin/posthouse dev --data-dir /tmp/crowd --addr 127.0.0.1:8095
//	node ui/web/browser/bench.mjs http://127.0.0.1:8095 "$(cat /tmp/crowd/token)"

import { chromium } from "playwright-core";

const [url = "http://127.0.0.1:8095", token = "", thread = "long"] = process.argv.slice(2);
const executablePath = process.env.POSTHOUSE_CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
await page.goto(`${url}/login?next=/`);
await page.fill("#token", token);
await Promise.all([page.waitForURL((u) => u.pathname === "/"), page.click("form button.primary")]);
await page.waitForLoadState("networkidle").catch(() => {});

const quantile = (list, q) => list.toSorted((a, b) => a - b)[Math.floor((list.length - 1) * q)];

const first = [];
for (let i = 0; i < 5; i++) {
  await page.goto(`${url}/threads/${encodeURIComponent(thread)}`);
  first.push(
    await page.evaluate(
      () =>
        new Promise((done) => {
          const look = () => {
            if (document.querySelector("[data-rows] li")) requestAnimationFrame(() => done(performance.now()));
            else requestAnimationFrame(look);
          };
          look();
        }),
    ),
  );
}
console.log(
  `first rows ${Math.round(quantile(first, 0.5))} ms after the address was asked for (median of ${first.length})`,
);
await page.waitForFunction(() => !document.body.innerText.includes("loading what was before"));
console.log(`all rows ${Math.round(await page.evaluate(() => performance.now()))} ms`);

const cdp = await page.context().newCDPSession(page);
await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
const spent = async () =>
  Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value * 1000]));

for (const speed of [32, 200, 2000]) {
  const before = await spent();
  const deltas = await page.evaluate(
    (by) =>
      new Promise((done) => {
        const list = document.querySelector("[data-rows]");
        const deltas = [];
        list.scrollTop = 0;
        let last = performance.now();
        const frame = (now) => {
          deltas.push(now - last);
          last = now;
          list.scrollTop += by;
          if (deltas.length < 300 && list.scrollTop + list.clientHeight < list.scrollHeight - 1)
            requestAnimationFrame(frame);
          else done(deltas.slice(2));
        };
        requestAnimationFrame(frame);
      }),
    speed,
  );
  const after = await spent();
  const each = (name) => ((after[name] - before[name]) / deltas.length).toFixed(1);
  const mean = deltas.reduce((a, b) => a + b, 0) / deltas.length;
  console.log(
    `scrolling by ${speed} pixels a frame: ${(1000 / mean).toFixed(0)} frames a second, ` +
      `${quantile(deltas, 0.95).toFixed(1)} ms at 95 %, ${Math.max(...deltas).toFixed(1)} ms at most, of ${deltas.length}; ` +
      `of the main thread ${each("TaskDuration")} ms a frame: scripts ${each("ScriptDuration")}, styles ${each("RecalcStyleDuration")}, layout ${each("LayoutDuration")}`,
  );
}
await browser.close();
