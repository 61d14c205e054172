package server

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestAPIPage looks at the page of the API in a browser: it has every path, tries one with a token that
// is in no address, shows numbers and texts as they are, and can be used by the keyboard.
func TestAPIPage(t *testing.T) {
	h := open(t, nil)
	h.saved("t1", `{"account":9007199254740993,"text":"<img src=x onerror=alert(1)> \u202e"}`)
	b := h.openPage(chromium(t), tokens.Viewer, "/docs/api#schema-Event")
	b.wait(`document.querySelectorAll("details.operation code").length > 100`)
	text := b.text(`[...document.querySelectorAll("#paths summary")].map(s => s.textContent).join("\n")`)
	for _, r := range h.server.routes {
		if line := r.Method + strings.TrimSuffix(r.Path, "{$}"); !strings.Contains(text, line) {
			t.Errorf("the page lacks %s %s", r.Method, r.Path)
		}
	}
	b.wait(`document.getElementById("schema-Event").open && document.querySelector("#schema-Event dl") !== null`)

	// By the keyboard: a summary is opened by Enter, a field filled in, the form sent.
	const one = `document.getElementById("get-api-checkpoints")`
	b.do(one + `.querySelector("summary").focus(); document.activeElement.click()`)
	b.wait(one + `.querySelector("form button") !== null`)
	b.do(`document.getElementById("token").value = "ph_wrong"; ` + one + `.querySelector("form").requestSubmit()`)
	b.wait(one + `.querySelector("[role=status]").textContent.startsWith("401")`)
	secret := h.secrets[tokens.Operator]
	b.do(`document.getElementById("token").value = "` + secret + `"; ` + one + `.querySelector("form").requestSubmit()`)
	b.wait(one + `.querySelector("[role=status]").textContent.startsWith("200")`)
	b.wait(one + `.querySelector("pre").textContent.includes("9007199254740993")`)
	if shown := b.text(one + `.querySelector("pre").textContent`); !strings.Contains(shown, "<img src=x") || strings.Contains(shown, "\u202e") {
		t.Errorf("it shows %s", shown)
	}
	if n := b.text(`String(document.querySelectorAll("img").length)`); n != "0" {
		t.Error("a text became an element")
	}
	if all := b.text(`performance.getEntriesByType("resource").map(e => e.name).join("\n") + location.href`); strings.Contains(all, secret) || !strings.Contains(all, "/api/checkpoints") {
		t.Errorf("addresses are %s", all)
	}
	b.do(`const f = document.getElementById("find"); f.value = "gates approve"; f.dispatchEvent(new Event("input"))`)
	b.wait(`document.getElementById("found").textContent !== "" && ` + one + `.hidden`)
	if n := b.text(`String([...document.querySelectorAll("details.operation button, details.operation summary, input, textarea, select")].filter(e => e.tabIndex < 0).length)`); n != "0" {
		t.Errorf("%s controls cannot be reached by the keyboard", n)
	}
}

// TestLoginLink logs a browser in by a link, once. The code is in no address that was asked for, nor in the
// log.
func TestLoginLink(t *testing.T) {
	said := &lockedBuffer{}
	clock := newTestClock()
	h := open(t, func(o *Options) {
		o.Now = clock.now
		o.Logger = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	link := func(as tokens.Role) string {
		path, err := h.server.LoginLink(h.secrets[as])
		must.Do(t, err)
		return path
	}
	if _, err := h.server.LoginLink("ph_wrong"); !errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("a wrong token is %v", err)
	}
	path := link(tokens.Operator)
	_, code, _ := strings.Cut(path, "#code=")
	b := h.openPage(chromium(t), tokens.Viewer, path)
	for b.page.Wait(b.ctx, `location.pathname === "/"`) != nil { // the page that logs in is left on the way
		must.Do(t, b.ctx.Err())
	}
	b.do(`fetch("/api/me").then((answer) => answer.json()).then((me) => { window.me = me.name })`)
	b.wait(`window.me === "operator-token"`)
	if all := b.text(`performance.getEntries().map(e => e.name).join("\n") + location.href`); strings.Contains(all, code) {
		t.Errorf("addresses are %s", all)
	}
	form := func(code string) *reply {
		return h.send(ask{method: "POST", path: "/login", as: "-", body: "token=" + code, header: []string{"Content-Type: application/x-www-form-urlencoded"}})
	}
	if a := form(code).want(http.StatusUnauthorized); !strings.Contains(string(a.body), "used already") {
		t.Errorf("the second time it says %s", a.body)
	}
	_, late, _ := strings.Cut(link(tokens.Operator), "#code=")
	clock.add(11 * time.Minute)
	form(late).want(http.StatusUnauthorized)
	_, gone, _ := strings.Cut(link(tokens.Approver), "#code=")
	must.Do(t, h.tokens.Revoke("approver-token", nil))
	form(gone).want(http.StatusUnauthorized)
	if strings.Contains(said.String(), code) || strings.Contains(said.String(), late) {
		t.Errorf("the log is %s", said.String())
	}
}
