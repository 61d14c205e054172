package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse"
)

// A dial is a clock that tests turn.
type dial struct{ t atomic.Int64 }

func newDial() *dial {
	d := &dial{}
	d.t.Store(time.Date(2030, 1, 1, 12, 0, 30, 0, time.UTC).Unix())
	return d
}

func (d *dial) now() time.Time          { return time.Unix(d.t.Load(), 0).UTC() }
func (d *dial) turn(by time.Duration)   { d.t.Add(int64(by / time.Second)) }
func (d *dial) options() *TokensOptions { return &TokensOptions{Now: d.now} }

func TestTokenExpires(t *testing.T) {
	clock, dir := newDial(), t.TempDir()
	ts, err := OpenTokens(dir, clock.options())
	check(t, err)
	until := clock.now().Add(time.Hour)
	for _, past := range []time.Time{clock.now(), clock.now().Add(-time.Second)} {
		_, err = ts.Create("alice", Approver, &TokenOptions{ExpiresAt: past})
		wantCode(t, err, posthouse.CodeInvalid)
	}
	secret, err := ts.Create("alice", Approver, &TokenOptions{ExpiresAt: until.Add(999 * time.Millisecond)})
	check(t, err)
	tok, ok, err := ts.authenticate(secret)
	if check(t, err); !ok || !tok.ExpiresAt.Equal(until) {
		t.Fatalf("authenticate says %+v, %v", tok, ok)
	}
	clock.turn(time.Hour - time.Second)
	if ok, err := ts.current(tok); !ok || err != nil {
		t.Errorf("a second before its time it is %v, %v", ok, err)
	}
	clock.turn(time.Second)
	if _, ok, err := ts.authenticate(secret); ok || err != nil {
		t.Errorf("after its time it is %v, %v", ok, err)
	}
	if ok, err := ts.current(tok); ok || err != nil {
		t.Errorf("after its time a session of it is %v, %v", ok, err)
	}
	if ok, err := ts.Valid(secret); ok || err != nil {
		t.Errorf("after its time it is valid: %v, %v", ok, err)
	}
	again, err := ts.Create("alice", Viewer, nil) // in the place of the one that expired
	check(t, err)
	list, err := ts.List()
	if check(t, err); len(list) != 1 || list[0].Role != Viewer || !list[0].ExpiresAt.IsZero() {
		t.Errorf("the list is %+v", list)
	}
	if _, ok, _ := ts.authenticate(secret); ok {
		t.Error("the secret that expired is good again")
	}
	if _, ok, _ := ts.authenticate(again); !ok {
		t.Error("the new secret is not good")
	}
}

// TestTokensFileVersion: a program that knows nothing of expiry must refuse a file
// that has it, and go on with one that has none.
func TestTokensFileVersion(t *testing.T) {
	ts, dir := newTokens(t)
	version := func() int {
		t.Helper()
		var file struct{ Version int }
		data, err := os.ReadFile(filepath.Join(dir, TokensFile))
		check(t, err)
		check(t, json.Unmarshal(data, &file))
		if has := strings.Contains(string(data), "expiresAt"); has != (file.Version == 2) {
			t.Errorf("version %d, expiry on it %v", file.Version, has)
		}
		return file.Version
	}
	_, err := ts.Create("op", Operator, nil)
	check(t, err)
	if v := version(); v != 1 {
		t.Errorf("the version is %d", v)
	}
	_, err = ts.Create("bob", Viewer, &TokenOptions{ExpiresAt: ts.now().Add(time.Hour)})
	check(t, err)
	if v := version(); v != 2 {
		t.Errorf("with a token that expires the version is %d", v)
	}
	if _, err := OpenTokens(dir, nil); err != nil {
		t.Error(err)
	}
	check(t, ts.Revoke("bob", nil))
	if v := version(); v != 1 {
		t.Errorf("without one again it is %d", v)
	}
}

