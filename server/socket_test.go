package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/internal/conversation"
	"github.com/posthouse/posthouse/server/internal/stream"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
)

// A talk is the client's end of a WebSocket.
type talk struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
}

func (h *testServer) dial(path string, protocols []string, header ...string) (*talk, *http.Response, error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	h.t.Cleanup(cancel)
	hs := http.Header{}
	host := ""
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			host = value
		}
		hs.Set(name, value)
	}
	conn, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(h.http.URL, "http")+path, &websocket.DialOptions{
		HTTPClient: h.http.Client(), HTTPHeader: hs, Subprotocols: protocols, Host: host,
	})
	if err != nil {
		return nil, resp, err
	}
	h.t.Cleanup(func() { _ = conn.CloseNow() })
	return &talk{h.t, ctx, conn}, resp, nil
}

func (h *testServer) mustDial(path string, protocols []string, header ...string) *talk {
	h.t.Helper()
	c, _, err := h.dial(path, protocols, header...)
	must.Do(h.t, err)
	return c
}

func (c *talk) say(text string) {
	c.t.Helper()
	must.Do(c.t, c.conn.Write(c.ctx, websocket.MessageText, []byte(text)))
}

type wireFrame struct {
	Type  string
	Text  string
	Event *AgentEvent
	Reply *Reply
	Error *problem.Details
}

func (c *talk) want(kinds ...string) (last wireFrame) {
	c.t.Helper()
	for _, k := range kinds {
		_, data, err := c.conn.Read(c.ctx)
		must.Do(c.t, err)
		last = wireFrame{}
		must.Do(c.t, json.Unmarshal(data, &last))
		if last.Type != k {
			c.t.Fatalf("the next frame is %s, want %s", data, k)
		}
	}
	return last
}

func (c *talk) wantClose(code websocket.StatusCode) {
	c.t.Helper()
	_, data, err := c.conn.Read(c.ctx)
	if got := websocket.CloseStatus(err); got != code {
		c.t.Fatalf("it is closed with %v (%v, %s), want %v", got, err, data, code)
	}
}

func (h *testServer) bearer(r tokens.Role) string { return "Authorization: Bearer " + h.secrets[r] }

// TestSocketWalk says the token in each of the ways, on each of the paths.
func TestSocketWalk(t *testing.T) {
	h := open(t, nil)
	login, _ := json.Marshal(map[string]string{"token": h.secrets[tokens.Operator]})
	for _, path := range []string{"/agent/dispatch", "/atmosphere/agent/dispatch"} {
		for name, c := range map[string]struct {
			protocols []string
			header    []string
			first     string
			chosen    string
		}{
			"subprotocol": {[]string{"posthouse", "posthouse.bearer." + h.secrets[tokens.Operator]}, nil, "", "posthouse"},
			"header":      {nil, []string{h.bearer(tokens.Operator)}, "", ""},
			"message":     {[]string{"posthouse"}, nil, string(login), "posthouse"},
			"origin":      {nil, []string{h.bearer(tokens.Operator), "Origin: " + h.http.URL}, "", ""},
			"cookie":      {nil, []string{"Cookie: " + h.login(tokens.Operator).String()}, "", ""},
		} {
			t.Run(strings.TrimPrefix(path, "/")+" "+name, func(t *testing.T) {
				c2, resp, err := h.dial(path, c.protocols, c.header...)
				must.Do(t, err)
				if got := c2.conn.Subprotocol(); got != c.chosen || strings.Contains(resp.Header.Get("Sec-WebSocket-Protocol"), "ph_") {
					t.Errorf("the protocol is %q", got)
				}
				if c.first != "" {
					c2.say(c.first)
				}
				c2.say("please refund order 1234")
				if e := c2.want("event"); e.Event == nil || e.Event.Kind != "AgentDispatched" {
					t.Errorf("the event is %+v", e.Event)
				}
				c2.want("event")
				text := c2.want("text")
				r := c2.want("reply").Reply
				if r == nil || !strings.Contains(text.Text, string(r.Checkpoint)) {
					t.Fatalf("it streams %+v, %+v", text, r)
				}
				c2.say("another") // one message, one request
				r2 := c2.want("event", "event", "text", "reply").Reply
				if r2.Thread == r.Thread {
					t.Error("two requests share a thread")
				}
				must.Do(t, c2.conn.Close(websocket.StatusNormalClosure, ""))
				h.get("/api/checkpoints/" + string(r.Checkpoint)).want(http.StatusOK)
			})
		}
	}
	c := h.mustDial("/agent/dispatch?thread=order:9", nil, h.bearer(tokens.Operator))
	c.say("x")
	if r := c.want("event", "event", "text", "reply").Reply; r.Thread != "order:9" {
		t.Errorf("the thread is %s", r.Thread)
	}
}

