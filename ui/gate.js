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

function status(grant) {
  if (grant.licenses > 0) {
    return statuses[grant.status] || grant.status;
  }
  return grant.gate.decision ? "decided" : "open";
}

function makeUse(use, tree, by) {
  const box = byId("use").content.firstElementChild.cloneNode(true);
  part(box, "name").textContent = use.occurrence ? `${use.name}[${use.occurrence}]` : use.name;
  part(box, "status").textContent = useStatuses[use.status] || use.status;
  setTime(part(box, "at"), use.at, "");
  part(box, "by").textContent = by;
  part(box, "task").textContent = `${use.thread} / ${use.task}`;
  showJSON(part(box, "outcome"), exact.member(tree, "outcome"));
  return box;
}

// draw shows the grant as the server has it.
function draw({ data: grant, tree }) {
  const gate = grant.gate;
  const decision = gate.decision;
  const node = exact.member(tree, "gate");
  card.hidden = false;
  document.title = `${gate.text || gate.name} · Posthouse`;
  part(card, "text").textContent = gate.text || gate.name;
  part(card, "status").textContent = status(grant);
  part(card, "licenses").textContent = grant.licenses === 0 ? "no effect: it is a question"
    : `${grant.licenses === 1 ? "one effect" : `${grant.licenses} effects`}, on branch ${gate.branch}${grant.validUntil ? `, until ${new Date(grant.validUntil).toLocaleString()}` : ""}`;
  part(card, "requester").textContent = gate.requestedBy || "the program";
  part(card, "thread").textContent = gate.thread;
  setTime(part(card, "age"), gate.createdAt);
  setTime(part(card, "expiry"), gate.expiresAt, "never");
  part(card, "note").hidden = !gate.note;
  part(card, "note").textContent = gate.note || "";
  part(card, "again").hidden = !gate.supersedes;
  part(card, "whyAgain").textContent = whyAgain(gate, grant.before);
  part(card, "earlier").href = gatePage(gate.supersedes || "");
  showChanges(part(card, "changes"), gate, grant.before, exact.member(exact.member(tree, "before"), "paths"));
  showJSON(part(card, "payload"), exact.member(node, "payload"));
  part(card, "decided").hidden = !decision;
  part(card, "decision").textContent = decision ? say(decision) : "";
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
    return answer.data.gate.thread;
  } catch (problem) {
    byId("problem").hidden = false;
    byId("problem").textContent = told(problem);
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
    link.textContent = data.text || data.name;
    outcome.replaceChildren("It is asked again: ", link);
    outcome.focus();
  } catch (problem) {
    button.disabled = false;
    outcome.className = "bad";
    outcome.textContent = told(problem);
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
