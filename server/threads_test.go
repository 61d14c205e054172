package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestThreads(t *testing.T) {
	h := open(t, nil)
	for i := range 5 {
		h.saved(fmt.Sprintf("t%d", i), "1")
	}
	h.waiting("w")
	list := func(query string) (names string, next string) {
		t.Helper()
		var ts []*posthouse.ThreadInfo
		a := h.get("/api/threads?" + query).want(http.StatusOK)
		a.into(&ts)
		for _, x := range ts {
			names += x.Thread + " "
		}
		return names, a.header.Get("X-Next-Cursor")
	}
	for query, want := range map[string]string{
		"": "w t4 t3 t2 t1 t0 ", "order=asc": "t0 t1 t2 t3 t4 w ", "waiting=true": "w ", "waiting=false": "w t4 t3 t2 t1 t0 ",
		"status=waiting": "w ", "graph=dispatch": "w ", "graph=other": "",
	} {
		if got, next := list(query); got != want || next != "" {
			t.Errorf("%q lists %q, %q", query, got, next)
		}
	}
	for query, want := range map[string][2]string{
		"limit=4": {"w t4 t3 t2 ", "t1 t0 "}, "limit=3&order=desc": {"w t4 t3 ", "t2 t1 t0 "}, "limit=4&order=asc": {"t0 t1 t2 t3 ", "t4 w "},
	} {
		got, next := list(query)
		if got != want[0] || next == "" {
			t.Errorf("%q lists %q, %q", query, got, next)
		}
		if got, next := list(query + "&cursor=" + url.QueryEscape(next)); got != want[1] || next != "" {
			t.Errorf("the page after %q lists %q, %q", query, got, next)
		}
	}
	var info posthouse.ThreadInfo
	h.get("/api/threads/w").want(http.StatusOK).into(&info)
	if info.Status != posthouse.StatusWaiting || len(info.Waiting) != 1 || len(info.Branches) != 1 || info.Tail.Seq != 1 {
		t.Errorf("the thread is %+v", info)
	}
	var gone retain.Deleted
	h.send(ask{method: "DELETE", path: "/api/threads/w?reason=done"}).want(http.StatusOK).into(&gone)
	if gone.Checkpoints != 1 || gone.Gates != 1 {
		t.Errorf("what went: %+v", gone)
	}
	h.get("/api/threads/w").refused(posthouse.CodeNotFound)
	h.send(ask{method: "DELETE", path: "/api/threads/w"}).refused(posthouse.CodeNotFound)
	if log := string(h.get("/api/threads/w/log").want(http.StatusOK).body); !strings.Contains(log, `"reason":"done"`) {
		t.Errorf("its last record is not to be read: %s", log)
	}
	h.get("/api/threads/nope/log").refused(posthouse.CodeNotFound)
}

func TestDeleteCoordination(t *testing.T) {
	h := open(t, nil)
	a, _ := h.waiting("t1")
	b, _ := h.waiting("t2")
	other := h.saved("t3", "1")
	var gone retain.Deleted
	h.send(ask{method: "DELETE", path: "/api/coordinations/dispatch"}).want(http.StatusOK).into(&gone)
	if gone.Checkpoints != 2 || gone.Gates != 2 {
		t.Errorf("what went: %+v", gone)
	}
	h.get("/api/checkpoints/" + string(a)).refused(posthouse.CodeNotFound)
	h.get("/api/checkpoints/" + string(b)).refused(posthouse.CodeNotFound)
	h.get("/api/checkpoints/" + string(other.ID)).want(http.StatusOK)
	h.send(ask{method: "DELETE", path: "/api/coordinations/a%0ab"}).refused(posthouse.CodeInvalid)
}

func TestThreadLogPages(t *testing.T) {
	h := open(t, nil)
	for i := range 7 {
		h.saved("t", fmt.Sprint(i))
	}
	read := func(path string) (seqs string) {
		for path != "" {
			var es []*LogEntry
			a := h.get(path).want(http.StatusOK)
			a.into(&es)
			for _, e := range es {
				seqs += fmt.Sprint(e.Seq)
				if e.Hash.IsZero() || e.Prev.IsZero() != (e.Seq == 1) || len(e.Records) == 0 || e.At.IsZero() {
					t.Errorf("entry %d is %+v", e.Seq, e)
				}
			}
			path, _, _ = strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">")
		}
		return seqs
	}
	for query, want := range map[string]string{"": "1234567", "limit=3": "1234567", "limit=3&order=desc": "7654321", "limit=7": "1234567", "cursor=5": "67", "cursor=3&order=desc": "21", "cursor=1&order=desc": "", "cursor=99": ""} {
		if got := read("/api/threads/t/log?" + query); got != want {
			t.Errorf("%q reads %s, want %s", query, got, want)
		}
	}
	for _, bad := range []string{"cursor=x", "cursor=-1", "order=x", "limit=0"} {
		h.get("/api/threads/t/log?" + bad).refused(posthouse.CodeInvalid)
	}
}

