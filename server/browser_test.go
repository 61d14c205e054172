package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// A tab is the inbox page in a real browser, as somebody sees it.
type tab struct {
	t    *testing.T
	ctx  context.Context
	page *browserPage
}

// chromium starts a browser. If no browser is installed, or it does not start, the test is
// skipped, unless POSTHOUSE_REQUIRE_SERVICES is set, as continuous integration does.
func chromium(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes its time to start")
	}
	path, err := findBrowser()
	var b *browser
	if err == nil {
		b, err = startBrowser(t.Context(), path)
	}
	if err != nil && os.Getenv("POSTHOUSE_REQUIRE_SERVICES") == "" {
		t.Skip(err)
	}
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, b.Close()) })
	return b
}

// TestBrowserThatDoesNotStart: the error says which program it is and what that said.
func TestBrowserThatDoesNotStart(t *testing.T) {
	program := filepath.Join(t.TempDir(), "chromium")
	must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\necho libnss3.so is missing >&2\nexit 127\n"), 0o700))
	for _, path := range []string{program, filepath.Join(t.TempDir(), "gone")} {
		b, err := startBrowser(t.Context(), path)
		if b != nil || err == nil || !strings.Contains(err.Error(), path+" does not start") {
			t.Errorf("starting %s returns %v, %v", path, b, err)
		}
		if path == program && err != nil && !strings.Contains(err.Error(), "libnss3.so is missing") {
			t.Errorf("the error does not say what is missing: %v", err)
		}
	}
}

// openTab logs in and opens the inbox.
func (h *testServer) openTab(b *browser, r tokens.Role) *tab {
	h.t.Helper()
	return h.openPage(b, r, "")
}

// openPage logs in and opens a page.
func (h *testServer) openPage(b *browser, r tokens.Role, path string) *tab {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	h.t.Cleanup(cancel)
	page, err := b.Open(ctx, h.http.URL+path, h.login(r))
	must.Do(h.t, err)
	return &tab{h.t, ctx, page}
}

// wait ends when expression is true, and fails the test with what is on the screen after a minute.
func (b *tab) wait(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := b.page.Wait(ctx, expression); err != nil {
		b.t.Fatalf("%s: %v, on the screen is\n%s", expression, err, b.seen())
	}
}

func (b *tab) do(statements string) {
	b.t.Helper()
	must.Do(b.t, b.page.Eval(b.ctx, "{"+statements+"}", nil))
}

func (b *tab) text(expression string) (s string) {
	b.t.Helper()
	must.Do(b.t, b.page.Eval(b.ctx, expression, &s))
	return s
}

// What the tests look at: the one question on the screen, and what became of it.
const (
	question = `document.querySelector("article[aria-label]")`
	outcome  = `document.querySelector("[aria-label=outcome]")`
	reason   = `document.querySelector("form [aria-label=reason]")`
	raw      = `document.querySelector("[aria-label='value, as JSON']")`
)

