package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
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

	begun string // the id that came before the first event
	data  string // of the last event that want returned
}

type sse struct{ id, event, data string }

func (h *testServer) listen(a ask) *feedReader {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	resp, err := h.http.Client().Do(h.request(a).WithContext(ctx))
	must.Do(h.t, err)
	f := &feedReader{t: h.t, resp: resp, r: bufio.NewReader(resp.Body), stop: cancel}
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
			if e.event != "" {
				return e, nil
			}
			f.begun, e = e.id, sse{} // an id alone says from where on it follows
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
	f.data = last.data
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
	var e stream.Event
	must.Do(t, json.Unmarshal([]byte(f.want("error").data), &e))
	if p := e.Error; p.Code != posthouse.CodeInvalid || p.Field != "cursor" || p.Hint == "" {
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

// TestEventsTellWhatIsReported sends what programs and handlers report to those who follow the thread,
// beside what is recorded. A client that does not read holds up no other.
func TestEventsTellWhatIsReported(t *testing.T) {
	h := open(t, nil)
	h.handOut("t1")
	mine, all, slow := h.listen(ask{path: "/api/events?thread=t1"}), h.listen(ask{path: "/api/events"}), h.listen(ask{path: "/api/events"})
	texts, records := h.listen(ask{path: "/api/events?modes=messages"}), h.listen(ask{path: "/api/events?modes=records"})
	for range 10_000 {
		h.server.Chunk(task.Chunk{Thread: "t2", Step: "1/f/get", Value: json.RawMessage("1")})
	}
	h.server.Chunk(task.Chunk{Thread: "t1", Step: "1/f/get", Value: json.RawMessage(`"half"`)})
	h.server.Chunk(task.Chunk{Thread: "t3", Step: "llm", Text: "Hel"})
	for f, want := range map[*feedReader]string{
		mine: `{"kind":"custom","thread":"t1","custom":{"step":"1/f/get","value":"half"}}`,
		all:  `{"kind":"custom","thread":"t2","custom":{"step":"1/f/get","value":1}}`,
	} {
		e, err := f.next()
		if err != nil || e.event != "custom" || e.id != "" || e.data != want {
			t.Errorf("%+v, %v", e, err)
		}
	}
	// Those of all threads have no room for a text until they were sent what is before it.
	read, sent := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sent)
		for {
			select {
			case <-read:
				return
			default:
				h.server.Chunk(task.Chunk{Thread: "t3", Step: "llm", Text: "lo"})
			}
		}
	}()
	if e := texts.want("message"); !strings.Contains(e.data, `"step":"llm"`) || e.id != "" {
		t.Errorf("the text is %+v", e)
	}
	close(read)
	<-sent
	h.saved("t4", "1")
	records.want("checkpoint")
	slow.close()
}

// TestEventsFromBeforeTheFirst loses a stream before its first event, and what is recorded until the client
// is back.
func TestEventsFromBeforeTheFirst(t *testing.T) {
	h := open(t, nil)
	before := h.saved("before", "1").CreatedAt
	f := h.listen(ask{path: "/api/events"})
	stop := h.beating()
	f.want(":")
	stop()
	f.close()
	if !strings.HasPrefix(f.begun, "@") {
		t.Fatalf("the stream begins with the id %q", f.begun)
	}
	missed := h.saved("missed", "1").CreatedAt
	f = h.listen(ask{path: "/api/events", header: []string{"Last-Event-ID: " + f.begun}})
	for f.want("checkpoint"); !strings.Contains(f.data, `"missed"`); f.want("checkpoint") { // it goes on a moment earlier
	}
	f.close()
	for !missed.After(before) {
		missed = h.saved("missed", "2").CreatedAt
	}
	f = h.listen(ask{path: "/api/events?after=@" + strconv.FormatInt(missed.UnixMilli(), 10)})
	if e := eventsOf(t, f, "checkpoint")[0]; e.Thread != "missed" {
		t.Errorf("after its time it goes on with %+v", e)
	}
	for _, bad := range []string{"@", "@x", "@-1", "@99999999999999999999"} {
		h.get("/api/events?after=" + bad).refused(posthouse.CodeInvalid)
	}
}

