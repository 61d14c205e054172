package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/tokens"
)

// A testClock is moved by the test, while the server's sweep may look at it.
type testClock struct{ millis atomic.Int64 }

func newTestClock() *testClock {
	c := &testClock{}
	c.millis.Store(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *testClock) now() time.Time      { return time.UnixMilli(c.millis.Load()) }
func (c *testClock) add(d time.Duration) { c.millis.Add(d.Milliseconds()) }

// session asks for a session as a role, by a header's value.
func (h *testServer) session(as tokens.Role, token string) (i session.SessionInfo) {
	h.t.Helper()
	h.send(ask{method: "GET", path: "/api/session", as: as, header: []string{session.Header + ": " + token}}).want(http.StatusOK).into(&i)
	if i.Token == "" {
		h.t.Fatalf("a session without a token: %+v", i)
	}
	return i
}

// TestSessionOfALastingClient does not end while its client is connected, by a
// stream or a socket on which nothing happens. Each way has a server of its own: a
// stream that has just been closed may still take a tick.
func TestSessionOfALastingClient(t *testing.T) {
	ways := map[string]func(h *testServer, tick func(), token string){
		"events": func(h *testServer, tick func(), token string) {
			f := h.listen(ask{method: "GET", path: "/api/events?session=" + token})
			f.want("session")
			for range 30 {
				tick()
				f.want(":")
			}
			f.close()
		},
		"request": func(h *testServer, tick func(), token string) {
			texts := h.telling()
			f, _ := h.dispatch("t1", session.Header+": "+token)
			f.want("session")
			for range 30 {
				tick()
				f.want(":")
			}
			close(texts)
			f.want("done")
			f.wantEnd()
		},
		"socket": func(h *testServer, tick func(), token string) {
			c := h.mustDial("/agent/dispatch?session="+token, nil, h.bearer(tokens.Operator))
			c.want("session")
			read := make(chan error)
			go func() { _, _, err := c.conn.Read(c.ctx); read <- err }() // answers pings
			for range 31 {                                               // a tick is taken once the ping before was answered
				tick()
			}
			must.Do(h.t, c.conn.CloseNow())
			<-read
		},
	}
	for name, stay := range ways {
		t.Run(name, func(t *testing.T) {
			clock := newTestClock()
			h := open(t, func(o *Options) { o.Now = clock.now })
			i := h.session(tokens.Operator, "new")
			stay(h, func() {
				clock.add(time.Hour)
				h.ticks <- time.Time{}
			}, i.Token)
			if again := h.session(tokens.Operator, i.Token); again.New || again.Token != i.Token {
				t.Errorf("behind 30 hours the session is %+v", again)
			}
			clock.add(25 * time.Hour)
			if again := h.session(tokens.Operator, i.Token); !again.New {
				t.Errorf("a day later it is %+v", again)
			}
		})
	}
}

// TestSessions restores a session by each way of naming it, and makes a new one
// of whatever cannot be restored.
func TestSessions(t *testing.T) {
	clock := newTestClock()
	h := open(t, func(o *Options) { o.Now = clock.now })
	var first session.SessionInfo
	body := `{"rooms":["lobby"],"metadata":{"tab":"2"},"thread":"t1"}`
	h.send(ask{method: "PUT", path: "/api/session", as: tokens.Operator, body: body}).want(http.StatusOK).into(&first)
	if !first.New || first.Token == "" || first.Thread != "t1" {
		t.Fatalf("the new session is %+v", first)
	}
	same := func(i session.SessionInfo) {
		t.Helper()
		if i.New || i.Token != first.Token || len(i.Rooms) != 1 || i.Rooms[0] != "lobby" || i.Metadata["tab"] != "2" || i.Thread != "t1" {
			t.Errorf("restored: %+v", i)
		}
	}
	same(h.session(tokens.Operator, first.Token))
	var i session.SessionInfo
	h.send(ask{method: "GET", path: "/api/session", as: tokens.Operator, header: []string{"X-Atmosphere-Session-Token: " + first.Token}}).want(http.StatusOK).into(&i)
	same(i)
	h.send(ask{method: "GET", path: "/api/session?session=" + first.Token, as: tokens.Operator}).want(http.StatusOK).into(&i)
	same(i)
	fresh := func(what string, i session.SessionInfo) {
		t.Helper()
		if !i.New || i.Token == first.Token || len(i.Rooms) != 0 || i.Thread != "" {
			t.Errorf("%s: %+v", what, i)
		}
	}
	fresh("an unknown token", h.session(tokens.Operator, "nobody"))
	fresh("another's token", h.session(tokens.Approver, first.Token))
	fresh("no token", h.session(tokens.Operator, ""))
	same(h.session(tokens.Operator, first.Token)) // whoever tried it did no harm

	clock.add(23 * time.Hour)
	same(h.session(tokens.Operator, first.Token)) // seen again: it lasts another day
	clock.add(23 * time.Hour)
	same(h.session(tokens.Operator, first.Token))
	clock.add(25 * time.Hour)
	fresh("an expired token", h.session(tokens.Operator, first.Token))
	n, err := resourceOf[*session.Sessions](h).Store.RemoveExpired(t.Context())
	must.Do(t, err)
	if left, _ := resourceOf[*session.Sessions](h).Store.RemoveExpired(t.Context()); left != 0 || n > 4 {
		t.Errorf("%d expired, then %d", n, left)
	}
	i = h.session(tokens.Operator, "")
	h.send(ask{method: "DELETE", path: "/api/session", as: tokens.Approver, header: []string{session.Header + ": " + i.Token}}).want(http.StatusNoContent)
	if again := h.session(tokens.Operator, i.Token); again.New {
		t.Error("somebody else ended it")
	}
	h.send(ask{method: "DELETE", path: "/api/session", as: tokens.Operator, header: []string{session.Header + ": " + i.Token}}).want(http.StatusNoContent)
	fresh("an ended session", h.session(tokens.Operator, i.Token))
	for field, body := range map[string]string{
		"rooms": `{"rooms":[""]}`, "metadata": `{"metadata":{"":"x"}}`, "thread": `{"thread":"a\nb"}`,
	} {
		if p := h.send(ask{method: "PUT", path: "/api/session", as: tokens.Operator, body: body}).refused(posthouse.CodeInvalid); p.Field != field {
			t.Errorf("%s blames %q", body, p.Field)
		}
	}
}

// TestSessionsSurviveARestart opens a second server over the store.
func TestSessionsSurviveARestart(t *testing.T) {
	h := open(t, nil)
	x := session.NewStore(h.ledger.Store(), time.Now, time.Hour, 100)
	token, _, err := x.Create(t.Context(), "alice")
	must.Do(t, err)
	must.Do(t, x.Update(t.Context(), token, func(c *session.Session) { c.Thread = "t1" }))
	again := session.NewStore(h.ledger.Store(), time.Now, time.Hour, 100)
	c, err := again.Restore(t.Context(), token, "alice")
	must.Do(t, err)
	if c == nil || c.Thread != "t1" || c.Principal != "alice" {
		t.Errorf("restored: %+v", c)
	}
	sum := sha256.Sum256([]byte(token))
	slot, err := h.ledger.Store().Slot(t.Context(), posthouse.SlotKey{Thread: "$sessions", Step: hex.EncodeToString(sum[:])}, posthouse.SlotOp{})
	must.Do(t, err)
	if len(token) < 20 || containsText(slot.Value, token) {
		t.Error("the token is stored as it is")
	}
}

func containsText(data []byte, text string) bool {
	for i := 0; i+len(text) <= len(data); i++ {
		if string(data[i:i+len(text)]) == text {
			return true
		}
	}
	return false
}

// TestSessionsAreCapped makes more sessions than there may be: the oldest of the same
// token end.
func TestSessionsAreCapped(t *testing.T) {
	clock := newTestClock()
	h := open(t, func(o *Options) { o.Limits.Clients, o.Now = 16, clock.now })
	var all []string
	for range 40 {
		var i session.SessionInfo
		h.send(ask{method: "GET", path: "/api/session", as: tokens.Operator}).want(http.StatusOK).into(&i)
		all = append(all, i.Token)
	}
	left := 0
	for _, token := range all {
		x, err := resourceOf[*session.Sessions](h).Store.Restore(t.Context(), token, "operator-token")
		must.Do(t, err)
		if x != nil {
			left++
		}
	}
	if left > 16 || left == 0 {
		t.Errorf("%d sessions, though 16 may be", left)
	}
	clock.add(25 * time.Hour)
	_, err := resourceOf[*session.Sessions](h).Store.RemoveExpired(t.Context())
	must.Do(t, err)
	h.send(ask{method: "GET", path: "/api/session", as: tokens.Operator}).want(http.StatusOK)
}

// TestSessionOfEvents reconnects an event stream: the session comes first, and
// no event in between is lost, without a Last-Event-ID.
func TestSessionOfEvents(t *testing.T) {
	h := open(t, nil)
	f := h.listen(ask{method: "GET", path: "/api/events?session=new"})
	i := eventsOf(t, f, "session")[0].Session
	if !i.New || f.resp.Header.Get(session.Header) != i.Token {
		t.Errorf("the session is %+v", i)
	}
	h.saved("t1", "1")
	seen := f.want("checkpoint")
	f.close()
	h.server.life.Wait() // the stream has noted where it was
	h.saved("t2", "2")
	f = h.listen(ask{method: "GET", path: "/api/events", header: []string{session.Header + ": " + i.Token}})
	back := eventsOf(t, f, "session")[0].Session
	if back.New || back.LastEventID != seen.id || !back.CreatedAt.Equal(i.CreatedAt) || back.CreatedAt.IsZero() || back.LastSeen.Before(i.LastSeen) {
		t.Errorf("after %s the session is %+v", seen.id, back)
	}
	var e posthouse.Event
	must.Do(t, json.Unmarshal([]byte(f.want("checkpoint").data), &e))
	if e.Thread != "t2" {
		t.Errorf("the stream goes on with %+v", e)
	}
}

// TestSessionOfASocket reconnects a WebSocket: its first frame says where the
// workflow is by then, which question is open, and whether it was answered.
func TestSessionOfASocket(t *testing.T) {
	h := open(t, nil)
	greeting := func(c *talk) (i session.SessionInfo) {
		t.Helper()
		_, data, err := c.conn.Read(c.ctx)
		must.Do(t, err)
		var f struct {
			Type  string
			Event session.SessionInfo
		}
		must.Do(t, json.Unmarshal(data, &f))
		if f.Type != "session" {
			t.Fatalf("the first frame is %s", data)
		}
		return f.Event
	}
	c := h.mustDial("/agent/dispatch?session=new", nil, h.bearer(tokens.Operator))
	i := greeting(c)
	c.say("please refund order 1234")
	r := c.want("event", "event", "text", "reply").Reply
	must.Do(t, c.conn.Close(websocket.StatusNormalClosure, ""))

	login, _ := json.Marshal(map[string]string{"token": h.secrets[tokens.Operator]})
	for name, dial := range map[string]func() *talk{
		"header": func() *talk {
			return h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator), session.Header+": "+i.Token)
		},
		"first message": func() *talk {
			c := h.mustDial("/agent/dispatch?session="+i.Token, nil)
			c.say(string(login))
			return c
		},
	} {
		back := greeting(dial())
		if back.New || back.Thread != r.Thread || back.Checkpoint != r.Checkpoint || back.Gate != r.Gate || back.Status != posthouse.StatusWaiting {
			t.Errorf("%s: the session is %+v, the reply was %+v", name, back, r)
		}
	}
	h.post("/api/gates/"+string(r.Gate)+"/approve", "").want(http.StatusOK)
	back := greeting(h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator), session.Header+": "+i.Token))
	if back.Gate != "" || back.Checkpoint == r.Checkpoint || back.Status == posthouse.StatusWaiting {
		t.Errorf("after the decision the session is %+v", back)
	}
}
