package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/stream"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
)

// A feedReader reads server-sent events as a browser would.
type feedReader struct {
	t    *testing.T
	resp *http.Response
	r    *bufio.Reader
	stop context.CancelFunc
}

type sse struct{ id, event, data string }

func (h *testServer) listen(a ask) *feedReader {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	resp, err := h.http.Client().Do(h.request(a).WithContext(ctx))
	must.Do(h.t, err)
	f := &feedReader{h.t, resp, bufio.NewReader(resp.Body), cancel}
	h.t.Cleanup(f.close)
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || ct != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		h.t.Fatalf("%s answers %d %s: %s", a.path, resp.StatusCode, ct, body)
	}
	if line, err := f.r.ReadString('\n'); err != nil || line != "retry: 2000\n" {
		h.t.Fatalf("the stream begins with %q, %v", line, err)
	}
	return f
}

func (f *feedReader) close() { f.stop(); f.resp.Body.Close() }

// next returns the next event; a comment is an event called ":".
func (f *feedReader) next() (e sse, err error) {
	for {
		line, err := f.r.ReadString('\n')
		if err != nil {
			return e, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n":
			if e != (sse{}) {
				return e, nil
			}
		case name == "":
			e.event = ":"
		case name == "id":
			e.id = value
		case name == "event":
			e.event = value
		case name == "data":
			e.data = value
		}
	}
}

func (f *feedReader) want(kinds ...string) (last sse) {
	f.t.Helper()
	for _, k := range kinds {
		e, err := f.next()
		if err != nil || e.event != k {
			f.t.Fatalf("the next event is %+v, %v; want %s", e, err, k)
		}
		last = e
	}
	return last
}

func (f *feedReader) wantEnd() {
	f.t.Helper()
	if e, err := f.next(); err == nil {
		f.t.Fatalf("the stream goes on with %+v", e)
	}
}

func TestEventsAndLastEventID(t *testing.T) {
	h := open(t, nil)
	h.saved("before", "1")
	f := h.listen(ask{method: "GET", path: "/api/events"})
	if f.resp.Header.Get("Cache-Control") != "no-store" {
		t.Error("a stream may be cached")
	}
	cp, g := h.waiting("t1") // the first thing it sees, although it was committed right after the headers
	e := f.want("checkpoint")
	var ev posthouse.Event
	must.Do(t, json.Unmarshal([]byte(e.data), &ev))
	if ev.Checkpoint == nil || ev.Checkpoint.ID != cp || ev.Cursor != e.id || e.id == "" || ev.Thread != "t1" {
		t.Errorf("the first event is %+v", e)
	}
	seen := f.want("gate")
	h.post("/api/gates/"+string(g.ID)+"/approve", "").want(http.StatusOK)
	if d := f.want("decision"); !strings.Contains(d.data, `"by":"operator-token"`) {
		t.Errorf("the decision is %s", d.data)
	}
	f.close()

	// Whoever connects again goes on where it was, by header before parameter.
	f = h.listen(ask{method: "GET", path: "/api/events?after=start", header: []string{"Last-Event-ID: " + seen.id}})
	f.want("decision", "checkpoint")
	f.close()
	f = h.listen(ask{method: "GET", path: "/api/events?after=" + seen.id})
	f.want("decision", "checkpoint")
	f.close()
	f = h.listen(ask{method: "GET", path: "/api/events?after=start"})
	f.want("checkpoint", "checkpoint", "gate", "decision", "checkpoint")
	f.close()
	// Also where the connection was lost in the middle of an entry.
	f = h.listen(ask{method: "GET", path: "/api/events", header: []string{"Last-Event-ID: " + e.id}})
	f.want("gate", "decision", "checkpoint")
	f.close()
	f = h.listen(ask{method: "GET", path: "/api/events?after=start&thread=before"})
	f.want("checkpoint")
	stop := h.beating() // streams closed above may still take a tick
	f.want(":")
	stop()
	f.close()
	f = h.listen(ask{method: "GET", path: "/api/events?after=now", as: tokens.Viewer})
	h.saved("t3", "1")
	if e := f.want("checkpoint"); !strings.Contains(e.data, `"t3"`) {
		t.Errorf("from now on there is %+v", e)
	}
}