// eventsOf reads the events of a stream's answer.
func eventsOf(t *testing.T, f *feedReader, kinds ...string) (all []stream.Event) {
	t.Helper()
	for _, k := range kinds {
		var e stream.Event
		got := f.want(k)
		must.Do(t, json.Unmarshal([]byte(got.data), &e))
		if e.Kind != k || e.Cursor != got.id {
			t.Errorf("the event %s has the data %s", k, got.data)
		}
		all = append(all, e)
	}
	return all
}

// TestEventModes chooses what is told, for one thread and for all. A client that is cut off between two
// events of one record gets both again.
func TestEventModes(t *testing.T) {
	h := open(t, nil)
	parts := func(parent posthouse.ID, s posthouse.State) *posthouse.Checkpoint {
		c := posthouse.Root("t1", s)
		c.Parent = parent
		c, err := h.ledger.Save(t.Context(), c, nil)
		must.Do(t, err)
		return c
	}
	value := func(text string) posthouse.Value { return posthouse.Value{Codec: "json", Data: []byte(text)} }
	a := parts("", posthouse.State{"account": value("9007199254740993"), "note": value(`"x"`)})
	parts(a.ID, posthouse.State{"account": value("9007199254740993"), "raw": {Codec: "bytes", Data: []byte("y")}})

	f := h.listen(ask{path: "/api/events?after=start&thread=t1&modes=values,updates,checkpoints"})
	all := eventsOf(t, f, "checkpoint", "values", "update", "checkpoint", "values", "update")
	if all[0].Cursor != "" || all[1].Cursor != "" || all[2].Cursor == "" {
		t.Errorf("a client that is cut off inside of a record would not get the rest: %+v", all)
	}
	if v := all[1].Values; v.Checkpoint != a.ID || len(v.Parts) != 2 || string(v.Parts["account"]) != "9007199254740993" {
		t.Errorf("the first state is %+v", v)
	}
	if u := all[2].Update; len(u.Parts) != 2 || len(u.Dropped) != 0 {
		t.Errorf("the first update is %+v", u)
	}
	if u := all[5].Update; len(u.Parts) != 1 || string(u.Parts["raw"]) != `"eQ=="` || u.Codecs["raw"] != "bytes" || strings.Join(u.Dropped, " ") != "note" {
		t.Errorf("the second update is %+v", u)
	}
	f.close()
	// From a cursor on, the parent is read. Values are strings of their bytes, where that is asked for.
	f = h.listen(ask{path: "/api/events?values=text&thread=t1&modes=updates&after=" + all[2].Cursor})
	if e := f.want("update"); !strings.Contains(e.data, `"raw":"\"eQ==\""`) || strings.Contains(e.data, "account") {
		t.Errorf("the second update is %s", e.data)
	}
	f.close()
	_, g := h.waiting("t2")
	f = h.listen(ask{path: "/api/events?after=start&thread=t2&modes=tasks,values"})
	h.post("/api/gates/"+string(g.ID)+"/approve", "").want(http.StatusOK)
	eventsOf(t, f, "values", "values")
	f.close()
	for _, bad := range []string{"all", "records,", "records,debug"} {
		if p := h.get("/api/events?modes=" + bad).refused(posthouse.CodeInvalid); p.Field != "modes" || !strings.Contains(p.Hint, "checkpoints") {
			t.Errorf("%s is refused with %+v", bad, p)
		}
	}
}

// TestEventModesTellTasks has what becomes of tasks, without other waits and decisions.
func TestEventModesTellTasks(t *testing.T) {
	h := open(t, nil)
	f := h.listen(ask{path: "/api/events?after=start&modes=tasks"})
	_, g := h.waiting("t2")
	h.post("/api/gates/"+string(g.ID)+"/approve", "").want(http.StatusOK)
	h.handOut("t1")
	for {
		e, err := f.next()
		must.Do(t, err)
		if e.event == "gate" {
			if !strings.Contains(e.data, `"kind":"task"`) {
				t.Errorf("it tells of the gate %s", e.data)
			}
			return
		}
		if e.event != "step" {
			t.Fatalf("it tells %+v", e)
		}
	}
}
