package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
)

func TestListNewestFirst(t *testing.T) {
	h := open(t, nil)
	for i := range 1000 {
		h.saved("old", fmt.Sprint(i))
	}
	waiting, _ := h.waiting("new")
	list := h.get("/api/checkpoints?limit=5").want(http.StatusOK).list()
	if len(list) != 5 || list[0].ID != waiting {
		t.Errorf("a thousand older ones hide what waits: %s", ids(list))
	}
	if list := h.get("/api/checkpoints").list(); len(list) != 100 || list[0].ID != waiting {
		t.Errorf("by default there are %d", len(list))
	}
	if list := h.get("/api/checkpoints?order=asc&limit=2&thread=old").list(); len(list) != 2 || string(list[0].State) != "0" || string(list[1].State) != "1" {
		t.Errorf("ascending there are %s", ids(list))
	}
}

func TestListPages(t *testing.T) {
	h := open(t, nil)
	for i := range 10 {
		h.saved("t", fmt.Sprint(i))
	}
	for _, query := range []string{"limit=3", "limit=3&order=asc", "limit=3&state=false", "limit=3&thread=t&order=asc", "limit=5"} {
		var got []string
		path := "/api/checkpoints?" + query
		for range 10 {
			a := h.get(path).want(http.StatusOK)
			for _, c := range a.list() {
				got = append(got, fmt.Sprint(c.Seq))
				if (c.State == nil) != strings.Contains(query, "state=false") {
					t.Errorf("%s: state is %s", query, c.State)
				}
			}
			next := a.header.Get("X-Next-Cursor")
			if next == "" {
				if a.header.Get("Link") != "" {
					t.Errorf("%s: the last page links on", query)
				}
				break
			}
			link := a.header.Get("Link")
			path, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
			if !strings.HasSuffix(link, `; rel="next"`) || !strings.HasPrefix(path, "/api/checkpoints?") || !strings.Contains(path, "cursor="+next) {
				t.Fatalf("%s: the link is %s", query, link)
			}
		}
		want := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}
		if !strings.Contains(query, "asc") {
			slices.Reverse(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for _, bad := range []string{"limit=0", "limit=1001", "limit=-1", "limit=x", "order=up", "cursor=x", "since=x", "status=odd", "label=x", "state=1", "thread=a%0ab", "order=asc&order=desc"} {
		h.get("/api/checkpoints?" + bad).refused(posthouse.CodeInvalid)
	}
}

func TestListPageIsBoundedInBytes(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Page = 250 })
	for range 5 {
		h.saved("t", `"`+strings.Repeat("x", 98)+`"`)
	}
	a := h.get("/api/checkpoints?order=asc")
	if n := len(a.list()); n != 2 || a.header.Get("X-Next-Cursor") == "" {
		t.Errorf("the first page has %d", n)
	}
	a = h.get("/api/checkpoints?order=asc&cursor=" + a.header.Get("X-Next-Cursor"))
	if list := a.list(); len(list) != 2 || list[0].Seq != 3 {
		t.Errorf("the second page has %s", ids(list))
	}
	if n := len(h.get("/api/checkpoints?state=false").list()); n != 5 {
		t.Errorf("without states there are %d", n)
	}
}

func TestListFilters(t *testing.T) {
	h := open(t, nil)
	cp, _ := h.waiting("t1")
	h.post("/api/checkpoints/"+string(cp)+"/approve", "").want(http.StatusOK)
	_, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t2", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Run: "r1", Graph: "g1", Node: "n1", Agent: "a1", Labels: map[string]string{"env": "x=y"},
		Next: []string{"n2"}, State: posthouse.State{"a": {Codec: "json", Data: []byte("1")}},
	}})
	must.Do(t, err)
	for query, want := range map[string]int{
		"": 3, "coordination=dispatch": 2, "coordination=nope": 0, "agent=approver": 1, "agent=x') OR '1'='1": 0, "thread=t2": 1, "run=r1": 1, "graph=g1": 1, "node=n1": 1,
		"kind=wait": 1, "branch=main": 3, "branch=side": 0, "status=running": 1, "status=done": 1, "label=env%3Dx%3Dy": 1, "label=env%3D": 0, "since=2000-01-01T00:00:00Z": 3, "until=2000-01-01T00:00:00Z": 0,
		"since=1": 3, "coordination=dispatch&agent=analyzer": 1, "agent=": 3, "kind=event": 0,
	} {
		if got := h.get("/api/checkpoints?" + strings.ReplaceAll(query, " ", "%20")).want(http.StatusOK).list(); len(got) != want {
			t.Errorf("%q finds %d, want %d", query, len(got), want)
		}
	}
}

