package server

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// A dial is a clock that tests turn.
type dial struct{ t atomic.Int64 }

func newDial() *dial {
	d := &dial{}
	d.t.Store(time.Date(2030, 1, 1, 12, 0, 30, 0, time.UTC).Unix())
	return d
}

func (d *dial) now() time.Time           { return time.Unix(d.t.Load(), 0).UTC() }
func (d *dial) turn(by time.Duration)    { d.t.Add(int64(by / time.Second)) }
func (d *dial) options() *tokens.Options { return &tokens.Options{Now: d.now} }

// TestExpiryEndsWhatIsOpen: requests, logins, streams and WebSockets.
func TestExpiryEndsWhatIsOpen(t *testing.T) {
	clock := newDial()
	ts, err := tokens.Open(t.TempDir(), clock.options())
	must.Do(t, err)
	h := open(t, func(o *Options) { o.Tokens = ts })
	secret, err := ts.Create("guest", tokens.Operator, &tokens.CreateOptions{ExpiresAt: clock.now().Add(time.Hour)})
	must.Do(t, err)
	h.secrets[tokens.Operator] = secret

	h.get("/api/me").want(http.StatusOK)
	cookie := h.login(tokens.Operator)
	page := func() *reply {
		return h.send(ask{method: "GET", path: "/api/me", as: "-", header: []string{"Cookie: " + cookie.String()}})
	}
	page().want(http.StatusOK)
	events := h.listen(ask{method: "GET", path: "/api/events"})
	socket := h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	late := h.mustDial("/agent/dispatch", []string{"posthouse"})

	clock.turn(time.Hour)
	p := h.get("/api/me").refused(problem.CodeUnauthenticated)
	if !strings.Contains(p.Detail, "expired") || !strings.Contains(p.Detail, "guest") || !strings.Contains(p.Hint, "posthouse token create") {
		t.Errorf("the refusal is %+v", p)
	}
	page().refused(problem.CodeUnauthenticated)
	a := h.send(ask{method: "POST", path: "/login", as: "-", body: "token=" + secret, header: form}).want(http.StatusUnauthorized)
	if !strings.Contains(string(a.body), "expired") {
		t.Errorf("the login page says %s", a.body)
	}
	late.say(`{"token":"` + secret + `"}`)
	if e := late.want("error").Error; !strings.Contains(e.Detail, "expired") {
		t.Errorf("a conversation that begins is told %+v", e)
	}
	late.wantClose(websocket.StatusPolicyViolation)
	defer h.beating()()
	events.wantEnd()
	socket.want("error")
	socket.wantClose(websocket.StatusPolicyViolation)
}

func TestLastUsed(t *testing.T) {
	clock, dir := newDial(), t.TempDir()
	ts, err := tokens.Open(dir, clock.options())
	must.Do(t, err)
	h := open(t, func(o *Options) { o.Tokens = ts })
	h.secrets[tokens.Operator], err = ts.Create("op", tokens.Operator, nil)
	must.Do(t, err)
	_, err = ts.Create("idle", tokens.Viewer, nil)
	must.Do(t, err)
	used := func() map[string]string {
		t.Helper()
		other, err := tokens.Open(dir, nil) // as another process sees it
		must.Do(t, err)
		list, err := other.All()
		must.Do(t, err)
		m := map[string]string{}
		for _, x := range list {
			if !x.LastUsedAt.IsZero() {
				m[x.Name] = x.LastUsedAt.Format(time.RFC3339)
			}
		}
		return m
	}
	saved := func(want string) {
		t.Helper()
		h.server.life.Wait() // for what is written after the answers; nothing else runs
		if u := used(); len(u) != 1 || u["op"] != want {
			t.Errorf("used: %v, want op at %s", u, want)
		}
	}
	h.get("/api/me").want(http.StatusOK)
	saved("2030-01-01T12:00:00Z")
	path := filepath.Join(dir, "tokens-used.json")
	before, err := os.Stat(path)
	must.Do(t, err)
	if before.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v", before.Mode())
	}
	h.get("/api/me").want(http.StatusOK) // in the same minute nothing is written
	h.server.life.Wait()
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was written again: %v", err)
	}
	clock.turn(time.Minute)
	h.get("/api/me").want(http.StatusOK)
	saved("2030-01-01T12:01:00Z")

	for _, broken := range []string{"", "{", `{"x":1}`, "null", `{"` + strings.Repeat("00", 32) + `":"yesterday"}`} {
		must.Do(t, os.WriteFile(path, []byte(broken), 0o600))
		if u := used(); len(u) != 0 {
			t.Errorf("%q says %v", broken, u)
		}
		clock.turn(time.Minute)
		h.get("/api/me").want(http.StatusOK)
		saved(clock.now().Truncate(time.Minute).Format(time.RFC3339))
	}
	must.Do(t, os.Remove(path))
	must.Do(t, os.Mkdir(path, 0o700)) // it cannot be written
	clock.turn(time.Minute)
	h.get("/api/me").want(http.StatusOK)
	h.server.life.Wait()
	if !strings.Contains(h.log.String(), "when tokens were last used") {
		t.Error("the log says nothing")
	}
	must.Do(t, os.Remove(path))
	clock.turn(time.Minute)
	h.get("/api/me").want(http.StatusOK)
	saved(clock.now().Truncate(time.Minute).Format(time.RFC3339))

	must.Do(t, h.server.Close(context.Background()))
}
