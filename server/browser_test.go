package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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

func (b *tab) wait(expression string) {
	b.t.Helper()
	must.Do(b.t, b.page.Wait(b.ctx, expression))
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

// is is a part of the page's first card.
func is(name string) string { return `document.querySelector("article.gate [data-is=` + name + `]")` }

const (
	button = `document.querySelector("article.gate button[value=%s]")`
	field  = `document.querySelector("article.gate textarea")`
)

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
	b.wait(is("payload") + " !== null")
	pretty := strings.ReplaceAll(indented(t, payload), `\u00e9`, "é") // an escape that says nothing
	if shown := b.text(is("payload") + ".textContent"); shown != pretty {
		t.Errorf("the page shows\n%s\nand on record is\n%s", shown, pretty)
	}
	b.do(`document.querySelector("article.gate details[data-is=state]").open = true`)
	b.wait(is("state") + `.querySelector("pre").textContent !== "loading"`)
	if shown := b.text(is("state") + `.querySelector("pre").textContent`); shown != pretty {
		t.Errorf("the page shows the state\n%s", shown)
	}
	b.do(fmt.Sprintf(button, "edit") + ".click()")
	if filled := b.text(field + ".value"); filled != pretty {
		t.Errorf("an edit begins with\n%s", filled)
	}
	b.do(field + `.value = ` + field + `.value.replace('"old"', '"new"');` + is("send") + ".click()")
	b.wait(`document.querySelector("article.gate.settled") !== null || document.querySelector("article.gate p.bad") !== null`)
	now, err := h.ledger.Gate(t.Context(), g.ID)
	must.Do(t, err)
	if now.Decision == nil {
		t.Fatalf("nothing is decided: %s", b.text(is("outcome")+".textContent"))
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
			b.wait(is("payload") + " !== null")
			b.do(fmt.Sprintf(button, "edit") + ".click()")
			if filled := b.text(field + ".value"); filled != indented(t, x.filled) {
				t.Errorf("an edit begins with\n%s", filled)
			}
			b.do(fmt.Sprintf(`%s.value = %s.value.replace(%q, %q); %s.click()`, field, field, x.change, x.to, is("send")))
			b.wait(`document.querySelector("article.gate.settled") !== null || document.querySelector("article.gate p.bad") !== null`)
			now, err := h.ledger.Gate(t.Context(), g.ID)
			must.Do(t, err)
			if now.Decision == nil {
				t.Fatalf("nothing is decided: %s", b.text(is("outcome")+".textContent"))
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
			b.wait(is("payload") + ` !== null && document.getElementById("me").textContent !== ""`)
			if me := b.text(`document.getElementById("me").textContent`); !strings.Contains(me, string(r)+"-token") || !strings.Contains(me, string(r)) {
				t.Errorf("the page says %q", me)
			}
			var disabled bool
			must.Do(t, b.page.Eval(b.ctx, fmt.Sprintf(button, "approve")+".disabled", &disabled))
			barred := b.text(is("barred") + ".textContent")
			if disabled != (r == tokens.Viewer) || (barred != "") != (r == tokens.Viewer) {
				t.Errorf("%s: disabled %v, %q", r, disabled, barred)
			}
		})
	}
}

// TestPageReadsJSON gives the page random JSON: read, shown, read again and kept
// to what it was, each token must be the one that was there.
func TestPageReadsJSON(t *testing.T) {
	h := open(t, nil)
	b := h.openTab(chromium(t), tokens.Viewer)
	b.wait(`typeof exact === "object"`)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	texts := []string{`{}`, ` [ ] `, `{"a":1,"a":2.0}`, `"\\"`, `"\\\""`, `[[[]],{"":{}}]`, "{\n\"\\u0026\" :\t1e400 }", `"\ud800"`, strings.Repeat("[", 500) + strings.Repeat("]", 500)}
	for range 2000 {
		texts = append(texts, randomJSON(r, 4))
	}
	sent, err := json.Marshal(texts)
	must.Do(t, err)
	const each = `.map((text) => {
		const tree = exact.read(text), shown = exact.pretty(tree);
		return [exact.compact(tree), exact.compact(exact.keep(exact.read(shown), tree)), JSON.stringify(JSON.parse(text)) === JSON.stringify(JSON.parse(shown)) ? "" : shown];
	})`
	var got [][3]string
	must.Do(t, b.page.Eval(b.ctx, string(sent)+each, &got))
	for i, text := range texts {
		var want bytes.Buffer
		must.Do(t, json.Compact(&want, []byte(text)))
		if got[i] != [3]string{want.String(), want.String(), ""} {
			t.Fatalf("%s is read as %q", text, got[i])
		}
	}
	for _, bad := range []string{``, `{`, `{"a":}`, `01`, `[1,]`, `{"a":1} x`, `nul`} {
		if kind := b.text(fmt.Sprintf("(() => { try { exact.read(%q); return \"read\"; } catch (e) { return e.name; } })()", bad)); kind != "SyntaxError" {
			t.Errorf("%q: kind %s", bad, kind)
		}
	}
}

// randomJSON returns a JSON text with the escapes, spaces and numbers that only
// a reader that keeps texts gives back.
func randomJSON(r *rand.Rand, depth int) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	text := func() string {
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteString(pick("a", "é", `\u00e9`, `\"`, `\\`, `\/`, `\n`, `\u0026`, "&", "<", "\u2028", "😀", `\ud83d\ude00`, "]", "}", ",", ":", "__proto__"))
		}
		return `"` + b.String() + `"`
	}
	kind := r.IntN(6)
	if depth == 0 {
		kind = r.IntN(4)
	}
	space := func() string { return pick("", "", "", " ", "\n\t", "\r\n") }
	switch kind {
	case 0:
		return pick("null", "true", "false")
	case 1:
		return pick("0", "-0", "1.0", "1e400", "-1E-400", "9007199254740993", "12345678901234567890.12", "1e+2", "0.1")
	case 2, 3:
		return text()
	}
	parts := make([]string, r.IntN(4))
	for i := range parts {
		parts[i] = space() + randomJSON(r, depth-1) + space()
		if kind == 4 {
			parts[i] = space() + text() + space() + ":" + parts[i]
		}
	}
	if kind == 4 {
		return "{" + strings.Join(parts, ",") + space() + "}"
	}
	return "[" + strings.Join(parts, ",") + space() + "]"
}