func TestEventCursorsOfOthers(t *testing.T) {
	h := open(t, nil)
	f := h.listen(ask{method: "GET", path: "/api/events?after=not-one"})
	var p problem.Details
	must.Do(t, json.Unmarshal([]byte(f.want("error").data), &p))
	if p.Code != posthouse.CodeInvalid || p.Field != "cursor" || p.Hint == "" {
		t.Errorf("it says %+v", p)
	}
	f.wantEnd()
	for _, bad := range []string{"a b", strings.Repeat("a", stream.MaxCursor), "ä"} {
		h.send(ask{method: "GET", path: "/api/events", header: []string{"Last-Event-ID: x" + bad}}).refused(posthouse.CodeInvalid)
	}
	h.get("/api/events?after=a%20b").refused(posthouse.CodeInvalid)
	h.get("/api/events?thread=a%0ab").refused(posthouse.CodeInvalid)
}

// beating ticks for every stream that listens, until the function it returns is
// called.
func (h *testServer) beating() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case h.ticks <- time.Time{}:
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func TestEventStreamEndsWithItsToken(t *testing.T) {
	h := open(t, nil)
	f := h.listen(ask{method: "GET", path: "/api/events", as: tokens.Viewer})
	h.ticks <- time.Time{}
	f.want(":")
	must.Do(t, h.tokens.Revoke("viewer-token", nil))
	h.ticks <- time.Time{}
	f.wantEnd()
}

// TestNoTokenHoldsAllStreams fills a viewer's share: the others' streams open
// all the same, by every way in.
func TestNoTokenHoldsAllStreams(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Streams, o.Limits.TokenStreams = 5, 2 })
	first := h.listen(ask{method: "GET", path: "/api/events", as: tokens.Viewer})
	h.listen(ask{method: "GET", path: "/api/events", as: tokens.Viewer})
	r := h.send(ask{method: "GET", path: "/api/events", as: tokens.Viewer})
	if p := r.refused(problem.CodeTooMany); !strings.Contains(p.Detail, "viewer-token") || r.header.Get("Retry-After") == "" {
		t.Errorf("over its share a token is told %q", p.Detail)
	}
	h.listen(ask{method: "GET", path: "/api/events"})
	h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	h.send(ask{method: "POST", path: "/api/agents/dispatch", body: `{"message":"x"}`, header: []string{"Accept: text/event-stream"}}).refused(problem.CodeTooMany)
	h.listen(ask{method: "GET", path: "/api/events", as: tokens.Approver})
	first.close()
	for range 1000 { // the server notices at its next look at the connection
		resp, err := h.http.Client().Do(h.request(ask{method: "GET", path: "/api/events", as: tokens.Viewer}))
		must.Do(t, err)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
	}
	t.Error("a place of the share is not given back")
}

func TestStreamsAreBounded(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Streams = 2 })
	a, _ := h.listen(ask{method: "GET", path: "/api/events"}), h.listen(ask{method: "GET", path: "/api/events"})
	r := h.get("/api/events")
	r.refused(problem.CodeTooMany)
	if r.header.Get("Retry-After") == "" {
		t.Error("it does not say when to try again")
	}
	h.send(ask{method: "POST", path: "/api/agents/dispatch", body: `{"message":"x"}`, header: []string{"Accept: text/event-stream"}}).refused(problem.CodeTooMany)
	a.close()
	for range 1000 { // the server notices at its next look at the connection
		if resp, err := h.http.Client().Do(h.request(ask{method: "GET", path: "/api/events"})); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
	}
	t.Error("a place is not given back")
}

func TestCloseEndsStreams(t *testing.T) {
	h := open(t, nil)
	f := h.listen(ask{method: "GET", path: "/api/events"})
	must.Do(t, h.server.Close(t.Context()))
	f.wantEnd()
	h.get("/api/events").refused(posthouse.CodeClosed)
	h.post("/api/agents/dispatch", `{"message":"x"}`).refused(posthouse.CodeClosed)
	h.get("/api/gates").want(http.StatusOK)
}

// TestEventsHaveChunks sends what handlers stream to those who follow the thread, beside what
// is recorded. A client that does not read holds up no other.
func TestEventsHaveChunks(t *testing.T) {
	h := open(t, nil)
	h.handOut("t1")
	mine, all, slow := h.listen(ask{path: "/api/events?thread=t1"}), h.listen(ask{path: "/api/events"}), h.listen(ask{path: "/api/events"})
	for range 10_000 {
		h.server.Chunk(task.Chunk{Thread: "t2", Step: "1/f/get", Value: json.RawMessage("1")})
	}
	h.server.Chunk(task.Chunk{Thread: "t1", Step: "1/f/get", Value: json.RawMessage(`"half"`)})
	for f, want := range map[*feedReader]string{mine: `{"thread":"t1","step":"1/f/get","value":"half"}`, all: `{"thread":"t2","step":"1/f/get","value":1}`} {
		e, err := f.next()
		if err != nil || e.event != "chunk" || e.id != "" || e.data != want {
			t.Errorf("%+v, %v", e, err)
		}
	}
	slow.close()
}
