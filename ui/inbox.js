// The inbox. All text, also what agents wrote, enters the page by textContent
// or value, never as HTML. Payloads, states and schemas are shown and edited as
// the texts on record, see json.js.
"use strict";

const LIMIT = 200;
const cards = new Map(); // by gate id

// gatesOf returns the gates of a list, with what must not pass through floats as
// it was sent.
const gatesOf = ({ data, tree }) => data.map((gate, i) => ({
  ...gate, payload: exact.member(tree.items[i], "payload"), schema: exact.member(tree.items[i], "schema"),
  changes: gate.before && exact.member(exact.member(tree.items[i], "before"), "paths"),
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
  part(card, "note").textContent = gate.note || "";
  part(card, "again").hidden = !gate.supersedes;
  part(card, "whyAgain").textContent = whyAgain(gate, gate.before);
  showChanges(part(card, "changes"), gate, gate.before, gate.changes);
}

// inSession tells an approval whose caller waits on a connection, see
// GET /api/approvals, from a gate.
const inSession = (gate) => gate.kind === "session";
const approvalVerbs = { reject: "deny" }; // the others are called alike

function makeCard(gate) {
  const card = byId("gate").content.firstElementChild.cloneNode(true);
  if (inSession(gate)) {
    card.dataset.session = "yes";
  }
  const heading = part(card, "text");
  heading.textContent = gate.error ? `This gate cannot be read: ${told(gate.error)}` : gate.text || gate.name;
  heading.id = `title-${gate.id}`;
  card.setAttribute("aria-labelledby", heading.id);
  part(card, "name").textContent = gate.name;
  if (!inSession(gate)) {
    part(card, "name").href = gatePage(gate.id);
  }
  part(card, "requester").textContent = gate.requestedBy || "the program";
  part(card, "assignees").textContent = deciders(gate);
  part(card, "thread").textContent = inSession(gate) ? "the caller's connection; closing it is a no" : gate.thread;
  showJSON(part(card, "payload"), gate.payload);
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
      box.textContent = told(problem);
    }
  }, { once: true });

  const allowed = gate.error ? [] : gate.verdicts || ["approve", "reject", "edit", "respond"];
  for (const button of card.querySelectorAll(".verdicts button")) {
    button.hidden = !allowed.includes(button.value);
    button.addEventListener("click", () => (button.dataset.opens ? openValue(card, gate, button) : decide(card, gate, button.value)));
  }
  card.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  permit(card, gate);
  return card;
}

// permit disables the verdicts that are not this person's to give, and says why.
function permit(card, gate) {
  const barred = part(card, "barred");
  barred.hidden = !gate.barred;
  barred.textContent = gate.barred || "";
  for (const button of card.querySelectorAll(".verdicts button")) {
    button.disabled = !gate.may.includes(button.value);
  }
  card.querySelector("[name=reason]").disabled = gate.may.length === 0;
}

// openValue shows the field for what an edit or a response carries. What nobody
// touched there is sent as it is on record.
function openValue(card, gate, opener) {
  const verdict = opener.value;
  const box = part(card, "value");
  const field = box.querySelector("textarea");
  const send = part(card, "send");
  const schema = part(card, "schema");
  box.hidden = false;
  part(card, "valueLabel").textContent = verdict === "edit" ? "Changed values, as JSON" : "Answer, as JSON";
  const start = exact.fill(verdict === "edit" ? gate.payload : undefined, gate.schema);
  field.value = start ? exact.pretty(start) : "";
  schema.hidden = gate.schema === undefined;
  showJSON(schema.querySelector("pre"), gate.schema);
  send.textContent = verdict === "edit" ? "Go on with these values" : "Send this answer";
  send.onclick = () => {
    let value;
    try {
      value = exact.compact(exact.keep(exact.read(field.value), start));
    } catch (error) {
      field.setCustomValidity(`This is not JSON: ${error.message}`);
      field.reportValidity();
      return;
    }
    decide(card, gate, verdict, value);
  };
  field.oninput = () => field.setCustomValidity("");
  part(card, "close").onclick = () => {
    box.hidden = true;
    opener.focus();
  };
  field.focus();
}

