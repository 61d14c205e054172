// Runs the browser tests, or the files that are named. A file in which a test failed is run once more,
// alone: what fails again is a fault, what does not is printed as one that depends on time. Where more than
// three files fail, nothing is tried again.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile } from "node:fs/promises";

const failed = "build/failed-tests.txt";
const most = 3;

/** run runs files, so many at once. It says whether all passed, and in which files a test failed. */
async function run(files, atOnce) {
  const reporters = [
    ...["--test-reporter=tap", "--test-reporter-destination=stdout"],
    ...["--test-reporter=./browser/failed.mjs", `--test-reporter-destination=${failed}`],
  ];
  const limits = [`--test-concurrency=${atOnce}`, "--test-force-exit", "--test-timeout=600000"];
  const tests = spawn(process.execPath, ["--test", ...limits, ...reporters, ...files], { stdio: "inherit" });
  const stop = () => tests.kill();
  process.once("SIGTERM", stop);
  const [code] = await once(tests, "exit");
  process.off("SIGTERM", stop);
  return { passed: code === 0, files: [...new Set((await readFile(failed, "utf8")).split("\n").filter(Boolean))] };
}

await mkdir("build", { recursive: true });
const named = process.argv.slice(2);
const all = (await readdir("browser")).filter((f) => f.endsWith(".test.mjs")).map((f) => `browser/${f}`);
const first = await run(named.length > 0 ? named : all.sort(), 2);
let passed = first.passed;
if (!passed && first.files.length > 0 && first.files.length <= most) {
  const files = first.files.join(" ");
  console.log(`\nFAILED, and is run once more: ${files}\n`);
  ({ passed } = await run(first.files, 1));
  if (passed) console.log(`\nDEPENDS ON TIME, failed once and passed once: ${files}`);
}
process.exitCode = passed ? 0 : 1;
