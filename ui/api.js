// The page that describes the API, made of /openapi.json: paths, schemas, and a form to try each path.
// All text enters the page by textContent. A token is kept in its field only.
"use strict";
(() => {
const byId = (id) => document.getElementById(id);
const LONGEST = 256 * 1024; // characters of an answer that are shown
let api;

// make returns an element with a text or with children.
function make(name, more, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(more || {})) {
    if (value !== undefined && value !== false) {
      element.setAttribute(key, value === true ? "" : value);
    }
  }
  for (const child of children) {
    if (child !== undefined && child !== null) {
      element.append(typeof child === "string" ? hidden.marked(child) : child);
    }
  }
  return element;
}

// deref follows a reference inside of the description.
function deref(thing) {
  for (let steps = 0; thing?.$ref && steps < 10; steps++) {
    thing = thing.$ref.replace(/^#\//, "").split("/").reduce((at, key) => at?.[key.replace(/~1/g, "/").replace(/~0/g, "~")], api);
  }
  return thing || {};
}

const nameOf = (schema) => schema?.$ref?.split("/").pop();
const anchor = (name) => "schema-" + name;

// typeOf names a schema in a line: a link if it has a name.
function typeOf(schema) {
  const name = nameOf(schema);
  if (name) {
    const link = make("a", { href: "#" + anchor(name) }, name);
    link.addEventListener("click", () => open(anchor(name)));
    return link;
  }
  if (schema?.type === "array") {
    return make("span", null, "list of ", typeOf(schema.items));
  }
  if (schema?.enum) {
    return make("span", null, schema.enum.join(" | "));
  }
  if (schema?.additionalProperties) {
    return make("span", null, "object of ", typeOf(schema.additionalProperties));
  }
  return make("span", null, [schema?.type || "any JSON", schema?.format].filter(Boolean).join(", "));
}

// members lists what a schema has.
function members(schema) {
  const list = make("dl", { class: "members" });
  const whole = deref(schema);
  for (const [name, member] of Object.entries(whole.properties || {})) {
    const needed = whole.required?.includes(name) ? "" : ", optional";
    list.append(make("div", null, make("dt", null, make("code", null, name), " "), make("dd", null, typeOf(member), needed, member.description ? ": " + member.description : "")));
  }
  return list.childElementCount ? list : make("p", { class: "hint" }, typeOf(schema));
}

// lazily fills a details element when it is opened first.
function lazily(details, fill) {
  details.addEventListener("toggle", () => {
    if (details.open && fill) {
      details.append(...fill());
      fill = undefined;
    }
  });
  return details;
}

function open(id) {
  const details = byId(id);
  if (details) {
    details.open = true;
  }
}

const slug = (method, path) => method + path.replace(/[^A-Za-z0-9]+/g, "-");

// operation is one path with one method.
function operation(method, path, op) {
  const details = make("details", { class: "operation", id: slug(method, path) });
  details.append(make("summary", null, make("span", { class: "verb " + method.toUpperCase() }, method.toUpperCase()), make("code", null, path), " ", op.summary || ""));
  details.dataset.words = [method, path, op.summary, ...(op.tags || [])].join(" ").toLowerCase();
  return lazily(details, () => {
    const parts = [make("p", null, make("span", { class: "tag" }, op["x-role"] || Object.keys(op.security?.[0] || {})[0] || "public"))];
    if (op.description) {
      parts.push(make("p", { class: "hint" }, op.description));
    }
    const body = op.requestBody?.content?.["application/json"];
    if (body) {
      parts.push(make("h3", null, "Body"), members(body.schema));
    }
    parts.push(make("h3", null, "Answers"));
    const answers = make("dl", { class: "members" });
    for (const [status, reference] of Object.entries(op.responses || {})) {
      const answer = deref(reference);
      const dd = make("dd", null, answer.description || "");
      for (const [media, content] of Object.entries(answer.content || {})) {
        dd.append(" ", media, " ", content.schema ? typeOf(content.schema) : "");
      }
      answers.append(make("div", null, make("dt", null, status + " "), dd));
    }
    parts.push(answers, form(method, path, op, body));
    return parts;
  });
}

let fields = 0;

// field is a labelled input of a parameter.
function field(parameter) {
  const schema = deref(parameter.schema), id = "field" + ++fields;
  const choices = schema.enum || (schema.type === "boolean" ? ["true", "false"] : undefined);
  let input;
  if (choices) {
    input = make("select", { id }, make("option", { value: "" }, ""), ...choices.map((c) => make("option", { value: c }, c)));
  } else {
    input = make("input", { id, spellcheck: "false", autocomplete: "off", required: parameter.in === "path" });
  }
  return { parameter, input, label: make("label", { for: id }, make("code", null, parameter.name), parameter.description ? " " + parameter.description : "", input) };
}

// form tries a path.
function form(method, path, op, body) {
  const all = (op.parameters || []).map(deref).map(field);
  const box = make("form", { class: "try" }, make("h3", null, "Try it"), ...all.map((f) => f.label));
  let text;
  if (body) {
    const id = "field" + ++fields;
    const example = body.example ?? {};
    text = make("textarea", { id, rows: "6", spellcheck: "false" });
    text.value = JSON.stringify(example, null, 2);
    box.append(make("label", { for: id }, "Body", text));
  }
  const send = make("button", { class: "primary" }, "Send " + method.toUpperCase());
  const stop = make("button", { type: "button", hidden: true }, "Stop");
  const status = make("p", { class: "hint", role: "status" });
  const answer = make("pre", { hidden: true, tabindex: "0", "aria-label": "Answer" });
  box.append(make("div", { class: "verdicts" }, send, stop), status, answer);
  box.addEventListener("submit", async (event) => {
    event.preventDefault();
    const control = new AbortController();
    const ended = () => { send.disabled = false; stop.hidden = true; };
    send.disabled = true;
    stop.hidden = false;
    stop.onclick = () => control.abort();
    status.textContent = "";
    answer.textContent = "";
    answer.hidden = true;
    try {
      await request(method, address(path, all), all, text?.value, control.signal, status, answer);
    } catch (error) {
      say(status, control.signal.aborted ? "stopped" : "no answer: " + error.message);
    }
    ended();
  });
  return box;
}

function say(element, text) {
  element.textContent = hidden.marked(text);
}

// address fills in the path and its query.
function address(path, all) {
  const query = new URLSearchParams();
  let filled = path;
  for (const { parameter, input } of all) {
    if (parameter.in === "path") {
      const value = input.value;
      if (value === "." || value === "..") { // no segment of a path can be one
        query.set(parameter.name === "id" ? "thread" : parameter.name, value);
      }
      filled = filled.replace(`{${parameter.name}}`, value === "." || value === ".." ? "-" : encodeURIComponent(value));
    } else if (parameter.in === "query" && input.value !== "") {
      query.set(parameter.name, input.value);
    }
  }
  return query.size ? filled + "?" + query : filled;
}

async function request(method, path, all, body, signal, status, answer) {
  const headers = { Accept: "application/json, text/event-stream, */*" }, token = byId("token").value.trim();
  for (const { parameter, input } of all) {
    if (parameter.in === "header" && input.value !== "") {
      headers[parameter.name] = input.value;
    }
  }
  if (token) {
    headers.Authorization = "Bearer " + token;
  }
  if (body) {
    headers["Content-Type"] = "application/json";
  }
  const began = performance.now();
  const got = await fetch(path, { method: method.toUpperCase(), headers, body: body || undefined, signal, redirect: "manual", credentials: token ? "omit" : "same-origin" });
  say(status, `${got.status} ${got.statusText}, ${Math.round(performance.now() - began)} ms, ${got.headers.get("Content-Type") || "no body"}: ${method.toUpperCase()} ${path}`);
  await show(got, answer);
}

// show writes an answer as it comes. JSON that is whole is indented, with its numbers as they are.
async function show(got, answer) {
  answer.hidden = false;
  const reader = got.body?.getReader(), decoder = new TextDecoder();
  let text = "";
  while (reader) {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    if (text.length > LONGEST) {
      await reader.cancel();
      say(answer, text.slice(0, LONGEST) + "\n(there is more)");
      return;
    }
    say(answer, text);
    if (done) {
      break;
    }
  }
  if (/json/.test(got.headers.get("Content-Type") || "")) {
    say(answer, indented(text));
  }
}

// indented breaks JSON into lines without reading it: a number stays what it is.
function indented(text) {
  let out = "", depth = 0;
  for (const token of text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/g) || []) {
    const line = "\n" + "  ".repeat(Math.max(depth, 0));
    if (token === "{" || token === "[") {
      depth++;
      out += token + "\n" + "  ".repeat(depth);
    } else if (token === "}" || token === "]") {
      depth--;
      const empty = /[{[]\s*$/.test(out);
      out = out.trimEnd() + (empty ? "" : "\n" + "  ".repeat(Math.max(depth, 0))) + token;
    } else if (token === ",") {
      out += token + line;
    } else {
      out += token === ":" ? ": " : token;
    }
  }
  return out;
}

// filter shows the paths that have all words.
function filter() {
  const words = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const group of document.querySelectorAll("#paths section")) {
    let some = false;
    for (const details of group.querySelectorAll("details.operation")) {
      details.hidden = !words.every((w) => details.dataset.words.includes(w));
      some ||= !details.hidden;
      shown += details.hidden ? 0 : 1;
    }
    group.hidden = !some;
  }
  say(byId("found"), `${shown} paths`);
}

async function begin() {
  byId("access").addEventListener("submit", (event) => event.preventDefault());
  try {
    api = await (await fetch("/openapi.json")).json();
  } catch {
    say(byId("about"), "The server cannot be reached: reload this page.");
    return;
  }
  say(byId("about"), api.info.description || api.info.title);
  const groups = new Map((api.tags || []).map((tag) => [tag.name, { tag, all: [] }]));
  for (const [path, item] of Object.entries(api.paths)) {
    for (const [method, op] of Object.entries(item)) {
      if (!["get", "put", "post", "delete", "patch"].includes(method)) {
        continue;
      }
      const name = op.tags?.[0] || "other";
      groups.set(name, groups.get(name) || { tag: { name }, all: [] });
      groups.get(name).all.push(operation(method, path, op));
    }
  }
  for (const { tag, all } of groups.values()) {
    if (all.length) {
      byId("paths").append(make("section", null, make("h2", { class: "group" }, tag.name), tag.description ? make("p", { class: "hint" }, tag.description) : null, ...all));
    }
  }
  for (const name of Object.keys(api.components.schemas).sort()) {
    const schema = api.components.schemas[name];
    byId("schemas").append(lazily(make("details", { class: "operation", id: anchor(name) }, make("summary", null, make("code", null, name))),
      () => [schema.description ? make("p", { class: "hint" }, schema.description) : null, members(schema)].filter(Boolean)));
  }
  byId("find").addEventListener("input", filter);
  filter();
  if (location.hash) {
    open(decodeURIComponent(location.hash.slice(1)));
    byId(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  }
}
begin();
})();
