// Makes src/styles/inter.woff2: npm run fonts. Inter as published has weights from 100 to 900 and
// features of print. The page has three weights and tabular figures, in half the bytes.

import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import subset from "subset-font";

const from = createRequire(import.meta.url).resolve("@fontsource-variable/inter/files/inter-latin-wght-normal.woff2");

// The characters of unicode-range in fonts.css.
const ranges = [
  [0x20, 0x7e],
  [0xa0, 0xff],
  [0x131, 0x131],
  [0x152, 0x153],
  [0x2c6, 0x2c6],
  [0x2da, 0x2da],
  [0x2dc, 0x2dc],
  [0x2013, 0x2014],
  [0x2018, 0x201a],
  [0x201c, 0x201e],
  [0x2022, 0x2022],
  [0x2026, 0x2026],
  [0x2039, 0x203a],
  [0x20ac, 0x20ac],
  [0x2122, 0x2122],
  [0x2190, 0x2193],
  [0x2212, 0x2212],
  [0xfffd, 0xfffd],
];
const text = ranges
  .flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => String.fromCodePoint(first + i)))
  .join("");

const font = await subset(await readFile(from), text, {
  targetFormat: "woff2",
  variationAxes: { wght: { min: 400, max: 600, default: 400 } },
  keepFeatures: ["calt", "ccmp", "kern", "locl", "tnum"],
});
await writeFile("src/styles/inter.woff2", font);
console.log(`${font.length} bytes`);