func TestSocketRefusals(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Token = time.Nanosecond })
	for name, c := range map[string]struct {
		path      string
		protocols []string
		header    []string
		status    int
	}{
		"wrong header":      {"/agent/dispatch", nil, []string{"Authorization: Bearer ph_wrong"}, 401},
		"wrong subprotocol": {"/agent/dispatch", []string{"posthouse", "posthouse.bearer.ph_wrong"}, nil, 401},
		"wrong role":        {"/agent/dispatch", nil, []string{h.bearer(tokens.Approver)}, 403},
		"unknown agent":     {"/agent/nobody", nil, []string{h.bearer(tokens.Operator)}, 404},
		"foreign origin":    {"/agent/dispatch", nil, []string{h.bearer(tokens.Operator), "Origin: https://evil.example"}, 403},
		"foreign host":      {"/agent/dispatch", nil, []string{h.bearer(tokens.Operator), "Host: evil.example"}, 421},
		"token in the URL":  {"/agent/dispatch?token=" + h.secrets[tokens.Operator], nil, nil, 400},
		"bad thread":        {"/agent/dispatch?thread=a%0ab", nil, []string{h.bearer(tokens.Operator)}, 400},
	} {
		_, resp, err := h.dial(c.path, c.protocols, c.header...)
		if err == nil || resp == nil || resp.StatusCode != c.status {
			t.Errorf("%s: resp %v, error %v", name, resp, err)
		}
	}
	a := h.get("/agent/dispatch")
	a.refused(problem.CodeUpgrade)
	if a.header.Get("Upgrade") != "websocket" {
		t.Error("it does not say to what")
	}
	h.send(ask{method: "GET", path: "/agent/dispatch", header: []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 8", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="}}).refused(problem.CodeUpgrade)

	c := h.mustDial("/agent/dispatch", nil) // says nothing in time
	if f := c.want("error"); f.Error.Code != problem.CodeUnauthenticated {
		t.Errorf("it is told %+v", f.Error)
	}
	c.wantClose(websocket.StatusPolicyViolation)

	h = open(t, nil)
	secret := func(r tokens.Role) string { return `{"token":"` + h.secrets[r] + `"}` }
	for first, code := range map[string]posthouse.Code{
		"please refund order 1234": problem.CodeUnauthenticated, `{"token":"ph_wrong"}`: problem.CodeUnauthenticated, `{"token":1}`: problem.CodeUnauthenticated, `{}`: problem.CodeUnauthenticated,
		`{"token":"x","token":"` + h.secrets[tokens.Operator] + `"}`: problem.CodeUnauthenticated, secret(tokens.Viewer): posthouse.CodeForbidden, secret(tokens.Approver): posthouse.CodeForbidden,
	} {
		c := h.mustDial("/agent/dispatch", nil)
		c.say(first)
		if f := c.want("error"); f.Error.Code != code {
			t.Errorf("%s is told %+v", first, f.Error)
		}
		c.wantClose(websocket.StatusPolicyViolation)
	}
	c = h.mustDial("/agent/nobody", nil) // the names of agents are for who has a token
	c.say(secret(tokens.Operator))
	if f := c.want("error"); f.Error.Code != posthouse.CodeNotFound {
		t.Errorf("it is told %+v", f.Error)
	}
	c.wantClose(websocket.StatusPolicyViolation)
}

func TestSocketMessages(t *testing.T) {
	h := open(t, nil)
	c := h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	c.say("")
	if f := c.want("error"); f.Error.Code != posthouse.CodeInvalid || f.Error.Field != "message" {
		t.Errorf("an empty message: %+v", f.Error)
	}
	c.say("fine") // an error ends the request, not the connection
	c.want("event", "event", "text", "reply")
	must.Do(t, c.conn.Write(c.ctx, websocket.MessageBinary, []byte("x")))
	c.wantClose(websocket.StatusUnsupportedData)

	c = h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	must.Do(t, c.conn.Write(c.ctx, websocket.MessageText, []byte{0xff}))
	c.wantClose(websocket.StatusInvalidFramePayloadData)

	c = h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	c.say(strings.Repeat("x", agentcall.MaxMessage+2))
	c.wantClose(websocket.StatusMessageTooBig)

	c = h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	h.program.handle = func(context.Context, string, *HandleOptions) (*Reply, error) { panic("canary") }
	c.say("x")
	if f := c.want("error"); f.Error.Code != problem.CodeInternal || strings.Contains(f.Error.Detail, "canary") {
		t.Errorf("a panic: %+v", f.Error)
	}
	must.Do(t, h.tokens.Revoke("operator-token", &tokens.RevokeOptions{LastOperator: true}))
	c.say("x")
	if f := c.want("error"); f.Error.Code != problem.CodeUnauthenticated {
		t.Errorf("after its token was revoked: %+v", f.Error)
	}
	c.wantClose(websocket.StatusPolicyViolation)
}