// decide sends a verdict; value is JSON text.
async function decide(card, gate, verdict, value) {
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
      const { data } = await call(`/api/approvals/${encodeURIComponent(gate.id)}/${approvalVerbs[verdict] || verdict}`, body());
      settle(card, `Answered: ${data.decision.verdict} by ${data.decision.by}.`);
      return;
    }
    const { status, data } = await call(`/api/gates/${encodeURIComponent(gate.id)}/${verdict}`, body({ shown: gate.hash }));
    const d = data.decision;
    if (data.vote) {
      settle(card, `On record: your vote, ${data.vote.verdict} by ${data.vote.by}. Approvals missing: ${data.missing || 0}.`, gate.id);
      return;
    }
    settle(card, status === 202
      ? `On record: ${d.verdict} by ${d.by}. What follows is still running.`
      : `On record: ${d.verdict} by ${d.by}. Checkpoint ${data.id} followed${data.error ? `; it failed: ${data.error}` : "."}`, gate.id);
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

function show(outcome, text, bad) {
  outcome.hidden = false;
  outcome.className = bad ? "bad" : "";
  outcome.textContent = text;
}

// settle leaves a decided gate on the page as what became of it.
function settle(card, text, id) {
  card.dataset.settled = "yes";
  card.classList.add("settled");
  card.querySelector("form").hidden = true;
  const outcome = part(card, "outcome");
  show(outcome, text);
  if (id) {
    const link = document.createElement("a");
    link.href = gatePage(id);
    link.textContent = "What became of it";
    outcome.append(" ", link);
  }
  if (card.contains(document.activeElement) || document.activeElement === document.body) {
    outcome.focus();
  }
  count();
}

function count() {
  const open = [...cards.values()].filter((c) => !c.dataset.settled).length;
  byId("count").textContent = open ? `${open} waiting` : "";
  byId("empty").hidden = open > 0;
  document.title = `${open ? `(${open}) ` : ""}Inbox · Posthouse`;
}

// refresh brings the page in line with the open gates and approvals, or with
// what there is of them. Cards stay the same elements, so nobody loses what they
// are typing.
async function refresh() {
  const answers = await Promise.allSettled([call(`/api/gates?limit=${LIMIT}`), call("/api/approvals")]);
  const failed = answers.find((a) => a.status === "rejected");
  byId("problem").hidden = !failed;
  byId("problem").textContent = failed ? told(failed.reason) : "";
  const [gates, approvals] = answers.map((a) => a.value && gatesOf(a.value)); // undefined: not known
  const full = gates?.length >= LIMIT;
  const waiting = [...(gates || []).reverse(), ...(approvals || [])]; // the oldest first; who waits on a connection is in a hurry
  const open = new Set(waiting.map((g) => g.id));
  for (const gate of waiting) {
    if (!cards.has(gate.id)) {
      cards.set(gate.id, makeCard(gate));
      byId("gates").prepend(cards.get(gate.id));
    } else {
      const card = cards.get(gate.id);
      part(card, "assignees").textContent = deciders(gate);
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
    } else if (gates && !full) {
      elsewhere(id, card);
    }
  }
  byId("more").hidden = !full;
  byId("more").textContent = `These are the newest ${LIMIT}; more are waiting.`;
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
    const asked = (await call("/api/approvals")).data.map((g) => g.id);
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
  events.onopen = () => { live.textContent = "live"; refresh(); };
  for (const kind of ["gate", "decision", "removal", "checkpoint"]) {
    events.addEventListener(kind, () => { problem = false; soon(); });
  }
  events.addEventListener("error", (event) => {
    if (event.data) { // of one entry, or why the stream ends: lastEventId, which events without an id keep, does not tell
      problem = true;
      soon();
    } else if (problem || events.readyState === EventSource.CLOSED) { // ended behind a problem, or refused: begin anew, from now
      events.close();
      live.textContent = "not live; trying again";
      setTimeout(follow, 5000);
      refresh();
    } else {
      live.textContent = "connection lost; trying again";
    }
  });
}

setInterval(() => {
  for (const card of cards.values()) {
    for (const name of ["age", "expiry"]) {
      const t = part(card, name);
      if (t.dateTime) {
        t.textContent = ago(new Date(t.dateTime));
      }
    }
  }
}, 15000);
setInterval(watchApprovals, 3000);
introduce();
follow();
