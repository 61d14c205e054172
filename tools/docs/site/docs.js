"use strict";

const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const make = (tag, attributes = {}, ...inside) => {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...inside);
  return e;
};

// Theme: that of the system, or the one that was chosen.
const root = document.documentElement;
const themes = ["system", "light", "dark"];
const themeButton = document.querySelector("button.theme");
const sayTheme = () => {
  const now = root.dataset.theme ?? "system";
  themeButton.title = `Theme: ${now}`;
  themeButton.setAttribute("aria-label", `Theme: ${now}`);
};
themeButton.addEventListener("click", () => {
  const next = themes[(themes.indexOf(root.dataset.theme ?? "system") + 1) % themes.length];
  if (next === "system") delete root.dataset.theme;
  else root.dataset.theme = next;
  localStorage.setItem("theme", next);
  sayTheme();
});
sayTheme();

// Contents on a narrow screen.
const menu = document.querySelector("button.menu");
const showContents = (open) => {
  root.toggleAttribute("data-contents", open);
  menu.setAttribute("aria-expanded", String(open));
};
menu.addEventListener("click", () => showContents(!root.hasAttribute("data-contents")));
document.querySelector(".contents [aria-current]")?.scrollIntoView({ block: "center" });
scrollTo({ top: 0 });

// Code: a button that copies it; of a console, the commands.
for (const pre of all("pre")) {
  const button = make("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    let text = pre.querySelector("code").textContent;
    if (pre.classList.contains("console")) {
      const typed = text.split("\n").filter((line) => line.startsWith("$ "));
      if (typed.length) text = typed.map((line) => line.slice(2)).join("\n");
    }
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed here";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  const box = make("div", { class: "code" });
  pre.replaceWith(box);
  box.append(pre, button);
}

// On a narrow screen each row of a table with many columns is a small list.
for (const box of all(".scroll")) {
  const labels = all("thead tr > *", box).map((th) => th.textContent);
  if (labels.length < 3) continue;
  box.classList.add("stack");
  for (const row of all("tbody tr", box)) {
    [...row.children].forEach((td, i) => {
      td.dataset.label = labels[i] ?? "";
      const inside = make("span");
      inside.append(...td.childNodes);
      td.append(inside);
    });
  }
}

// What is wider than the page scrolls, also by the keyboard.
const reach = () => {
  for (const e of all("pre, .scroll, figure")) {
    if (e.scrollWidth > e.clientWidth) {
      e.tabIndex = 0;
      if (e.tagName !== "PRE") {
        e.setAttribute("role", "group");
        e.setAttribute("aria-label", e.tagName === "FIGURE" ? "Figure, wider than the page" : "Table, wider than the page");
      }
    } else e.removeAttribute("tabindex");
  }
};
reach();
addEventListener("resize", reach);

// Headings lead to themselves.
const headings = all("article :is(h2, h3, h4)[id]");
const titles = new Map(headings.map((h) => [h, h.textContent]));
for (const h of headings) h.append(make("a", { class: "anchor", href: `#${h.id}`, "aria-label": `Link to ${h.textContent}` }, "#"));

// A list of the headings stands at the side, and where one reads is marked in it.
const here = new Map();
if (headings.length > 1) {
  const list = make("ul");
  for (const h of headings) {
    if (h.tagName === "H4") continue;
    const link = make("a", { href: `#${h.id}` }, titles.get(h));
    const item = make("li", {}, link);
    const above = list.lastElementChild;
    if (h.tagName === "H2" || !above) list.append(item);
    else {
      if (above.children.length < 2) above.append(make("ul"));
      above.children[1].append(item);
    }
    here.set(h.id, link);
  }
  const aside = make("aside", { class: "here", "aria-label": "On this page" }, make("p", {}, "On this page"), list);
  document.querySelector(".frame").append(aside);
  const mark = () => {
    let now = null;
    for (const h of headings) {
      if (!here.has(h.id)) continue;
      if (h.getBoundingClientRect().top > 120) break;
      now = here.get(h.id);
    }
    for (const a of here.values()) a.removeAttribute("aria-current");
    for (const li of all(".here li.open")) li.classList.remove("open");
    if (!now) return;
    now.setAttribute("aria-current", "location");
    now.closest(".here > ul > li").classList.add("open");
    const box = document.querySelector(".here");
    const top = now.offsetTop;
    if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 40) box.scrollTop = top - box.clientHeight / 2;
  };
  let waits = false;
  addEventListener("scroll", () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      mark();
    });
  });
  mark();
}