func TestSocketQueueIsBounded(t *testing.T) {
	h := open(t, nil)
	begun, goOn := h.working()
	c := h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	c.say("first")
	<-begun
	for range conversation.MaxQueued + 1 {
		c.say("more")
	}
	if f := c.want("error"); f.Error.Code != problem.CodeTooMany {
		t.Errorf("it is told %+v", f.Error)
	}
	close(goOn)
	for range conversation.MaxQueued + 1 {
		c.want("text", "reply")
	}
}

func TestSocketPingsAndOutlives(t *testing.T) {
	h := open(t, nil)
	begun, goOn := h.working()
	c := h.mustDial("/agent/dispatch?thread=t1", nil, h.bearer(tokens.Operator))
	c.say("x")
	<-begun
	read := make(chan error)
	go func() { _, _, err := c.conn.Read(c.ctx); read <- err }() // answers pings
	h.ticks <- time.Time{}
	h.ticks <- time.Time{} // the first was answered, or this would not be taken
	must.Do(t, c.conn.CloseNow())
	<-read
	close(goOn)
	must.Do(t, h.server.Close(t.Context()))
	if _, err := h.ledger.Thread(t.Context(), "t1"); err != nil {
		t.Errorf("what was begun was not committed: %v", err)
	}
}

func TestCloseEndsSockets(t *testing.T) {
	h := open(t, nil)
	c := h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	c.say("x")
	c.want("event", "event", "text", "reply")
	closed := make(chan error)
	go func() { closed <- h.server.Close(t.Context()) }()
	c.wantClose(websocket.StatusGoingAway)
	must.Do(t, <-closed)
}

// TestStrangersAreGivenUpInTime: a stranger that says nothing, and does not even answer
// that it is refused, has its place no longer than it has to say its token.
func TestStrangersAreGivenUpInTime(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Token = 50 * time.Millisecond })
	conn, err := net.Dial("tcp", h.http.Listener.Addr().String())
	must.Do(t, err)
	defer conn.Close()
	begun := time.Now()
	_, err = io.WriteString(conn, "GET /agent/dispatch HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n")
	must.Do(t, err)
	must.Do(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	said := bufio.NewReader(conn)
	resp, err := http.ReadResponse(said, nil)
	must.Do(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(resp.Status)
	}
	_, err = said.ReadByte() // the refusal begins
	must.Do(t, err)
	n := h.server.events.Streams.Unauthenticated.Len()
	if n != 0 || time.Since(begun) > 4*time.Second {
		t.Errorf("after %v, %d places are taken", time.Since(begun), n)
	}
}

// TestStrangersSayLittle: before it is known, a client may send a token and no more.
func TestStrangersSayLittle(t *testing.T) {
	h := open(t, nil)
	c := h.mustDial("/agent/dispatch", nil)
	c.say(`{"token":"` + strings.Repeat("x", conversation.MaxFirst) + `"}`)
	c.wantClose(websocket.StatusMessageTooBig)
	login, _ := json.Marshal(map[string]string{"token": h.secrets[tokens.Operator]})
	c = h.mustDial("/agent/dispatch", nil)
	c.say(string(login))
	c.say(strings.Repeat("y", agentcall.MaxMessage)) // right after it
	c.want("event", "event", "text", "reply")
}

// TestStrangersDoNotTakeThePlaces opens connections that say no token.
func TestStrangersDoNotTakeThePlaces(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Streams = 2; o.Limits.Token = time.Hour })
	login, _ := json.Marshal(map[string]string{"token": h.secrets[tokens.Operator]})
	slow := h.mustDial("/agent/dispatch", nil)
	c := h.mustDial("/agent/dispatch", nil)
	if _, _, err := slow.conn.Read(slow.ctx); err == nil {
		t.Error("who says nothing keeps its place")
	}
	h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	c.say(string(login))
	c.say("x")
	c.want("event", "event", "text", "reply")
	c = h.mustDial("/agent/dispatch", nil) // the stranger's place is free again
	c.say(string(login))
	if f := c.want("error"); f.Error.Code != problem.CodeTooMany {
		t.Errorf("where all places are taken it is told %+v", f.Error)
	}
	c.wantClose(websocket.StatusPolicyViolation)
}