func TestDiff(t *testing.T) {
	h := open(t, nil)
	save := func(s posthouse.State) posthouse.ID {
		t.Helper()
		c, err := h.ledger.Save(t.Context(), posthouse.Root("t-"+string(h.ledger.Core().NewID()), s), nil)
		must.Do(t, err)
		return c.ID
	}
	j := func(s string) posthouse.Value { return posthouse.Value{Codec: "json", Data: []byte(s)} }
	big := `"` + strings.Repeat("x", 64<<10) + `"`
	a := save(posthouse.State{"same": j("1"), "changed": j(`{"x":1}`), "gone": j("2"), "codec": j(`"eA=="`), "big": j("0")})
	b := save(posthouse.State{"same": j("1"), "changed": j(`{"x":2}`), "new": j("3"), "codec": {Codec: "raw", Data: []byte("x")}, "big": j(big)})
	var d diff.Comparison
	r := h.get("/api/diff?a=" + string(a) + "&b=" + string(b)).want(http.StatusOK)
	r.into(&d)
	got := ""
	for _, p := range d.Parts {
		got += p.Name + " " + p.Change
		for _, s := range []*diff.PartSide{p.A, p.B} {
			if s != nil {
				got += fmt.Sprintf(" %s/%d/%s", s.Codec, s.Size, s.Value)
			}
		}
		got += "\n"
	}
	want := fmt.Sprintf(`big changed json/1/0 json/%d/
changed changed json/7/{"x":1} json/7/{"x":2}
codec changed json/6/"eA==" raw/1/"x"
gone removed json/1/2
new added json/1/3
`, len(big))
	if got != want || d.A != a || d.B != b {
		t.Errorf("the difference is\n%swant\n%s", got, want)
	}
	if r := h.get("/api/diff?a=" + string(a) + "&b=" + string(a)).want(http.StatusOK); !strings.Contains(string(r.body), `"parts":[]`) {
		t.Errorf("of the same it is %s", r.body)
	}
	h.get("/api/diff?a=" + string(a)).refused(posthouse.CodeInvalid)
	h.get("/api/diff?b=" + string(a)).refused(posthouse.CodeInvalid)
	h.get("/api/diff?a=" + string(a) + "&b=unknown").refused(posthouse.CodeNotFound)
}

// A barred store takes no entries of one thread.
type barred struct {
	posthouse.Store
	thread string
}

func (s *barred) Append(ctx context.Context, b *posthouse.Batch) error {
	if b.Thread.Thread == s.thread {
		return &posthouse.Error{Code: posthouse.CodeTooLarge, Message: "barred"}
	}
	return s.Store.Append(ctx, b)
}

// A thread that is gone or released is answered with what went, also where
// something it waited for goes on: there is nothing left to ask for again.
func TestEndOfAThreadDespiteUncancelledWaits(t *testing.T) {
	store := &barred{Store: memstore.New()}
	l, err := ledger.Open(store, nil)
	must.Do(t, err)
	h := open(t, func(o *Options) { o.Ledger = l })
	t.Cleanup(func() { must.Do(t, l.Close()) })
	wait := func(thread string, g posthouse.Gate) {
		t.Helper()
		_, err := l.Commit(t.Context(), &ledger.Draft{Thread: thread, Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}})
		must.Do(t, err)
	}
	wait("called", posthouse.Gate{Name: "ask"})
	wait("w", posthouse.Gate{Name: "call", Kind: posthouse.GateThread, Text: "called", ExpiresAt: l.Now().Add(time.Hour)})
	store.thread = "w"
	h.send(ask{method: "DELETE", path: "/api/threads/w"}).refused(posthouse.CodeTooLarge)
	store.thread = "called"
	var gone DeletedThread
	h.send(ask{method: "DELETE", path: "/api/threads/w"}).want(http.StatusOK).into(&gone)
	if gone.Checkpoints != 1 || gone.Gates != 1 || gone.Error == nil || gone.Error.Code != posthouse.CodeTooLarge || !strings.Contains(gone.Error.Detail, "gone") {
		t.Errorf("what went: %+v", gone)
	}
	h.get("/api/threads/w").refused(posthouse.CodeNotFound)

	wait("v", posthouse.Gate{Name: "call", Kind: posthouse.GateThread, Text: "called", ExpiresAt: l.Now().Add(time.Hour)})
	var made Released
	h.send(ask{method: "POST", path: "/api/threads/v/releases", body: `{}`}).want(http.StatusOK).into(&made)
	if made.Version != 1 || made.Error == nil || made.Error.Code != posthouse.CodeTooLarge || !strings.Contains(made.Error.Detail, "is made") {
		t.Errorf("the version: %+v", made)
	}
}
