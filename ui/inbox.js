// The inbox. All text, also what agents wrote, enters the page by textContent
// or value, never as HTML. Payloads, states and schemas are shown and edited as
// the texts on record, see json.js.
"use strict";

const PAGE = 200;
const oldestFirst = location.hash === "#oldest";
const cards = new Map(); // by gate id
let wanted = PAGE; // how many gates to show
let more = false; // there are others

// gatesOf returns the gates of a list, with what must not pass through floats as
// it was sent.
const gatesOf = ({ data, tree }) => exact.member(tree, "items").items.map((item, i) => ({
  ...data.items[i], payload: exact.member(item, "payload"), schema: exact.member(item, "schema"),
  changes: data.items[i].before && exact.member(exact.member(item, "before"), "paths"),
}));

// deciders says who was asked, how that changed, and who has voted.
function deciders(gate) {
  const said = [(gate.assignees || ["anyone who may decide"]).join(", ")];
  for (const a of gate.assignments || []) {
    said.push(a.escalation ? `since ${new Date(a.at).toLocaleString()} ${a.replace ? "only" : "also"} ${a.to.join(", ")}` : `${a.by} handed it to ${a.to.join(", ")}`);
  }
  if (gate.quorum) {
    const votes = (gate.votes || []).map((v) => `${v.verdict} by ${v.by}`);
    said.push(`${gate.quorum.need} must approve, so far ${votes.join(", ") || "nobody"}`);
  }
  return said.join("; ");
}

// showBefore shows why a gate asks in the place of another, and what has changed.
function showBefore(card, gate) {
  part(card, "note").hidden = !gate.note;
  put(part(card, "note"), gate.note || "");
  part(card, "again").hidden = !gate.supersedes;
  put(part(card, "whyAgain"), whyAgain(gate, gate.before));
  showChanges(part(card, "changes"), gate, gate.before, gate.changes);
}

// inSession tells an approval whose caller waits on a connection, see
// GET /api/approvals, from a gate.
const inSession = (gate) => gate.kind === "session";

function makeCard(gate) {
  const card = byId("gate").content.firstElementChild.cloneNode(true);
  if (inSession(gate)) {
    card.dataset.session = "yes";
  }
  const heading = part(card, "text");
  put(heading, gate.error ? `This gate cannot be read: ${told(gate.error)}` : gate.text || gate.name);
  heading.id = `title-${gate.id}`;
  card.setAttribute("aria-labelledby", heading.id);
  put(part(card, "name"), gate.name);
  if (!inSession(gate)) {
    part(card, "name").href = gatePage(gate.id);
  }
  put(part(card, "requester"), requesters(gate));
  put(part(card, "assignees"), deciders(gate));
  put(part(card, "thread"), inSession(gate) ? "the caller's connection; closing it is a no" : gate.thread);
  showJSON(part(card, "payload"), gate.payload);
  warn(part(card, "hidden"), gate.name, gate.text, gate.note, requesters(gate), ...(gate.assignees || []), ...exact.texts(gate.payload), gate.before?.text, ...exact.texts(gate.changes));
  showBefore(card, gate);
  setTime(part(card, "age"), gate.createdAt);
  setTime(part(card, "expiry"), gate.expiresAt, "never");

  const state = part(card, "state");
  state.hidden = inSession(gate);
  state.addEventListener("toggle", async () => {
    const box = state.querySelector("pre");
    try {
      const { tree } = await call(`/api/checkpoints/${encodeURIComponent(gate.checkpoint)}`);
      showJSON(box, exact.member(tree, "state"));
    } catch (problem) {
      put(box, told(problem));
    }
  }, { once: true });

  const allows = (verdict) => !gate.error && (!gate.verdicts || gate.verdicts.includes(verdict));
  for (const button of card.querySelectorAll(".verdicts button")) {
    button.hidden = !allows(button.value);
    button.addEventListener("click", () => (button.dataset.opens ? openValue(card, gate, button) : decide(card, gate, button)));
  }
  const form = card.querySelector("form");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => warnTyped(card));
  permit(card, gate);
  return card;
}

// warnTyped says what is hidden in what somebody types, or pastes.
const warnTyped = (card) => warn(part(card, "typed"), ...[...card.querySelectorAll("input, textarea")].map((f) => f.value));

// unsent says whether anybody typed what was not sent.
globalThis.unsent = () => [...cards.values()].some((card) => !card.dataset.settled && [...card.querySelectorAll("input, textarea")].some((f) => f.value && f.value !== f.dataset.start));

// permit disables the verdicts that are not this person's to give, and says why.
function permit(card, gate) {
  const barred = part(card, "barred");
  barred.hidden = !gate.barred;
  put(barred, gate.barred || "");
  for (const button of card.querySelectorAll(".verdicts button")) {
    button.disabled = !gate.may.includes(button.value);
  }
  card.querySelector("[name=reason]").disabled = gate.may.length === 0;
}

