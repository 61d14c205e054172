// Makes the fonts of Latin texts in src/styles: npm run fonts. As published they have weights and features of
// print. The page has three weights of Inter and one of Plex Mono, in half the bytes. The licence of Plex keeps its
// name for the unchanged font, so the changed one is PosthouseMono.

import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { convert } from "fontverter";
import subset from "subset-font";

const resolve = createRequire(import.meta.url).resolve;

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

/** renamed returns a font with another name, of the same length, wherever its tables say the old one. */
function renamed(font, from, to) {
  const wide = (s) => Buffer.from(s, "utf16le").swap16();
  for (const [old, name] of [
    [Buffer.from(from), Buffer.from(to)],
    [wide(from), wide(to)],
  ])
    for (let at = font.indexOf(old); at >= 0; at = font.indexOf(old, at)) name.copy(font, at);
  return font;
}

async function make(file, name, options, rename = (font) => font) {
  const small = await subset(await readFile(resolve(file)), text, { targetFormat: "truetype", ...options });
  const font = await convert(rename(Buffer.from(small)), "woff2");
  await writeFile(`src/styles/${name}.woff2`, font);
  console.log(`${font.length} bytes of ${name}`);
}

// Without calt: it draws -> as an arrow, and what programs wrote is shown as they wrote it.
await make("@fontsource-variable/inter/files/inter-latin-wght-normal.woff2", "inter", {
  variationAxes: { wght: { min: 400, max: 600, default: 400 } },
  noHinting: true,
  keepFeatures: ["ccmp", "kern", "locl", "tnum"],
});
await make(
  "@fontsource/ibm-plex-mono/files/ibm-plex-mono-latin-400-normal.woff2",
  "mono",
  { keepFeatures: ["ccmp", "locl", "mark"], noHinting: true },
  (font) => renamed(renamed(font, "IBM Plex Mono", "PosthouseMono"), "IBMPlexMono", "PosthouseMo"),
);