// TestEventsSocket follows what happens over a WebSocket, and goes on from a cursor.
func TestEventsSocket(t *testing.T) {
	h := open(t, nil)
	_, resp, err := h.dial("/api/events/socket", nil)
	if err == nil || resp.StatusCode != http.StatusUnauthorized {
		t.Fatalf("without a token it answers %v, %v", resp, err)
	}
	h.get("/api/events/socket").refused(problem.CodeUpgrade)
	h.saved("t1", "1")
	c := h.mustDial("/api/events/socket?after=start&modes=records,values", []string{"posthouse", "posthouse.bearer." + h.secrets[tokens.Viewer]})
	read := func(c *talk) (e stream.Event) {
		t.Helper()
		_, data, err := c.conn.Read(c.ctx)
		must.Do(t, err)
		must.Do(t, json.Unmarshal(data, &e))
		return e
	}
	if e := read(c); e.Kind != "checkpoint" || e.Cursor != "" || e.Checkpoint == nil {
		t.Errorf("the first event is %+v", e)
	}
	e := read(c)
	if e.Kind != "values" || e.Cursor == "" || string(e.Values.Parts["state"]) != "1" {
		t.Errorf("the second event is %+v", e)
	}
	h.ticks <- time.Time{} // a ping, which the client answers as it reads
	h.saved("t2", "2")
	if e := read(c); e.Thread != "t2" {
		t.Errorf("the third event is %+v", e)
	}
	must.Do(t, c.conn.CloseNow())
	c = h.mustDial("/api/events/socket?after="+e.Cursor, nil, h.bearer(tokens.Viewer))
	if e := read(c); e.Thread != "t2" {
		t.Errorf("the event after the cursor is %+v", e)
	}
	texts := h.mustDial("/api/events/socket?frames=text&thread=t3", nil, h.bearer(tokens.Viewer))
	h.server.Chunk(task.Chunk{Thread: "t3", Value: json.RawMessage("1")})
	h.server.Chunk(task.Chunk{Thread: "t3", Text: "Hello"})
	if _, data, err := texts.conn.Read(texts.ctx); err != nil || string(data) != "Hello" {
		t.Errorf("the text is %q, %v", data, err)
	}
	bad := h.mustDial("/api/events/socket?after=not-one", nil, h.bearer(tokens.Viewer))
	if e := read(bad); e.Kind != "error" || e.Error.Field != "cursor" {
		t.Errorf("a cursor that is none gets %+v", e)
	}
	bad.wantClose(websocket.StatusNormalClosure)
	c = h.mustDial("/api/events/socket", nil, h.bearer(tokens.Viewer))
	if e := read(c); e.Kind != "begin" || !strings.HasPrefix(e.Cursor, "@") {
		t.Errorf("from now on, the first event is %+v", e)
	}
	must.Do(t, h.server.Close(t.Context()))
	c.wantClose(websocket.StatusGoingAway)
}

// TestEventsSocketGivesItsPlaceBack has a client that is gone without a word, and one that does not read.
func TestEventsSocketGivesItsPlaceBack(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Streams = 1 })
	c := h.mustDial("/api/events/socket", nil, h.bearer(tokens.Viewer))
	if _, resp, err := h.dial("/api/events/socket", nil, h.bearer(tokens.Viewer)); err == nil || resp.StatusCode != http.StatusTooManyRequests {
		t.Fatalf("a second one gets %v, %v", resp, err)
	}
	must.Do(t, c.conn.CloseNow())
	for range 1000 { // the server notices at its next look at the connection
		if c, _, err := h.dial("/api/events/socket", nil, h.bearer(tokens.Viewer)); err == nil {
			must.Do(t, h.server.Close(t.Context())) // a client that does not read: Close waits for no write
			_ = c.conn.CloseNow()
			return
		}
	}
	t.Error("its place is not given back")
}

// TestSocketOfTexts has texts in the place of frames.
func TestSocketOfTexts(t *testing.T) {
	h := open(t, nil)
	texts := h.telling()
	c := h.mustDial("/agent/dispatch?frames=text", nil, h.bearer(tokens.Operator))
	read := func() string {
		t.Helper()
		_, data, err := c.conn.Read(c.ctx)
		must.Do(t, err)
		return string(data)
	}
	c.say("hello")
	texts <- "Good "
	texts <- "day"
	if a, b := read(), read(); a+b != "Good day" {
		t.Errorf("it says %q, %q", a, b)
	}
	close(texts)
	c.say("again") // the first reply was told by its texts
	if got := read(); got != "done" {
		t.Errorf("a reply without texts is %q", got)
	}
	h.program.handle = func(context.Context, string, *HandleOptions) (*Reply, error) {
		return nil, posthouse.Invalid("message", "is unkind")
	}
	c.say("fool")
	if got := read(); got != "error: message is unkind" {
		t.Errorf("an error is %q", got)
	}
}