// openValue shows the field for the value of a verdict. What nobody touched there is sent as
// it is on record.
function openValue(card, gate, opener) {
  const changes = opener.dataset.goesOn; // else the value takes the action's place
  const what = opener.dataset.opens;
  const box = part(card, "value");
  const field = box.querySelector("textarea");
  const send = part(card, "send");
  const schema = part(card, "schema");
  box.hidden = false;
  put(part(card, "valueLabel"), `${what[0].toUpperCase()}${what.slice(1)}, as JSON`);
  const start = exact.fill(changes ? gate.payload : undefined, gate.schema);
  field.value = start ? exact.pretty(start) : "";
  field.dataset.start = field.value;
  schema.hidden = gate.schema === undefined;
  showJSON(schema.querySelector("pre"), gate.schema);
  put(send, changes ? "Go on with these values" : "Send this answer");
  send.onclick = () => {
    let value;
    try {
      value = exact.compact(exact.keep(exact.read(field.value), start));
    } catch (error) {
      field.setCustomValidity(`This is not JSON: ${error.message}`);
      field.reportValidity();
      return;
    }
    decide(card, gate, opener, value);
  };
  field.oninput = () => field.setCustomValidity("");
  part(card, "close").onclick = () => {
    box.hidden = true;
    opener.focus();
  };
  field.focus();
}

// decide sends the verdict of a button; value is JSON text.
async function decide(card, gate, { value: verdict, dataset: { tool } }, value) {
  const outcome = part(card, "outcome");
  const controls = card.querySelectorAll("button, input, textarea");
  controls.forEach((c) => { c.disabled = true; });
  card.dataset.busy = "yes";
  show(outcome, "Recording the decision, then waiting for what follows …");
  const body = (also) => {
    const text = JSON.stringify({ reason: card.querySelector("[name=reason]").value, ...also });
    return value === undefined ? text : `${text.slice(0, -1)},"value":${value}}`;
  };
  try {
    if (inSession(gate)) {
      const { data } = await call(`/api/approvals/${encodeURIComponent(gate.id)}/${tool}`, body());
      settle(card, `Answered: ${data.decision.verdict} by ${data.decision.by}.`);
      return;
    }
    const { status, data } = await call(`/api/gates/${encodeURIComponent(gate.id)}/${verdict}`, body({ shown: gate.hash }));
    const d = data.decision;
    if (data.vote) {
      settle(card, `On record: your vote, ${data.vote.verdict} by ${data.vote.by}. Approvals missing: ${data.missing || 0}.`, gate.id);
      return;
    }
    const became = whatFollowed(status, data);
    settle(card, `On record: ${d.verdict} by ${d.by}. ${became.text}`, gate.id, became.mood);
  } catch (problem) {
    if (problem.decision) {
      settle(card, `${told(problem)}. It was: ${problem.decision.verdict} by ${problem.decision.by}.`, inSession(gate) ? "" : gate.id);
    } else {
      controls.forEach((c) => { c.disabled = false; });
      permit(card, gate);
      show(outcome, told(problem), true);
    }
  } finally {
    delete card.dataset.busy;
  }
}

// whatFollowed says how the work that a decision set off ended, and how it is to look.
function whatFollowed(status, data) {
  if (status === 202) {
    return { text: data.gates ? "What follows waits for other questions of the same checkpoint." : "What follows is still running.", mood: "pending" };
  }
  const { head } = data;
  const effects = head.effects || [];
  const names = (wanted) => effects.filter((e) => e.status === wanted).map((e) => e.name).join(", ");
  const said = [];
  if (names("executed")) {
    said.push(`Executed: ${names("executed")}.`);
  }
  if (names("released")) {
    said.push(`Still running: ${names("released")}.`);
  }
  if (names("unknown")) {
    said.push(`Outcome unknown: ${names("unknown")}.`);
  }
  if (names("decided")) {
    said.push(`Not done: ${names("decided")}.`);
  }
  const ends = {
    done: "The run is done.", waiting: "The run waits.", running: "The run is still running.",
    interrupted: "The run is interrupted.", cancelled: "The run was cancelled.",
  };
  said.push(head.status === "failed" ? `It failed: ${head.error || "why is not on record"}` : ends[head.status] || "");
  if (head.status === "failed") {
    return { text: said.join(" "), mood: "failed" };
  }
  return { text: said.join(" "), mood: names("unknown") || names("released") || head.status === "running" ? "pending" : "" };
}

function show(outcome, text, bad) {
  outcome.hidden = false;
  outcome.className = bad ? "bad" : "";
  put(outcome, text);
}

// settle leaves a decided gate on the page as what became of it.
function settle(card, text, id, mood) {
  card.dataset.settled = "yes";
  card.classList.add("settled");
  if (mood) { // failed or pending
    card.classList.add(mood);
  }
  card.querySelector("form").hidden = true;
  const outcome = part(card, "outcome");
  show(outcome, text, mood === "failed");
  if (id) {
    const link = document.createElement("a");
    link.href = gatePage(id);
    put(link, "What became of it");
    outcome.append(" ", link);
  }
  if (card.contains(document.activeElement) || document.activeElement === document.body) {
    outcome.focus();
  }
  count();
}

