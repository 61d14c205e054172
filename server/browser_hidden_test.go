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
	b.wait(is("payload") + " !== null")
	page := b.text(`document.body.textContent`)
	if bad := text.HiddenIn(page); bad != nil {
		t.Errorf("the inbox shows %v raw", bad)
	}
	for _, want := range []string{"Pay ‹U+202E›001‹U+202C› EUR\n  to ali‹U+200B›ce", `"\u202e00.1\u202c EUR"`, `"na\u3164me": "ali\u200bce\ufe0f"`, "no‹U+2060›te"} {
		if !strings.Contains(page, want) {
			t.Errorf("the inbox lacks %q:\n%s", want, page)
		}
	}
	for _, mark := range []string{"‹U+202E›", "‹U+202C›", "‹U+200B›", "‹U+3164›", "‹U+FE0F›", "‹U+2060›", "‹U+2066›"} {
		if warning := b.text(is("hidden") + ".textContent"); !strings.Contains(warning, mark) {
			t.Errorf("the warning lacks %s: %s", mark, warning)
		}
	}
	b.do(`const r = document.querySelector("article.gate input[name=reason]"); r.value = "fi\u200dne"; r.dispatchEvent(new Event("input", {bubbles: true}))`)
	if warning := b.text(is("typed") + ".textContent"); !strings.Contains(warning, "‹U+200D›") {
		t.Errorf("a reason with a hidden character: %q", warning)
	}
	b.do(fmt.Sprintf(button, "edit") + ".click()")
	if start := b.text(field + ".value"); text.HiddenIn(start) != nil {
		t.Errorf("an edit begins with %q", start)
	}
	b.do(is("send") + ".click()")
	b.wait(`document.querySelector("article.gate.settled") !== null || document.querySelector("article.gate p.bad") !== null`)
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
	p.wait(`document.querySelector("#card:not([hidden]) [data-is=decision]")?.textContent`)
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
	for name, x := range map[string]struct{ fails, says, class string }{
		"failed": {closed, "It failed: " + closed, "failed"}, "done": {"", "The run is done.", "settled"},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, nil)
			h.program.fails = x.fails
			_, g := h.waiting("t1")
			b := h.openTab(running, tokens.Approver)
			b.wait(is("payload") + " !== null")
			b.do(fmt.Sprintf(button, "approve") + ".click()")
			b.wait(`document.querySelector("article.gate.settled") !== null`)
			if said := b.text(is("outcome") + ".textContent"); !strings.Contains(said, x.says) {
				t.Errorf("the page says %q", said)
			}
			bad := x.fails != ""
			if class := b.text(`document.querySelector("article.gate").className + " " + ` + is("outcome") + `.className`); !strings.Contains(class, x.class) || strings.Contains(class, "bad") != bad {
				t.Errorf("it looks like %q", class)
			}
			p := h.openPage(running, tokens.Viewer, "/gates/"+string(g.ID))
			p.wait(`document.querySelector("#card:not([hidden])") !== null`)
			if bad {
				p.wait(`!document.querySelector("[data-is=ended]").hidden`)
				if said := p.text(`document.querySelector("[data-is=ended]").textContent`); !strings.Contains(said, closed) {
					t.Errorf("the gate's page says %q", said)
				}
			}
		})
	}
}

// TestPageReachesTheOldest: of more gates than a page has, each can be reached.
func TestPageReachesTheOldest(t *testing.T) {
	h := open(t, nil)
	for i := range 205 {
		h.waiting(fmt.Sprintf("t%03d", i))
	}
	running := chromium(t)
	threads := `[...document.querySelectorAll("article.gate [data-is=thread]")].map((e) => e.textContent).join(" ")`
	b := h.openTab(running, tokens.Approver)
	b.wait(`document.querySelectorAll("article.gate").length === 200`)
	if said := b.text(`document.querySelector("#count").textContent`); said != "200 or more waiting" {
		t.Errorf("it says %q", said)
	}
	b.do(`document.querySelector("#showMore").click()`)
	b.wait(`document.querySelectorAll("article.gate").length === 205`)
	if said := b.text(`document.querySelector("#count").textContent + document.querySelector("#more").hidden`); said != "205 waitingtrue" {
		t.Errorf("it says %q", said)
	}
	if order := b.text(threads); !strings.Contains(order, "t000") {
		t.Errorf("the oldest is not there: %s", order)
	}
	o := h.openPage(running, tokens.Approver, "/#oldest")
	o.wait(`document.querySelectorAll("article.gate").length === 200`)
	if order := o.text(threads); !strings.HasPrefix(order, "t000 t001 ") {
		t.Errorf("the oldest first: %.40s", order)
	}
}

// TestRestartKeepsLoginAndText: a server that is started again on its directory knows who
// is logged in, and what somebody typed is still there to be sent.
func TestRestartKeepsLoginAndText(t *testing.T) {
	h := open(t, nil)
	_, g := h.waiting("t1")
	b := h.openTab(chromium(t), tokens.Approver)
	b.wait(is("payload") + " !== null")
	b.do(`document.querySelector("article.gate input[name=reason]").value = "within the limit"`)

	options := Options{Ledger: h.ledger, Tokens: h.tokens, Runner: h.program, Limits: Limits{Wait: 10 * time.Second}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	must.Do(t, h.server.Close(ctx))
	again, err := New(options)
	must.Do(t, err)
	h.http.Config.Handler = again
	h.server = again

	b.wait(`document.querySelector("#live").textContent === "live"`)
	b.do(fmt.Sprintf(button, "approve") + ".click()")
	b.wait(`document.querySelector("article.gate.settled") !== null || document.querySelector("article.gate p.bad") !== null`)
	now, err := h.ledger.Gate(t.Context(), g.ID)
	must.Do(t, err)
	if now.Decision == nil || now.Decision.Reason != "within the limit" || now.Decision.By != "approver-token" {
		t.Errorf("the decision is %+v: %s", now.Decision, b.text(is("outcome")+".textContent"))
	}
}