// Search.
const input = make("input", {
  type: "search",
  placeholder: "A command, a flag, a word",
  "aria-label": "Search the documentation",
  role: "combobox",
  "aria-expanded": "false",
  "aria-controls": "found",
  autocomplete: "off",
  spellcheck: "false",
});
const found = make("ul", { id: "found", role: "listbox", "aria-label": "Found" });
const said = make("p", { role: "status" });
const dialog = make("dialog", { class: "search", "aria-label": "Search" }, input, said, found);
document.body.append(dialog);
let index = null;
let chosen = 0;

async function load() {
  if (index) return;
  const answer = await fetch("/docs/assets/search.json");
  const read = await answer.json();
  read.list = read.words.split("\n").map((line) => {
    const [word, ...deltas] = line.split(" ");
    return { word, deltas };
  });
  index = read;
}

// placesOf returns the sections with a word, each with how well it fits there.
function placesOf(term) {
  const places = new Map();
  for (const { word, deltas } of index.list) {
    if (!word.startsWith(term)) continue;
    const fits = word === term ? 3 : 1 + term.length / word.length;
    let at = 0;
    for (const d of deltas) {
      at += parseInt(d, 36);
      places.set(at, Math.max(places.get(at) ?? 0, fits));
    }
  }
  return places;
}

// weights are of sections of the contents that are long, and seldom what is looked for.
const weights = { Reference: 0.6, Extend: 0.5 };

function search(text) {
  const terms = text
    .toLowerCase()
    .split(/[^\p{L}\p{N}_]+/u)
    .filter((t) => t.length > 1);
  if (!terms.length) return [];
  let scores = null;
  for (const term of terms) {
    const places = placesOf(term);
    if (!places.size && terms.length > 1) continue; // a word that is nowhere
    const next = new Map();
    for (const [at, fits] of places) if (!scores || scores.has(at)) next.set(at, (scores?.get(at) ?? 0) + fits);
    scores = next;
  }
  const whole = text.toLowerCase().trim();
  return [...(scores ?? new Map())]
    .map(([at, score]) => {
      const [page, anchor, heading] = index.sections[at];
      const [name, , section] = index.pages[page];
      const title = heading.toLowerCase();
      for (const t of terms) {
        if (title.includes(t)) score += 6;
        if (name.toLowerCase().includes(t)) score += anchor ? 1 : 6;
      }
      if (title === whole || title.endsWith(` ${whole}`)) score += 12;
      return { at, score: score * (weights[section] ?? 1) };
    })
    .sort((a, b) => b.score - a.score || a.at - b.at)
    .slice(0, 20);
}

function choose(n) {
  const options = all("a", found);
  if (!options.length) return input.removeAttribute("aria-activedescendant");
  chosen = (n + options.length) % options.length;
  options.forEach((o, i) => o.setAttribute("aria-selected", String(i === chosen)));
  input.setAttribute("aria-activedescendant", options[chosen].id);
  options[chosen].scrollIntoView({ block: "nearest" });
}

function show() {
  if (!index) return;
  const results = search(input.value);
  found.replaceChildren(
    ...results.map(({ at }, i) => {
      const [page, anchor, heading, begins] = index.sections[at];
      const [name, address, section] = index.pages[page];
      const link = make("a", { href: anchor ? `${address}#${anchor}` : address, id: `found-${i}`, role: "option", tabindex: "-1" });
      link.append(make("strong", {}, heading), make("span", { class: "where" }, anchor ? `${section} › ${name}` : section));
      if (begins) link.append(make("span", { class: "begins" }, begins));
      return make("li", { role: "presentation" }, link);
    }),
  );
  input.setAttribute("aria-expanded", String(results.length > 0));
  said.textContent = input.value.trim().length < 2 ? "" : results.length ? `${results.length === 20 ? "20 or more" : results.length} found` : `Nothing is found for “${input.value.trim()}”`;
  choose(0);
}

async function open() {
  if (!dialog.open) dialog.showModal();
  input.select();
  try {
    await load();
    show();
  } catch {
    said.textContent = "The index cannot be read: the server does not answer";
  }
}

document.querySelector("button.find").addEventListener("click", open);
input.addEventListener("input", show);
input.addEventListener("keydown", (e) => {
  if (e.key === "ArrowDown" || e.key === "ArrowUp") {
    e.preventDefault();
    choose(chosen + (e.key === "ArrowDown" ? 1 : -1));
  } else if (e.key === "Enter") {
    all("a", found)[chosen]?.click();
  }
});
found.addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (e) => e.target === dialog && dialog.close());
addEventListener("keydown", (e) => {
  const typing = e.target.closest?.("input, textarea, select");
  if ((e.key === "/" && !typing && !e.ctrlKey && !e.metaKey) || (e.key === "k" && (e.ctrlKey || e.metaKey))) {
    e.preventDefault();
    open();
  } else if (e.key === "Escape") showContents(false);
});
