// Draws the figures of the documentation that have no picture yet, in both themes: Mermaid in Chromium.
// "make figures" calls it with what tools/docs lists, and with the directory of the pictures.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [list, directory] = process.argv.slice(2);
const figures = JSON.parse(await readFile(list, "utf8"));

// The colours of ui/web/src/styles/tokens.css.
const themes = {
  light: { page: "#f7f7f5", ground: "#ffffff", sunk: "#f1f1ee", line: "#8b8f96", border: "#c4c4bf", ink: "#17181a", ink2: "#55595f", note: "#fdf3e0" },
  dark: { page: "#101112", ground: "#17181a", sunk: "#1e2022", line: "#7b8088", border: "#4a4d52", ink: "#ececee", ink2: "#a6aab0", note: "#33270f" },
};

const variables = (c) => ({
  background: "transparent",
  fontFamily: "Inter, Helvetica Neue, Arial, sans-serif",
  fontSize: "14px",
  primaryColor: c.ground,
  primaryBorderColor: c.border,
  primaryTextColor: c.ink,
  secondaryColor: c.sunk,
  secondaryBorderColor: c.border,
  secondaryTextColor: c.ink,
  tertiaryColor: c.sunk,
  tertiaryBorderColor: c.border,
  tertiaryTextColor: c.ink2,
  lineColor: c.line,
  textColor: c.ink,
  edgeLabelBackground: c.sunk,
  clusterBkg: c.sunk,
  clusterBorder: c.border,
  titleColor: c.ink2,
  noteBkgColor: c.note,
  noteBorderColor: c.border,
  noteTextColor: c.ink,
  actorBkg: c.ground,
  actorBorder: c.border,
  actorTextColor: c.ink,
  actorLineColor: c.border,
  signalColor: c.line,
  signalTextColor: c.ink,
  labelBoxBkgColor: c.sunk,
  labelBoxBorderColor: c.border,
  labelTextColor: c.ink2,
  loopTextColor: c.ink2,
  activationBkgColor: c.sunk,
  activationBorderColor: c.border,
  transitionColor: c.line,
  transitionLabelColor: c.ink2,
  stateLabelColor: c.ink,
  commitLabelColor: c.ink,
  commitLabelBackground: c.sunk,
  commitLabelFontSize: "12px",
  tagLabelColor: c.ink,
  tagLabelBackground: c.sunk,
  tagLabelBorder: c.border,
  git0: c.ink2,
  git1: "#6b43c9",
  git2: "#1d5fd1",
  gitBranchLabel0: c.ground,
  gitBranchLabel1: "#ffffff",
  gitBranchLabel2: "#ffffff",
});

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage();
await page.setContent("<!doctype html><body></body>");
await page.addScriptTag({ path: new URL("node_modules/mermaid/dist/mermaid.min.js", import.meta.url).pathname });
for (const f of figures) {
  for (const [theme, colours] of Object.entries(themes)) {
    const draw = page.evaluate(
      async ([source, id, themeVariables, themeCSS]) => {
        mermaid.initialize({
          startOnLoad: false,
          theme: "base",
          themeVariables,
          themeCSS,
          htmlLabels: false,
          flowchart: { htmlLabels: false, curve: "basis", padding: 10, nodeSpacing: 28, rankSpacing: 36, useMaxWidth: false },
          sequence: { useMaxWidth: false, mirrorActors: false, wrap: true, width: 130, actorMargin: 40 },
          state: { useMaxWidth: false },
          gitGraph: { useMaxWidth: false },
          deterministicIds: true,
        });
        const made = (await mermaid.render(id, source)).svg;

        // What Mermaid writes for figures of all kinds is left out where this one has none of it.
        document.body.innerHTML = made;
        const svg = document.querySelector("svg");
        const style = svg.querySelector("style");
        const rules = [];
        for (const rule of style.sheet.cssRules) {
          if (rule.selectorText === undefined) continue;
          const used = rule.selectorText.split(/,\s*/).filter((s) => document.querySelector(s.replace(/:[a-z-]+(\([^)]*\))?/g, "") || "*"));
          const body = rule.style.cssText.replace(/animation[^;]*;/g, "").trim();
          if (used.length && body) rules.push(`${used.join(",")}{${body.replace(/: /g, ":").replace(/; /g, ";")}}`);
        }
        style.textContent = rules.join("");
        for (const e of svg.querySelectorAll("marker, filter, symbol, linearGradient")) {
          if (!made.includes(`#${e.id})`) && !made.includes(`"#${e.id}"`)) e.remove();
        }
        for (const e of svg.querySelectorAll("*")) {
          for (const name of ["d", "points", "transform", "x", "y", "width", "height", "x1", "x2", "y1", "y2", "cx", "cy"]) {
            const value = e.getAttribute(name);
            if (value) e.setAttribute(name, value.replace(/-?\d+\.\d+/g, (n) => String(Math.round(Number(n) * 10) / 10)));
          }
          for (const name of [...e.getAttributeNames()]) if (name.startsWith("data-") || name.startsWith("aria-")) e.removeAttribute(name);
        }
        return new XMLSerializer().serializeToString(svg);
      },
      [f.source, "f", variables(colours), `.edgeLabel rect { opacity: 1; fill: ${colours.page}; }`],
    );
    const svg = await draw.catch((err) => {
      throw new Error(`${f.name} cannot be drawn: ${err.message}`);
    });
    await writeFile(join(directory, `${f.name}.${theme}.svg`), `<!-- made of ${f.digest} -->\n${svg}\n`);
    console.log(`${f.name}.${theme}.svg`);
  }
}
await browser.close();
