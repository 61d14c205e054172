package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestCallEndsAtItsLimit: the context of an agent ends with Limits.Call.
func TestCallEndsAtItsLimit(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Call = time.Millisecond })
	h.program.handle = func(ctx context.Context, _ string, o *HandleOptions) (*Reply, error) {
		<-ctx.Done()
		return &Reply{Thread: o.Thread, Text: ctx.Err().Error()}, nil
	}
	var r Reply
	h.post("/api/agents/dispatch", `{"message":"x"}`).want(http.StatusOK).into(&r)
	if r.Text != context.DeadlineExceeded.Error() {
		t.Errorf("the agent's context says %q", r.Text)
	}
}

// TestLoginLastsAsLongAsItsLimit: the cookie and the login end with Limits.Session.
func TestLoginLastsAsLongAsItsLimit(t *testing.T) {
	clock := newTestClock()
	h := open(t, func(o *Options) { o.Limits.Session, o.Now = time.Minute, clock.now })
	a := h.send(ask{
		method: "POST", path: "/login", as: "-", body: "token=" + h.secrets[tokens.Viewer],
		header: []string{"Content-Type: application/x-www-form-urlencoded"},
	}).want(http.StatusSeeOther)
	cookie := a.header.Get("Set-Cookie")
	if !strings.Contains(cookie, "Max-Age=60") {
		t.Errorf("the cookie is %q", cookie)
	}
	value, _, _ := strings.Cut(cookie, ";")
	me := ask{method: "GET", path: "/api/me", as: "-", header: []string{"Cookie: " + value}}
	clock.add(time.Minute - time.Second)
	h.send(me).want(http.StatusOK)
	clock.add(time.Second)
	h.send(me).want(http.StatusUnauthorized)
}

// TestSessionIsKeptAsLongAsItsLimit: a client's session that is not used ends after
// Limits.Client.
func TestSessionIsKeptAsLongAsItsLimit(t *testing.T) {
	clock := newTestClock()
	h := open(t, func(o *Options) { o.Limits.Client, o.Now = time.Minute, clock.now })
	restore := func(token string) (i session.SessionInfo) {
		h.send(ask{method: "GET", path: "/api/session", header: []string{session.Header + ": " + token}}).want(http.StatusOK).into(&i)
		return i
	}
	token := restore("new").Token
	clock.add(time.Minute - time.Second)
	if i := restore(token); i.New || i.Token != token {
		t.Errorf("before the limit it is %+v, want that of %s", i, token)
	}
	clock.add(time.Minute)
	if i := restore(token); !i.New || i.Token == token {
		t.Errorf("at the limit it is %+v, want a new one", i)
	}
}

// TestReadyIsAsked: Options.Ready takes the place of the look at the store.
func TestReadyIsAsked(t *testing.T) {
	h := open(t, func(o *Options) { o.Ready = func(context.Context) error { return posthouse.ErrReadOnly } })
	h.send(ask{method: "GET", path: "/readyz", as: "-"}).refused(posthouse.CodeReadOnly)
}
