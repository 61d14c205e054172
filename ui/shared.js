// What the inbox and the page of a gate share. All text enters a page by
// textContent, never as HTML.
"use strict";

const byId = (id) => document.getElementById(id);
const part = (card, name) => card.querySelector(`[data-is="${name}"]`);

// put shows a text. What people would not see in it is marked: nothing else in the pages'
// scripts writes what others wrote.
function put(element, text) {
  element.textContent = hidden.marked(text);
}

// warn says what is hidden in texts; without anything hidden it says nothing.
function warn(element, ...texts) {
  put(element, hidden.warning(...texts));
  element.hidden = element.textContent === "";
}

const gatePage = (id) => `/gates/${encodeURIComponent(id)}`;

// call asks the server and returns what it answered, and as tree the same as
// exact reads it; a problem is thrown. The body is JSON text.
async function call(path, body) {
  const options = { headers: { Accept: "application/json" } };
  if (body !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = body;
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw { detail: "the server cannot be reached", hint: "what was decided stays decided; try again" };
  }
  const text = await answer.text();
  const data = JSON.parse(text);
  if (answer.status === 401) {
    if (globalThis.unsent?.()) {
      throw { detail: "You are logged out; what you typed is kept on this page", hint: "log in at /login in another tab, then go on here" };
    }
    location.assign("/login?next=" + encodeURIComponent(location.pathname + location.search + location.hash));
  }
  if (!answer.ok) {
    throw data;
  }
  return { status: answer.status, data, tree: exact.read(text), next: answer.headers.get("X-Next-Cursor") };
}

function told(problem) {
  const text = problem.detail || problem.title || String(problem);
  return problem.hint ? `${text} (${problem.hint})` : text;
}

const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

function ago(date) {
  const seconds = (date - Date.now()) / 1000;
  const [unit, size] = units.find(([, s]) => Math.abs(seconds) >= s) || units[3];
  return relative.format(Math.round(seconds / size), unit);
}

function setTime(element, stamp, otherwise) {
  element.dateTime = stamp || "";
  element.title = stamp ? new Date(stamp).toString() : "";
  put(element, stamp ? ago(new Date(stamp)) : otherwise);
}

// showJSON shows a value; one that is not there is hidden.
function showJSON(element, node) {
  element.hidden = node === undefined;
  put(element, node ? exact.pretty(node) : "");
}

const powers = {
  viewer: "a viewer: you may read",
  approver: "an approver: you may read and decide",
  operator: "an operator: you may do everything",
};

// introduce says who is logged in, what they may do, and whom the link was sent to if that is another.
async function introduce() {
  try {
    const { data } = await call("/api/me");
    const meant = new URLSearchParams(location.hash.slice(1)).get("for");
    const sent = meant && meant !== data.name ? `. This link was sent to ${meant}: you answer as yourself` : "";
    put(byId("me"), `${data.name}, ${powers[data.role] || data.role}${sent}`);
  } catch { /* refresh says what is wrong */ }
}

// whyAgain says why a gate asks in the place of another; before is what that showed.
function whyAgain(gate, before) {
  return before?.changed ? "Asked again: what is asked has changed." : `Asked again, in the place of ${gate.supersedes}.`;
}

// showChanges shows how what is asked differs from what was asked before: a line for
// what was, a line for what is. paths is before.paths as exact reads it.
function showChanges(box, gate, before, paths) {
  const lines = [];
  const changed = (was, is) => {
    for (const [mark, name, text] of [["-", "del", was], ["+", "ins", is]]) {
      if (text) {
        lines.push([name, text.split("\n").map((line) => `${mark} ${line}`).join("\n")]);
      }
    }
  };
  const shown = (path, side) => { const node = exact.member(path, side); return node && exact.pretty(node); };
  if (before?.changed) {
    if ((before.text || "") !== (gate.text || "")) {
      changed(before.text, gate.text);
    }
    for (const path of paths?.items || []) {
      const where = exact.member(path, "path");
      lines.push(["span", where ? JSON.parse(where.source) : ""]);
      changed(shown(path, "a"), shown(path, "b"));
    }
    if (before.more) {
      lines.push(["span", `and ${before.more} changes more`]);
    }
  }
  box.hidden = lines.length === 0;
  box.replaceChildren(...lines.filter(([, text]) => text).flatMap(([name, text]) => {
    const line = document.createElement(name);
    put(line, text);
    return [line, "\n"];
  }));
}

// requesters says whose request a gate is, and what each of them changed.
function requesters(gate) {
  const all = gate.requesters || [];
  const names = [...new Set([gate.requestedBy, ...all.map((r) => r.name)])].filter(Boolean);
  return names.map((name) => {
    const did = all.filter((r) => r.name === name).map((r) => [r.how, ...(r.what || [])].join(" "));
    return did.length ? `${name} (${did.join("; ")})` : name;
  }).join(", ") || "the program";
}