func TestGetCheckpoint(t *testing.T) {
	h := open(t, nil)
	cp, g := h.waiting("t1")
	a := h.get("/api/checkpoints/" + string(cp)).want(http.StatusOK)
	var seed map[string]any
	a.into(&seed)
	for _, name := range []string{"id", "thread", "coordinationId", "agentName", "createdAt", "metadata", "state", "branch", "status", "gates", "hash", "seq"} {
		if _, ok := seed[name]; !ok {
			t.Errorf("it lacks %s: %s", name, a.body)
		}
	}
	c := a.checkpoint()
	if c.Coordination != "dispatch" || c.Agent != "analyzer" || c.Metadata["risk"] != "low" || c.Gates[0] != g.ID ||
		!strings.Contains(string(c.State), "please refund order 1234") || len(c.Parts) != 1 || c.Parts[0].Name != "state" {
		t.Errorf("it is %s", a.body)
	}
	tag := a.header.Get("ETag")
	if tag != `"`+c.Hash.String()+`"` {
		t.Errorf("the ETag is %s", tag)
	}
	b := h.send(ask{method: "GET", path: "/api/checkpoints/" + string(cp), header: []string{"If-None-Match: W/" + tag}})
	if b.want(http.StatusNotModified); len(b.body) != 0 {
		t.Error("304 has a body")
	}
	h.send(ask{method: "GET", path: "/api/checkpoints/" + string(cp), header: []string{`If-None-Match: "x", "y"`}}).want(http.StatusOK)
	if c := h.get("/api/checkpoints/" + string(cp) + "?state=false").checkpoint(); c.State != nil || c.ID != cp {
		t.Errorf("without state it is %+v", c)
	}
	h.get("/api/checkpoints/" + string(g.ID)).refused(posthouse.CodeNotFound)
	if a := h.get("/api/checkpoints/" + string(h.saved("t2", "1").ID)); !strings.Contains(string(a.body), `"metadata":{}`) {
		t.Errorf("without metadata it is %s", a.body)
	}
}

func TestStateIsShownAsItIs(t *testing.T) {
	h := open(t, nil)
	for name, c := range map[string]struct {
		state  posthouse.State
		want   string
		codecs map[string]string
	}{
		"opaque":        {posthouse.State{"state": {Codec: "json", Data: []byte(`[1,2]`)}}, `[1,2]`, nil},
		"opaque raw":    {posthouse.State{"state": {Codec: "raw", Data: []byte{0xff, 0}}}, `"/wA="`, map[string]string{"state": "raw"}},
		"parts":         {posthouse.State{"a": {Codec: "json", Data: []byte(`1`)}, "b": {Codec: "raw", Data: []byte("x")}}, `{"a":1,"b":"eA=="}`, map[string]string{"b": "raw"}},
		"state + other": {posthouse.State{"state": {Codec: "json", Data: []byte(`1`)}, "b": {Codec: "json", Data: []byte("2")}}, `{"b":2,"state":1}`, nil},
		"marker":        {posthouse.State{"state": {Codec: "json", Data: []byte(`{"codec":"raw","base64":"eA=="}`)}}, `{"codec":"raw","base64":"eA=="}`, nil},
		"big number":    {posthouse.State{"state": {Codec: "json", Data: []byte(`12345678901234567890.10`)}}, `12345678901234567890.10`, nil},
		"none":          {posthouse.State{}, `{}`, nil},
	} {
		c0 := posthouse.Root("thread-"+strings.ReplaceAll(strings.ReplaceAll(name, " ", ""), "+", "."), c.state)
		saved, err := h.ledger.Save(t.Context(), c0, nil)
		must.Do(t, err)
		got := h.get("/api/checkpoints/" + string(saved.ID)).want(http.StatusOK).checkpoint()
		if string(got.State) != c.want || fmt.Sprint(got.Codecs) != fmt.Sprint(c.codecs) {
			t.Errorf("%s: %s %v, want %s %v", name, got.State, got.Codecs, c.want, c.codecs)
		}
		// The shown state can be sent back, and means the same.
		body, err := json.Marshal(forkBody{State: got.State, Codecs: got.Codecs})
		must.Do(t, err)
		again := h.post("/api/checkpoints/"+string(saved.ID)+"/fork", string(body)).want(http.StatusOK).checkpoint()
		if name != "none" && (string(again.State) != c.want || fmt.Sprint(again.Codecs) != fmt.Sprint(c.codecs)) {
			t.Errorf("%s sent back: %s %v", name, again.State, again.Codecs)
		}
	}
}