func TestLastOperatorStays(t *testing.T) {
	clock, dir := newDial(), t.TempDir()
	ts, err := OpenTokens(dir, clock.options())
	check(t, err)
	_, err = ts.Create("op", Operator, nil)
	check(t, err)
	_, err = ts.Create("vera", Approver, nil)
	check(t, err)
	_, err = ts.Create("guest", Operator, &TokenOptions{ExpiresAt: clock.now().Add(time.Hour)})
	check(t, err)
	other, err := OpenTokens(dir, clock.options()) // takes one away beside this
	check(t, err)
	check(t, other.Revoke("op", nil)) // guest is left
	err = ts.Revoke("guest", nil)
	wantCode(t, err, posthouse.CodeConflict)
	if e := new(posthouse.Error); !errors.As(err, &e) || !strings.Contains(e.Hint, "posthouse token create") || !strings.Contains(e.Hint, "--yes") {
		t.Errorf("the hint is %q", e.Hint)
	}
	list, err := ts.List()
	if check(t, err); len(list) != 2 {
		t.Errorf("the tokens are %+v", list)
	}
	_, err = ts.Create("op", Operator, nil)
	check(t, err)
	clock.turn(time.Hour)
	wantCode(t, ts.Revoke("op", nil), posthouse.CodeConflict) // guest has expired
	check(t, ts.Revoke("guest", nil))                         // what has expired is no operator
	check(t, ts.Revoke("vera", nil))
	check(t, ts.Revoke("op", &RevokeOptions{LastOperator: true}))
	if _, err := ts.Create("op", Operator, nil); err != nil {
		t.Errorf("with the directory in hand there is a way back: %v", err)
	}
}

// TestExpiryEndsWhatIsOpen: requests, logins, streams and WebSockets.
func TestExpiryEndsWhatIsOpen(t *testing.T) {
	clock := newDial()
	ts, err := OpenTokens(t.TempDir(), clock.options())
	check(t, err)
	h := open(t, func(o *Options) { o.Tokens = ts })
	secret, err := ts.Create("guest", Operator, &TokenOptions{ExpiresAt: clock.now().Add(time.Hour)})
	check(t, err)
	h.secrets[Operator] = secret

	h.get("/api/me").want(http.StatusOK)
	cookie := h.login(Operator)
	page := func() *reply {
		return h.send(ask{method: "GET", path: "/api/me", as: "-", header: []string{"Cookie: " + cookie.String()}})
	}
	page().want(http.StatusOK)
	events := h.listen(ask{method: "GET", path: "/api/events"})
	socket := h.mustDial("/agent/dispatch", nil, h.bearer(Operator))
	late := h.mustDial("/agent/dispatch", []string{"posthouse"})

	clock.turn(time.Hour)
	p := h.get("/api/me").refused(CodeUnauthenticated)
	if !strings.Contains(p.Detail, "expired") || !strings.Contains(p.Detail, "guest") || !strings.Contains(p.Hint, "posthouse token create") {
		t.Errorf("the refusal is %+v", p)
	}
	page().refused(CodeUnauthenticated)
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
	ts, err := OpenTokens(dir, clock.options())
	check(t, err)
	h := open(t, func(o *Options) { o.Tokens = ts })
	h.secrets[Operator], err = ts.Create("op", Operator, nil)
	check(t, err)
	_, err = ts.Create("idle", Viewer, nil)
	check(t, err)
	used := func() map[string]string {
		t.Helper()
		other, err := OpenTokens(dir, nil) // as another process sees it
		check(t, err)
		list, err := other.List()
		check(t, err)
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
		h.server.running.Wait() // nothing else runs: what is written behind the answers
		if u := used(); len(u) != 1 || u["op"] != want {
			t.Errorf("used: %v, want op at %s", u, want)
		}
	}
	h.get("/api/me").want(http.StatusOK)
	saved("2030-01-01T12:00:00Z")
	path := filepath.Join(dir, tokensUsedFile)
	before, err := os.Stat(path)
	check(t, err)
	if before.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v", before.Mode())
	}
	h.get("/api/me").want(http.StatusOK) // in the same minute nothing is written
	h.server.running.Wait()
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was written again: %v", err)
	}
	clock.turn(time.Minute)
	h.get("/api/me").want(http.StatusOK)
	saved("2030-01-01T12:01:00Z")

	for _, broken := range []string{"", "{", `{"x":1}`, "null", `{"` + strings.Repeat("00", 32) + `":"yesterday"}`} {
		check(t, os.WriteFile(path, []byte(broken), 0o600))
		if u := used(); len(u) != 0 {
			t.Errorf("%q says %v", broken, u)
		}
		clock.turn(time.Minute)
		h.get("/api/me").want(http.StatusOK)
		saved(clock.now().Truncate(time.Minute).Format(time.RFC3339))
	}
	check(t, os.Remove(path))
	check(t, os.Mkdir(path, 0o700)) // it cannot be written
	clock.turn(time.Minute)
	h.get("/api/me").want(http.StatusOK)
	h.server.running.Wait()
	if !strings.Contains(h.log.String(), "when tokens were last used") {
		t.Error("the log says nothing")
	}
	check(t, os.Remove(path))
	clock.turn(time.Minute)
	h.get("/api/me").want(http.StatusOK)
	saved(clock.now().Truncate(time.Minute).Format(time.RFC3339))

	check(t, h.server.Close(context.Background()))
}
