// The page of a link that carries the right to decide one gate. The approval token is in the
// address's fragment: it goes to the server in a header, and nowhere else. All text enters the
// page by textContent, never as HTML.
"use strict";

const gate = location.pathname.split("/").pop();
// needsValue has the verdicts that this page has no field for.
const needsValue = new Set(["edit", "respond"]);
const byId = (name) => document.getElementById(name);
const show = (name, text) => {
  byId(name).textContent = hidden.marked(text);
  byId(name).hidden = false;
};

// ask asks the server with the token. A problem is thrown.
async function ask(path, body) {
  const headers = { Accept: "application/json", Authorization: `Bearer ${location.hash.slice(1)}` };
  const options = body === undefined ? { headers } : { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body };
  let answer;
  try {
    answer = await fetch(`/api/gates/${gate}/${path}`, { ...options, credentials: "omit" });
  } catch {
    throw { detail: "The server cannot be reached; nothing is known to be decided", hint: "try again: a decision counts once" };
  }
  const text = await answer.text();
  if (answer.status === 401) {
    throw { detail: "This link is not good, or not any more", hint: "ask whoever sent it for another" };
  }
  if (!answer.ok) {
    throw JSON.parse(text);
  }
  return { data: JSON.parse(text), tree: exact.read(text) };
}

function fail(problem) {
  show("problem", `${problem.detail || problem.title || problem}${problem.hint ? ` (${problem.hint})` : ""}`);
}

function say(d) {
  byId("form").hidden = true;
  show("outcome", `Decided: ${d.verdict} by ${d.by}, ${new Date(d.at).toLocaleString()}${d.reason ? `: ${d.reason}` : ""}`);
  byId("outcome").focus();
}

function button(verdict) {
  const b = document.createElement("button");
  b.type = "button";
  b.textContent = verdict;
  b.className = verdict === "approve" ? "primary" : "";
  b.addEventListener("click", async () => {
    for (const other of byId("verdicts").children) {
      other.disabled = true;
    }
    byId("problem").hidden = true;
    try {
      const { data } = await ask("decide-by-token", JSON.stringify({ verdict, reason: byId("reason").value }));
      if (data.decision) {
        say(data.decision);
      } else {
        byId("form").hidden = true;
        show("outcome", `Your vote is on record: ${data.vote.verdict}. ${data.missing} more needed.`);
      }
    } catch (problem) {
      fail(problem);
      for (const other of byId("verdicts").children) {
        other.disabled = false;
      }
    }
  });
  return b;
}

function field(member, label) {
  const row = document.createElement("div");
  const name = document.createElement("dt");
  const value = document.createElement("dd");
  name.textContent = hidden.marked(label && label !== member.name ? `${label} (${member.name})` : member.name);
  value.textContent = exact.pretty(member.value);
  row.append(name, value);
  return row;
}

async function load() {
  const { data, tree } = await ask("by-token");
  const payload = exact.member(exact.member(tree, "gate"), "payload");
  const labels = new Map((data.gate.fields || []).map((f) => [f.name, f.label]));
  show("text", data.gate.text || data.gate.name);
  show("for", data.for);
  byId("payload").textContent = payload ? exact.pretty(payload) : "";
  byId("fields").replaceChildren(...(payload?.kind === "object" ? payload.members.map((m) => field(m, labels.get(m.name))) : []));
  const warning = hidden.warning(data.gate.text, data.gate.name, ...labels.values(), ...exact.texts(payload));
  if (warning) {
    show("hidden", warning);
  }
  byId("verdicts").replaceChildren(...data.verdicts.filter((v) => !needsValue.has(v)).map(button));
  byId("card").hidden = false;
  if (data.decision) {
    say(data.decision);
  }
}

load().catch(fail);