// press clicks the button of the question that begins with a word.
func (b *tab) press(within, word string) {
	b.t.Helper()
	button := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.offsetParent && !e.disabled && e.textContent.startsWith(%q))`, within+" button", word)
	b.wait(button + " !== undefined")
	b.do(button + ".click()")
}

// write types a text into a field, as a person does who pastes it.
func (b *tab) write(field, text string) {
	b.t.Helper()
	b.wait(field + " !== null")
	b.do(fmt.Sprintf(`const f = %s; Object.getOwnPropertyDescriptor(Object.getPrototypeOf(f), "value").set.call(f, %q); f.dispatchEvent(new Event("input", {bubbles: true}))`, field, text))
}

// decide gives a verdict with a reason, and waits for what is said of it.
func (b *tab) decide(verb, why string) {
	b.t.Helper()
	b.press("article footer", verb)
	b.send(verb, why)
}

// send confirms a verdict that was begun.
func (b *tab) send(verb, why string) {
	b.t.Helper()
	b.write(reason, why)
	b.press("article footer form", verb)
	b.wait(outcome + ` !== null || document.querySelector("article footer [role=alert]") !== null`)
}

// seen returns the text on the screen.
func (b *tab) seen() string {
	b.t.Helper()
	return b.text("document.body.innerText")
}

// shows opens one gate that shows payload.
func (h *testServer) shows(g posthouse.Gate) *posthouse.Gate {
	h.t.Helper()
	state := posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: g.Payload}}
	c, err := h.ledger.Commit(h.t.Context(), &ledger.Draft{
		Thread: "t1", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, State: state}, Gates: []posthouse.Gate{g},
	})
	must.Do(h.t, err)
	return &c.Gates[0]
}

// TestPageKeepsTheTextOnRecord looks at numbers no float can hold: people must
// see them as they are, and an edit of another member must not change them.
func TestPageKeepsTheTextOnRecord(t *testing.T) {
	h := open(t, nil)
	const payload = `{"account":9007199254740993,"amount":12345678901234567890.12,"tiny":1e400,"list":[1.0,-0,{"deep":100000000000000000001}],"__proto__":1E+2,"text":"a <b> & \u0000 \u00e9","note":"old"}`
	g := h.shows(posthouse.Gate{Name: "pay", Text: "Pay?", Payload: json.RawMessage(payload)})
	b := h.openTab(chromium(t), tokens.Approver)
	b.wait(question + " !== null")
	pretty := strings.ReplaceAll(indented(t, payload), `\u00e9`, "é") // an escape that says nothing
	for _, want := range []string{"9007199254740993", "12345678901234567890.12", "1e400", "1.0", "-0", "100000000000000000001", "1E+2", "a <b> & ‹U+0000› é"} {
		if shown := b.seen(); !strings.Contains(shown, want) {
			t.Errorf("the page does not show %s:\n%s", want, shown)
		}
	}
	b.wait(question + `.querySelectorAll("details").length > 2`) // what opens loads after the question
	b.do(`for (const d of document.querySelectorAll("article details")) d.open = true`)
	b.wait(question + `.querySelector("pre") !== null`)
	if shown := b.text(question + `.querySelector("pre").textContent`); shown != pretty {
		t.Errorf("the page shows\n%s\nand on record is\n%s", shown, pretty)
	}
	b.wait(`document.body.innerText.split("9007199254740993").length > 3`) // the state, too
	b.press("article footer", "Edit")
	b.press("[aria-label=value]", "JSON")
	b.wait(raw + " !== null")
	filled := b.text(raw + ".value")
	if filled != pretty {
		t.Errorf("an edit begins with\n%s", filled)
	}
	b.write(raw, strings.Replace(filled, `"old"`, `"new"`, 1))
	b.send("Approve as edited", "")
	now, err := h.ledger.Gate(t.Context(), g.ID)
	must.Do(t, err)
	if now.Decision == nil {
		t.Fatalf("nothing is decided: %s", b.seen())
	}
	if got, want := string(now.Decision.Value), strings.Replace(string(now.Payload), `"old"`, `"new"`, 1); got != want {
		t.Errorf("the edit sent\n%s\nnot\n%s", got, want)
	}
}

func indented(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, json.Indent(&b, []byte(text), "", "  "))
	return b.String()
}

// TestPageEditsBySchema edits gates with a payload that shows more than an edit
// may carry, or less than it must.
func TestPageEditsBySchema(t *testing.T) {
	running := chromium(t)
	for name, x := range map[string]struct{ payload, schema, filled, change, to, sent string }{
		"the sample's": {
			`{"request":"please refund order 1234","recommendation":{"risk":"low"}}`,
			`{"type":"object","properties":{"request":{"type":"string","minLength":1}},"required":["request"],"additionalProperties":false}`,
			`{"request":"please refund order 1234"}`, "1234", "99", `{"request":"please refund order 99"}`,
		},
		"nested": {
			`{"to":{"iban":12345678901234567890,"seen":true},"why":"x"}`,
			`{"type":"object","properties":{"to":{"type":"object","properties":{"iban":{"type":"integer"}},"additionalProperties":false},"why":{"type":"string"}},"additionalProperties":false}`,
			`{"to":{"iban":12345678901234567890},"why":"x"}`, `"x"`, `"y"`, `{"to":{"iban":12345678901234567890},"why":"y"}`,
		},
		"what is required and not shown": {
			`{"question":"how much?"}`,
			`{"type":"object","properties":{"amount":{"type":"number"},"currency":{"type":"string","default":"EUR"}},"required":["amount","currency"],"additionalProperties":false}`,
			`{"amount":null,"currency":"EUR"}`, `null`, `10.10`, `{"amount":10.10,"currency":"EUR"}`,
		},
		"open": {
			`{"a":1,"b":2.50}`, `{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1,"b":2.50}`, `1`, `7`, `{"a":7,"b":2.50}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, nil)
			g := h.shows(posthouse.Gate{Name: "pay", Text: "Pay?", Payload: json.RawMessage(x.payload), Schema: json.RawMessage(x.schema)})
			b := h.openTab(running, tokens.Approver)
			b.press("article footer", "Edit")
			b.press("[aria-label=value]", "JSON")
			b.wait(raw + " !== null")
			filled := b.text(raw + ".value")
			if filled != indented(t, x.filled) {
				t.Errorf("an edit begins with\n%s", filled)
			}
			b.write(raw, strings.Replace(filled, x.change, x.to, 1))
			b.send("Approve as edited", "")
			now, err := h.ledger.Gate(t.Context(), g.ID)
			must.Do(t, err)
			if now.Decision == nil {
				t.Fatalf("nothing is decided: %s", b.seen())
			}
			if string(now.Decision.Value) != x.sent {
				t.Errorf("it sent %s", now.Decision.Value)
			}
		})
	}
}