function count() {
  const open = [...cards.values()].filter((c) => !c.dataset.settled).length;
  put(byId("count"), open ? `${open}${more ? " or more" : ""} waiting` : "");
  byId("empty").hidden = open > 0;
  document.title = `${open ? `(${open}) ` : ""}Inbox · Posthouse`;
}

// listGates returns the gates to show, page by page, and says whether there are others.
async function listGates() {
  const gates = [];
  let cursor = "";
  do {
    const answer = await call(`/api/gates?limit=${PAGE}${oldestFirst ? "&order=asc" : ""}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    gates.push(...gatesOf(answer));
    cursor = answer.next;
  } while (cursor && gates.length < wanted);
  return { gates, others: Boolean(cursor) };
}

// refresh brings the page in line with the open gates and approvals, or with
// what there is of them. Cards stay the same elements, so nobody loses what they
// are typing.
async function refresh() {
  const answers = await Promise.allSettled([listGates(), call("/api/approvals")]);
  const failed = answers.find((a) => a.status === "rejected");
  byId("problem").hidden = !failed;
  put(byId("problem"), failed ? told(failed.reason) : "");
  const list = answers[0].value; // undefined: not known
  const approvals = answers[1].value && gatesOf(answers[1].value);
  const gates = list?.gates;
  more = list ? list.others : more;
  const waiting = oldestFirst ? [...(gates || [])] : (gates || []).toReversed(); // in the order in which they are added
  waiting.push(...(approvals || []));
  const open = new Set(waiting.map((g) => g.id));
  for (const gate of waiting) {
    if (!cards.has(gate.id)) {
      cards.set(gate.id, makeCard(gate));
      const atEnd = oldestFirst && !inSession(gate); // who waits on a connection is in a hurry
      byId("gates")[atEnd ? "append" : "prepend"](cards.get(gate.id));
    } else {
      const card = cards.get(gate.id);
      put(part(card, "assignees"), deciders(gate));
      if (!card.dataset.busy) {
        permit(card, gate);
      }
    }
  }
  for (const [id, card] of cards) {
    if (open.has(id) || card.dataset.settled || card.dataset.busy) {
      continue;
    }
    if (card.dataset.session) {
      if (approvals) {
        settle(card, "Answered meanwhile, or nobody waits for it any more.");
      }
    } else if (gates && !more) {
      elsewhere(id, card);
    }
  }
  byId("more").hidden = !more;
  put(byId("moreText"), `These are the ${oldestFirst ? "oldest" : "newest"} ${gates ? gates.length : wanted}; more are waiting.`);
  count();
}

// elsewhere says what became of a gate that somebody else decided.
async function elsewhere(id, card) {
  try {
    const { data } = await call(`/api/gates/${encodeURIComponent(id)}`);
    if (data.decision) {
      settle(card, `Decided meanwhile: ${data.decision.verdict} by ${data.decision.by}.`, id);
    }
  } catch {
    card.remove(); // it went with its thread
    cards.delete(id);
    count();
  }
}

let pending = 0;
function soon() {
  clearTimeout(pending);
  pending = setTimeout(refresh, 100);
}

// watchApprovals looks for approvals, of which no event tells.
async function watchApprovals() {
  if (document.visibilityState !== "visible") {
    return;
  }
  try {
    const asked = (await call("/api/approvals")).data.items.map((g) => g.id);
    const shown = [...cards].filter(([, card]) => card.dataset.session && !card.dataset.settled).map(([id]) => id);
    if (asked.some((id) => !cards.has(id)) || shown.some((id) => !asked.includes(id))) {
      soon();
    }
  } catch { /* refresh says so */ }
}

function follow() {
  const live = byId("live");
  const events = new EventSource("/api/events");
  let problem = false; // the newest event is one
  events.onopen = () => { put(live, "live"); refresh(); };
  for (const kind of ["gate", "decision", "removal", "checkpoint"]) {
    events.addEventListener(kind, () => { problem = false; soon(); });
  }
  events.addEventListener("error", (event) => {
    if (event.data) { // of one entry, or why the stream ends: lastEventId, which events without an id keep, does not tell
      problem = true;
      soon();
    } else if (problem || events.readyState === EventSource.CLOSED) { // ended behind a problem, or refused: begin anew, from now
      events.close();
      put(live, "not live; trying again");
      setTimeout(follow, 5000);
      refresh();
    } else {
      put(live, "connection lost; trying again");
    }
  });
}

setInterval(() => {
  for (const card of cards.values()) {
    for (const name of ["age", "expiry"]) {
      const t = part(card, name);
      if (t.dateTime) {
        put(t, ago(new Date(t.dateTime)));
      }
    }
  }
}, 15000);
byId("showMore").addEventListener("click", () => { wanted += PAGE; refresh(); });
byId("otherEnd").href = oldestFirst ? "/#newest" : "/#oldest";
addEventListener("hashchange", () => location.reload());
put(byId("otherEnd"), oldestFirst ? "Newest first" : "Oldest first");
setInterval(watchApprovals, 3000);
introduce();
follow();
