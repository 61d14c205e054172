package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestPagesMarkHiddenCharacters: bidirectional overrides and invisible characters are seen on
// the inbox and on the gate's page, a line warns of them, and the record stays as it is.
func TestPagesMarkHiddenCharacters(t *testing.T) {
	h := open(t, nil)
	const payload = "{\"amount\":\"\u202e00.1\u202c EUR\",\"iban\":\"DE89 \u202e9999 8888\u202c\",\"na\u3164me\":\"ali\u200bce\ufe0f\",\"esc\":\"\\u2066x\"}"
	g := h.shows(posthouse.Gate{
		Name: "pay", Text: "Pay \u202e001\u202c EUR\n  to ali\u200bce", Note: "no\u2060te", Payload: json.RawMessage(payload),
	})
	b := h.openTab(chromium(t), tokens.Approver)
	b.wait(question + " !== null")
	b.wait(question + `.querySelectorAll("details").length > 2`) // what opens loads after the question
	b.do(`for (const d of document.querySelectorAll("article details")) d.open = true`)
	b.wait(question + `.querySelector("pre") !== null`)
	page := b.text(`document.body.textContent`)
	if bad := text.HiddenIn(page); bad != nil {
		t.Errorf("the inbox shows %v raw", bad)
	}
	for _, want := range []string{"Pay ‹U+202E›001‹U+202C› EUR", "to ali‹U+200B›ce", "‹U+202E›00.1‹U+202C› EUR", `"\u202e00.1\u202c EUR"`, `"na\u3164me": "ali\u200bce\ufe0f"`, "no‹U+2060›te"} {
		if !strings.Contains(page, want) {
			t.Errorf("the inbox lacks %q:\n%s", want, page)
		}
	}
	warnings := `[...document.querySelectorAll("article [role=note]")].map((e) => e.textContent).join(" ")`
	for _, mark := range []string{"‹U+202E›", "‹U+202C›", "‹U+200B›", "‹U+3164›", "‹U+FE0F›", "‹U+2060›", "‹U+2066›"} {
		if warning := b.text(warnings); !strings.Contains(warning, mark) {
			t.Errorf("the warning lacks %s: %s", mark, warning)
		}
	}
	b.press("article footer", "Edit")
	b.write(reason, "fi\u200dne")
	b.wait(warnings + `.includes("‹U+200D›")`)
	b.press("[aria-label=value]", "JSON")
	b.wait(raw + " !== null")
	if start := b.text(raw + ".value"); text.HiddenIn(start) != nil {
		t.Errorf("an edit begins with %q", start)
	}
	b.send("Approve as edited", "fi\u200dne")
	now, err := h.ledger.Gate(t.Context(), g.ID)
	must.Do(t, err)
	if now.Decision == nil || string(now.Decision.Value) != string(now.Payload) {
		t.Errorf("an edit that changes nothing is %+v of %s", now.Decision, now.Payload)
	}
	var api posthouse.Gate
	h.get("/api/gates/" + string(g.ID)).into(&api)
	if api.Text != g.Text || string(api.Payload) != string(g.Payload) {
		t.Errorf("the API changed what is on record: %q, %s", api.Text, api.Payload)
	}

	p := h.openPage(chromium(t), tokens.Viewer, "/gates/"+string(g.ID))
	p.wait(`document.querySelector("[aria-label='what happened']") !== null`)
	page = p.text(`document.body.textContent`)
	if bad := text.HiddenIn(page); bad != nil || !strings.Contains(page, "Pay ‹U+202E›001") || !strings.Contains(page, "fi‹U+200D›ne") {
		t.Errorf("the gate's page shows %v raw:\n%s", bad, page)
	}
	if title := p.text("document.title"); text.HiddenIn(title) != nil {
		t.Errorf("its title is %q", title)
	}
}

// TestPageSaysHowItEnded: a decision does not look like one that went through if its
// work fails, now or after a reload.
func TestPageSaysHowItEnded(t *testing.T) {
	running := chromium(t)
	for name, x := range map[string]struct{ fails, says string }{
		"failed": {closed, "The run failed: " + closed}, "done": {"", "The run is done."},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, nil)
			h.program.fails = x.fails
			_, g := h.waiting("t1")
			b := h.openTab(running, tokens.Approver)
			b.decide("Approve", "")
			b.wait(outcome + " !== null")
			if said := b.text(outcome + ".textContent"); !strings.Contains(said, x.says) {
				t.Errorf("the page says %q", said)
			}
			p := h.openPage(running, tokens.Viewer, "/gates/"+string(g.ID))
			p.wait(`document.querySelector("[aria-label='what happened']") !== null`)
			if x.fails != "" {
				p.wait(fmt.Sprintf(`document.querySelector("article [role=alert]")?.textContent.includes(%q)`, closed))
			}
		})
	}
}

// TestPageReachesTheNewest: of more gates than a page has, each can be reached.
func TestPageReachesTheNewest(t *testing.T) {
	h := open(t, nil)
	for i := range 205 {
		h.waiting(fmt.Sprintf("t%03d", i))
	}
	rows := `document.querySelectorAll("main li a[href*=gate]").length`
	b := h.openTab(chromium(t), tokens.Approver)
	b.wait(rows + " === 200")
	b.wait(`document.querySelector("main").textContent.includes("205")`)
	b.press("main", "Show more")
	b.wait(rows + " === 205")
	if page := b.seen(); !strings.Contains(page, "t000") || !strings.Contains(page, "t204") || strings.Contains(page, "Show more") {
		t.Errorf("not all are there: %.400s", page)
	}
}

// TestRestartKeepsLoginAndText: a server that is started again on its directory knows who
// is logged in, and what somebody typed is still there to be sent.
func TestRestartKeepsLoginAndText(t *testing.T) {
	h := open(t, nil)
	_, g := h.waiting("t1")
	b := h.openTab(chromium(t), tokens.Approver)
	b.press("article footer", "Approve")
	b.write(reason, "within the limit")

	options := Options{Ledger: h.ledger, Tokens: h.tokens, Runner: h.program, Limits: Limits{Wait: 10 * time.Second}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	must.Do(t, h.server.Close(ctx))
	again, err := New(options)
	must.Do(t, err)
	h.http.Config.Handler = again
	h.server = again

	b.wait(`document.querySelector("header [aria-label=live]") !== null`)
	if typed := b.text(reason + ".value"); typed != "within the limit" {
		t.Errorf("what was typed is %q", typed)
	}
	b.press("article footer form", "Approve")
	b.wait(outcome + ` !== null || document.querySelector("article footer [role=alert]") !== null`)
	now, err := h.ledger.Gate(t.Context(), g.ID)
	must.Do(t, err)
	if now.Decision == nil || now.Decision.Reason != "within the limit" || now.Decision.By != "approver-token" {
		t.Errorf("the decision is %+v: %s", now.Decision, b.seen())
	}
}