// TestPageKnowsWhoIsThere logs in as each role.
func TestPageKnowsWhoIsThere(t *testing.T) {
	h := open(t, nil)
	h.shows(posthouse.Gate{Name: "pay", Text: "Pay?", Payload: json.RawMessage(`{}`)})
	running := chromium(t)
	for _, r := range []tokens.Role{tokens.Viewer, tokens.Approver, tokens.Operator} {
		t.Run(string(r), func(t *testing.T) {
			b := h.openTab(running, r)
			b.wait(question + " !== null")
			if me := b.text(`document.getElementById("account").textContent`); !strings.Contains(me, string(r)+"-token") || !strings.Contains(me, string(r)+":") {
				t.Errorf("the page says %q", me)
			}
			buttons := b.text(`[...document.querySelectorAll("article footer button")].map((e) => e.textContent).join(" ")`)
			barred := strings.Contains(b.seen(), "You are a viewer")
			if strings.Contains(buttons, "Approve") == (r == tokens.Viewer) || barred != (r == tokens.Viewer) {
				t.Errorf("%s: buttons %q, barred %v", r, buttons, barred)
			}
		})
	}
}

// TestASetHidesNothing decides several gates in one table: long values are there as a whole, and what
// is folded has to be opened before anything can be approved.
func TestASetHidesNothing(t *testing.T) {
	h := open(t, nil)
	for i, text := range []string{strings.Repeat("a", 300) + "the end", strings.Repeat("b", 3000) + "far away"} {
		payload := must.Get(json.Marshal(map[string]string{"to": text, "order": strconv.Itoa(i)}))(t)
		h.asking("t"+strconv.Itoa(i), posthouse.Gate{Name: "pay", Text: "Pay?", Payload: payload})
	}
	b := h.openPage(chromium(t), tokens.Approver, "/?set=pay")
	b.wait(`document.querySelector("[aria-label='decide together']") !== null`)
	if page := b.seen(); !strings.Contains(page, "the end") || !strings.Contains(page, `"0"`) || strings.Contains(page, "far away") {
		t.Errorf("the table shows %.500s", page)
	}
	b.press("[aria-label='decide together'] footer", "Show all first")
	b.wait(`document.body.innerText.includes("far away")`)
	b.press("[aria-label='decide together'] footer", "Show all first") // its end was not on the screen yet
	b.press("[aria-label='decide together'] footer", "Approve 2")
	b.wait(reason + " !== null")
}
