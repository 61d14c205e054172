// The page of one gate: what was shown, who decided, and what ran under the
// decision. All text enters the page by textContent, never as HTML.
"use strict";

const id = decodeURIComponent(location.pathname.split("/").pop());
const card = byId("card");

const statuses = {
  proposed: "proposed: it waits for a decision",
  decided: "decided: nothing ran under it",
  released: "released: an effect is under way",
  executed: "executed",
  unknown: "unknown: an effect was let go, and nobody knows what became of it",
};
const useStatuses = { decided: "not done", released: "under way", executed: "executed", unknown: "outcome unknown" };

function say(d) {
  const words = [`${d.verdict} by ${d.by}`];
  if (d.for) {
    words.push(`for ${d.for}`);
  }
  const sender = d.actor && d.actor !== d.by ? d.actor : "";
  if (d.token) {
    words.push(sender ? `(by an approval token of ${sender})` : "(by an approval token)");
  } else if (sender) {
    words.push(`(sent by ${sender})`);
  }
  return `${words.join(" ")}, ${new Date(d.at).toLocaleString()}${d.reason ? `: ${d.reason}` : ""}`;
}

const approvals = {
  usable: "; it may be used", used: "; it is used", lapsed: "; it has lapsed, and is asked for again", ended: "; it ended with its version or branch",
};

function status(grant) {
  if (grant.licenses > 0) {
    return statuses[grant.status] || grant.status;
  }
  return grant.gate.decision ? "decided" : "open";
}

// attempts says which workers had the effect, and what each said of it.
function attempts(use) {
  const all = use.attempts || [];
  const last = { executed: ": it acted", released: ": it is at it", unknown: ": it is not known whether it acted" };
  return all.map((a, i) => {
    let end = i < all.length - 1 ? last.unknown : last[use.status] || "";
    if (a.undone) {
      end = ": it did not act";
    }
    const line = document.createElement("li");
    put(line, `${a.worker} was given it ${new Date(a.at).toLocaleString()} (task ${a.gate})${end}`);
    return line;
  });
}

function makeUse(use, tree, by) {
  const box = byId("use").content.firstElementChild.cloneNode(true);
  put(part(box, "name"), use.occurrence ? `${use.name}[${use.occurrence}]` : use.name);
  put(part(box, "status"), useStatuses[use.status] || use.status);
  setTime(part(box, "at"), use.at, "");
  put(part(box, "by"), by);
  put(part(box, "task"), `${use.thread} / ${use.task}`);
  part(box, "attempts").hidden = !use.attempts;
  part(box, "attempts").replaceChildren(...attempts(use));
  showJSON(part(box, "outcome"), exact.member(tree, "outcome"));
  return box;
}

// showEnd says how the gate's branch ended, if it failed.
async function showEnd(gate) {
  const box = part(card, "ended");
  const { data } = await call(`/api/threads/${encodeURIComponent(gate.thread)}`);
  const branch = gate.decision && data.branches.find((b) => b.branch === gate.branch);
  if (branch?.status !== "failed") {
    box.hidden = true;
  } else {
    const head = await call(`/api/checkpoints/${encodeURIComponent(branch.head)}?state=false`);
    put(box, `The run failed: ${head.data.error || "why is not on record"}`);
    box.hidden = false;
  }
}

// draw shows the grant as the server has it.
function draw({ data: grant, tree }) {
  const gate = grant.gate;
  const decision = gate.decision;
  const node = exact.member(tree, "gate");
  card.hidden = false;
  document.title = `${hidden.marked(gate.text || gate.name)} · Posthouse`;
  put(part(card, "text"), gate.text || gate.name);
  put(part(card, "status"), status(grant));
  put(part(card, "licenses"), grant.licenses === 0 ? "no effect: it is a question"
    : `${grant.licenses === 1 ? "one effect" : `${grant.licenses} effects`}, on branch ${gate.branch}${grant.validUntil ? `, until ${new Date(grant.validUntil).toLocaleString()}` : ""}${approvals[grant.approval] || ""}`);
  put(part(card, "requester"), requesters(gate));
  put(part(card, "thread"), gate.thread);
  setTime(part(card, "age"), gate.createdAt);
  setTime(part(card, "expiry"), gate.expiresAt, "never");
  part(card, "note").hidden = !gate.note;
  put(part(card, "note"), gate.note || "");
  part(card, "again").hidden = !gate.supersedes;
  put(part(card, "whyAgain"), whyAgain(gate, grant.before));
  part(card, "earlier").href = gatePage(gate.supersedes || "");
  showChanges(part(card, "changes"), gate, grant.before, exact.member(exact.member(tree, "before"), "paths"));
  showJSON(part(card, "payload"), exact.member(node, "payload"));
  warn(part(card, "hidden"), gate.name, gate.text, gate.note, requesters(gate), decision?.reason, ...exact.texts(exact.member(node, "payload")), ...exact.texts(exact.member(tree, "content")));
  part(card, "decided").hidden = !decision;
  put(part(card, "decision"), decision ? say(decision) : "");
  part(card, "edited").hidden = decision?.verdict !== "edit";
  showJSON(part(card, "content"), exact.member(tree, "content"));
  part(card, "ran").hidden = grant.uses.length === 0;
  const uses = exact.member(tree, "uses").items;
  part(card, "uses").replaceChildren(...grant.uses.map((use, i) => makeUse(use, uses[i], decision.by)));
  part(card, "successor").hidden = !decision?.successor;
  part(card, "later").href = gatePage(decision?.successor || "");
  part(card, "askAgain").hidden = !grant.askAgain;
}

async function refresh() {
  try {
    const answer = await call(`/api/gates/${encodeURIComponent(id)}/grant`);
    byId("problem").hidden = true;
    draw(answer);
    await showEnd(answer.data.gate);
    return answer.data.gate.thread;
  } catch (problem) {
    byId("problem").hidden = false;
    put(byId("problem"), told(problem));
    return undefined;
  }
}

part(card, "askAgain").addEventListener("click", async () => {
  const button = part(card, "askAgain");
  const outcome = part(card, "outcome");
  button.disabled = true;
  outcome.hidden = false;
  outcome.className = "";
  try {
    const { data } = await call(`/api/gates/${encodeURIComponent(id)}/ask-again`, "");
    button.hidden = true;
    const link = document.createElement("a");
    link.href = gatePage(data.id);
    put(link, data.text || data.name);
    outcome.replaceChildren("It is asked again: ", link);
    outcome.focus();
  } catch (problem) {
    button.disabled = false;
    outcome.className = "bad";
    put(outcome, told(problem));
  }
});

let pending = 0;
async function begin() {
  introduce();
  const thread = await refresh();
  if (thread === undefined) {
    return;
  }
  const events = new EventSource(`/api/events?thread=${encodeURIComponent(thread)}`);
  events.onopen = refresh; // for what came before
  for (const kind of ["decision", "step", "checkpoint", "removal"]) {
    events.addEventListener(kind, () => {
      clearTimeout(pending);
      pending = setTimeout(refresh, 100);
    });
  }
}
begin();
