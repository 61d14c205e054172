package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestGatePageShowsWhatRan follows a gate that licenses an effect from its question
// to its outcome, with the numbers as they are on record.
func TestGatePageShowsWhatRan(t *testing.T) {
	h := open(t, nil)
	h.program.idle = true
	g := h.proposed("t", `{"account":9007199254740993,"amount":500}`)
	b := h.openPage(chromium(t), tokens.Viewer, "/gates/"+string(g.ID))
	b.wait(life + `?.textContent.includes("Waits")`)
	h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/edit", as: tokens.Approver, body: `{"value":{"account":9007199254740993,"amount":50},"reason":"less"}`})
	b.wait(life + `.textContent.includes("Decided: edited")`)
	if s := b.text(life + ".textContent"); !strings.Contains(s, "edited by approver-token") || !strings.Contains(s, "“less”") || !strings.Contains(s, "nothing ran under it yet; it may be used") {
		t.Errorf("decided: %q", s)
	}
	if s := b.text(question + ".textContent"); !strings.Contains(s, "What it was changed to") || !strings.Contains(s, "9007199254740993") || !strings.Contains(s, "amount50") {
		t.Errorf("approved: %s", s)
	}
	h.acted(g, `{"receipt":12345678901234567891}`)
	b.wait(question + `.textContent.includes("Receipt")`)
	if s := b.text(question + ".textContent"); !strings.Contains(s, "transfer") || !strings.Contains(s, "executed") || !strings.Contains(s, "approver-token") || !strings.Contains(s, "12345678901234567891") {
		t.Errorf("what ran: %s", s)
	}
	b.wait(life + `.textContent.includes("Executed")`)
}

// life is what happened to a gate, as its page shows it.
const life = `document.querySelector("[aria-label='what happened']")`

// TestGatePageShowsWorkers: of an effect that was a task, the page and the API say which
// workers had it, and what each said.
func TestGatePageShowsWorkers(t *testing.T) {
	h := open(t, nil)
	h.program.idle = true
	g := h.proposed("t", `{"amount":500}`)
	h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/approve", as: tokens.Approver, body: `{}`})
	h.acted(g, "")
	said := func(name, gate, worker string) posthouse.Step {
		body, err := json.Marshal(commit.UseRecord{Gate: posthouse.ID(gate), Call: "gate-1", Worker: worker})
		must.Do(t, err)
		return posthouse.Step{
			Task: "pay@1", Name: "transfer>" + name, Effect: posthouse.EffectExternal, Grant: g.ID, Value: posthouse.Value{Codec: "json", Data: body},
		}
	}
	second := said(effect.RecordClaimed, "gate-2", "worker:b")
	second.Occurrence = 1
	_, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Steps: []posthouse.Step{
		said(effect.RecordClaimed, "gate-1", "worker:a"), said(effect.RecordUndone, "gate-1", "worker:a"), second,
	}})
	must.Do(t, err)
	var v Grant
	h.send(ask{method: "GET", path: "/api/gates/" + string(g.ID) + "/grant", as: tokens.Viewer}).want(http.StatusOK).into(&v)
	if n := len(v.Uses); n != 1 || len(v.Uses[0].Attempts) != 2 || !v.Uses[0].Attempts[0].Undone || v.Uses[0].Attempts[1].Worker != "worker:b" {
		t.Fatalf("v.Uses %+v", v.Uses)
	}
	b := h.openPage(chromium(t), tokens.Viewer, "/gates/"+string(g.ID))
	released := `[...document.querySelectorAll("[aria-label='what happened'] li")].filter((e) => e.textContent.startsWith("Released"))`
	b.wait(released + `.length === 2`)
	for i, want := range []string{"to a", "to b"} {
		if s := b.text(released + fmt.Sprintf("[%d].textContent", i)); !strings.Contains(s, want) || !strings.Contains(s, fmt.Sprint("attempt ", i+1)) || strings.HasSuffix(s, "it did not act") != (i == 0) {
			t.Errorf("%q", s)
		}
	}
}

// TestAskAgainOnThePage: a question without an answer has a button for those who may
// press it; a question that changed shows how.
func TestAskAgainOnThePage(t *testing.T) {
	h := open(t, nil)
	h.program.idle = true
	running := chromium(t)
	g := h.proposed("t", `{"amount":10}`)
	_, err := h.ledger.Commit(t.Context(), &ledger.Draft{
		Thread: "t", Branch: "main", Checkpoint: &posthouse.Change{Kind: posthouse.KindUpdate, Status: posthouse.StatusDone, Graph: "dispatch"},
	})
	must.Do(t, err)
	const button = `[...document.querySelectorAll("article button")].find((e) => e.textContent.startsWith("Ask again"))`
	for _, r := range []tokens.Role{tokens.Viewer, tokens.Approver} {
		b := h.openPage(running, r, "/gates/"+string(g.ID))
		b.wait(life + " !== null")
		if there := b.text(`String(` + button + `)`); there != "undefined" {
			t.Errorf("the button is there for a %s", r)
		}
	}
	b := h.openPage(running, tokens.Operator, "/gates/"+string(g.ID))
	b.wait(button + ` !== undefined`)
	b.do(button + ".click()")
	b.wait(fmt.Sprintf(`location.pathname !== "/gates/%s"`, g.ID))
	again, err := h.ledger.Gate(t.Context(), posthouse.ID(strings.TrimPrefix(b.text("location.pathname"), "/gates/")))
	must.Do(t, err)
	if again.Decision != nil || again.Text != g.Text {
		t.Errorf("asked again: %+v", again)
	}

	changed := h.asking("other", posthouse.Gate{Name: "pay", Text: "Pay 99?", Payload: json.RawMessage(`{"amount":9007199254740993,"to":"x"}`), Supersedes: g.ID})
	for _, path := range []string{"/gates/" + string(changed.ID), "/?gate=" + string(changed.ID)} {
		b = h.openPage(running, tokens.Viewer, path)
		b.wait(question + `?.textContent.includes("What is asked changed")`)
		b.wait(`document.querySelector("article [aria-label='what changed'] ins") !== null`) // it is loaded late
		if s := b.text(`[...document.querySelectorAll("article del")].map((e) => e.textContent).join("|") + " to " + [...document.querySelectorAll("article ins")].map((e) => e.textContent).join("|")`); s != "10|Pay this? to Pay 99?" {
			t.Errorf("%s: changed %s", path, s)
		}
	}
	if a := h.send(ask{method: "GET", path: "/gates/" + string(g.ID), as: "-"}).want(http.StatusOK); strings.Contains(string(a.body), string(g.ID)) {
		t.Errorf("the page without a login holds %s", a.body)
	}
}