func TestDeleteCheckpoint(t *testing.T) {
	h := open(t, nil)
	a, b, c := h.saved("t", "1"), h.saved("t", "2"), h.saved("t", "3")
	path := "/api/checkpoints/"
	del := func(id posthouse.ID, query string, header ...string) *reply {
		t.Helper()
		return h.send(ask{method: "DELETE", path: path + string(id) + query, header: header})
	}
	del(a.ID, "").refused(posthouse.CodeConflict)
	del(a.ID, "?mode=refuse").refused(posthouse.CodeConflict)
	del(a.ID, "?mode=other").refused(posthouse.CodeInvalid)
	if r := del(c.ID, "").want(http.StatusNoContent); len(r.body) != 0 {
		t.Error("204 has a body")
	}
	del(c.ID, "").refused(posthouse.CodeNotFound)
	h.get(path + string(c.ID)).refused(posthouse.CodeNotFound)
	del(a.ID, "?mode=orphan").want(http.StatusNoContent)
	if got := h.get(path + string(b.ID)).want(http.StatusOK).checkpoint(); string(got.State) != "2" {
		t.Errorf("the orphan is %s", got.State)
	}
	d := h.saved("t", "4")
	var gone retain.Deleted
	del(b.ID, "?mode=subtree&reason=tidy", "Prefer: return=representation").want(http.StatusOK).into(&gone)
	if gone.Checkpoints != 2 {
		t.Errorf("what went: %+v", gone)
	}
	h.get(path + string(d.ID)).refused(posthouse.CodeNotFound)
	if log := string(h.get("/api/threads/t/log").want(http.StatusOK).body); !strings.Contains(log, `"reason":"tidy"`) || !strings.Contains(log, `"by":"operator-token"`) {
		t.Errorf("who deleted and why is not on record: %s", log)
	}
}

// TestWaitingCheckpoints lists what is open by the threads' summaries: a
// checkpoint keeps the status it was made with.
func TestWaitingCheckpoints(t *testing.T) {
	h := open(t, nil)
	c1, g1 := h.waiting("t1")
	c2, _ := h.waiting("t2")
	c3, _ := h.waiting("t3")
	list := func(query string) (ids []posthouse.ID, next string) {
		t.Helper()
		a, cs := h.get("/api/checkpoints?status=waiting"+query).want(http.StatusOK), []*Checkpoint{}
		a.into(&cs)
		for _, c := range cs {
			ids = append(ids, c.ID)
		}
		return ids, a.header.Get("X-Next-Cursor")
	}
	all := []posthouse.ID{c3, c2, c1}
	if got, _ := list(""); !slices.Equal(got, all) {
		t.Errorf("before a decision: %v, want %v", got, all)
	}
	_, err := h.ledger.Decide(t.Context(), g1.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	must.Do(t, err)
	for _, query := range []string{"", "&state=false", "&order=asc", "&thread=t1", "&limit=1"} {
		want := []posthouse.ID{c3, c2}
		switch query {
		case "&order=asc":
			slices.Reverse(want)
		case "&thread=t1":
			want = nil
		}
		got, next := list(query)
		for next != "" {
			var more []posthouse.ID
			more, next = list(query + "&cursor=" + url.QueryEscape(next))
			got = append(got, more...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q lists %v, want %v", query, got, want)
		}
	}
	if got := h.get("/api/checkpoints/" + string(c1)).want(http.StatusOK).checkpoint(); got.Status != posthouse.StatusWaiting {
		t.Errorf("its own status is %s", got.Status)
	}
}

// TestTraceOfACheckpoint: one checkpoint has the id of its trace and where people look at it; what is on record and no
// trace context leads nowhere.
func TestTraceOfACheckpoint(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	h := open(t, func(o *Options) { o.TraceURL = "https://traces.example.com/trace/{traceId}?from=posthouse" })
	for i, c := range []struct{ context, id, url string }{
		{"00-" + id + "-00f067aa0ba902b7-01", id, "https://traces.example.com/trace/" + id + "?from=posthouse"},
		{"00-javascript:alert(1)//", "", ""},
		{"", "", ""},
	} {
		value := must.Get(json.Marshal(c.context))(t)
		made := must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{
			Thread:     fmt.Sprint("traced-", i),
			Checkpoint: &posthouse.Change{Status: posthouse.StatusDone, Program: []posthouse.Part{{Name: posthouse.TracePart, Data: value}}},
		}))(t)
		var one, header Checkpoint
		path := "/api/checkpoints/" + string(made.Checkpoint.ID)
		h.get(path).want(http.StatusOK).into(&one)
		if one.TraceID != c.id || one.TraceURL != c.url {
			t.Errorf("of %q the trace is %q, at %q", c.context, one.TraceID, one.TraceURL)
		}
		h.get(path + "?state=false").want(http.StatusOK).into(&header)
		if header.TraceID != "" || header.TraceURL != "" {
			t.Errorf("without the state there is the trace %q", header.TraceID)
		}
	}
	for _, bad := range []string{"javascript:{traceId}", "https://traces.example.com/", "https://a:b@traces.example.com/{traceId}"} {
		if _, err := New(Options{Ledger: h.ledger, Tokens: h.tokens, TraceURL: bad}); !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "TraceURL") {
			t.Errorf("%s is answered %v", bad, err)
		}
	}
}
