package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/overview"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

type parcel struct {
	Order string `json:"order" doc:"the order's number"`
	Count int    `json:"count"`
}

// openPrograms opens a server with a flow that asks, and a program that does not describe itself.
func openPrograms(t *testing.T) (h *testServer, f *flow.App[parcel, string]) {
	h = open(t, func(o *Options) {
		f = newPack(t, o.Ledger)
		o.Programs = []Program{{Info: *f.Describe(), Starter: f}, {Info: posthouse.ProgramInfo{Name: "a/b", Kind: posthouse.ProgramOther}}}
		o.Limits.State = 64 << 10
		o.Runner = nil // programs go on elsewhere
	})
	return h, f
}

// newPack opens a flow that asks.
func newPack(t *testing.T, l *ledger.Ledger) *flow.App[parcel, string] {
	t.Helper()
	f, err := flow.New("pack", func(ctx context.Context, p parcel) (string, error) {
		a, err := gate.Ask[any](ctx, gate.Question{Name: "pack", Text: "Pack " + p.Order + "?", AllowRequester: true})
		if errors.Is(err, posthouse.ErrForbidden) {
			return "left", nil
		}
		if err != nil {
			return "", err
		}
		return "packed as " + a.By, nil
	}).Open(l, &flow.Options{Description: "Packs an order", Questions: []runs.Question{{Name: "pack", Text: "Pack the order?", Payload: parcel{}}}})
	must.Do(t, err)
	return f
}

// TestProgramsAreListed lists programs page by page, and shows one with its schemas.
func TestProgramsAreListed(t *testing.T) {
	h, _ := openPrograms(t)
	type list struct {
		Items []posthouse.ProgramInfo
		Next  string
	}
	var all, first, second list
	h.get("/api/programs").into(&all)
	h.get("/api/programs?limit=1").into(&first)
	a := h.send(ask{method: "GET", path: "/api/programs?limit=1&cursor=" + strings.ReplaceAll(first.Next, "/", "%2F"), as: tokens.Viewer}).want(http.StatusOK)
	a.into(&second)
	if len(all.Items) != 2 || all.Next != "" || len(first.Items) != 1 || first.Next == "" || len(second.Items) != 1 || second.Next != "" {
		t.Fatalf("all %+v, then by one %+v, %+v", all, first, second)
	}
	for _, p := range all.Items {
		if p.Input != nil || p.State != nil || p.Picture != "" {
			t.Errorf("the list has schemas: %+v", p)
		}
	}
	p := second.Items[0]
	if first.Items[0].Starts || p.Name != "pack" || p.Kind != "flow" || !p.Starts || p.Description != "Packs an order" || len(p.Questions) != 1 || p.Questions[0].Payload != nil {
		t.Errorf("the list has %+v", all)
	}
	var shown posthouse.ProgramInfo
	h.get("/api/programs/pack").into(&shown)
	if !strings.Contains(string(shown.Input), `"description":"the order's number"`) || !strings.Contains(string(shown.State), `"output":`) || shown.Questions[0].Payload == nil {
		t.Errorf("the program is shown as %+v", shown)
	}
	for i, name := range []string{"refund", "pack", "again", "refund"} { // by another program, declared, and not
		d := &ledger.Draft{Thread: fmt.Sprint("asked", i), Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "pack"}, Gates: []posthouse.Gate{
			{Name: name, Text: "Now?", Payload: json.RawMessage(`{}`), PayloadSchema: json.RawMessage(`{"type":"object"}`)},
		}}
		if i == 0 {
			d.Checkpoint.Graph = "other"
		}
		done := must.Get(h.ledger.Commit(t.Context(), d))(t)
		if name == "again" {
			must.Get(h.ledger.Decide(t.Context(), done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
		}
	}
	h.get("/api/programs/pack").into(&shown)
	if q := shown.Questions; len(q) != 3 || q[0].Name != "pack" || !q[0].Asked || q[0].Text != "Pack the order?" || q[1].Name != "again" || !q[1].Asked || q[2].Name != "refund" || q[2].Text != "Now?" || len(q[2].Payload) == 0 {
		t.Errorf("the questions are %+v", q)
	}
	if h.get("/api/programs/-?program=a/b").into(&shown); shown.Name != "a/b" {
		t.Errorf("a name with a slash leads to %+v", shown)
	}
	if p := h.send(ask{method: "GET", path: "/api/programs/pick"}).refused(posthouse.CodeNotFound); p.Hint != "there is a/b, pack" {
		t.Errorf("an unknown program: %+v", p)
	}
	none := open(t, nil)
	var empty list
	none.get("/api/programs").into(&empty)
	if p := none.send(ask{method: "GET", path: "/api/programs/pack"}).refused(posthouse.CodeNotFound); empty.Items == nil || len(empty.Items) != 0 || p.Hint != "no program is served here" {
		t.Errorf("a server without programs lists %+v, and says %+v", empty, p)
	}
}

// TestStanding: a program's open threads are counted by node and version, and each count leads to its threads.
func TestStanding(t *testing.T) {
	h, _ := openPrograms(t)
	for i, node := range []string{"pay", "pay", "ask"} {
		must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: fmt.Sprint("t", i), Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Status: posthouse.StatusInterrupted, Graph: "pack", Fingerprint: fmt.Sprint("v", i), Next: []string{node},
		}}))(t)
	}
	var s overview.Standing
	h.get("/api/programs/pack/standing").into(&s)
	if fmt.Sprint(s.Nodes) != "[{ask 1 map[interrupted:1]} {pay 2 map[interrupted:2]}]" || len(s.Versions) != 3 || s.More {
		t.Errorf("it stands as %+v", s)
	}
	for query, want := range map[string]int{"graph=pack&node=pay": 2, "node=pay&status=interrupted": 2, "node=pay&status=failed": 0, "graph=pack&node=pay&version=v1": 1, "graph=other&node=pay": 0, "version=v2": 1, "unknown=true": 0} {
		var ts []Thread
		if h.get("/api/threads?" + query).into(&ts); len(ts) != want {
			t.Errorf("%s finds %d threads, want %d", query, len(ts), want)
		}
	}
	if p := h.send(ask{method: "GET", path: "/api/threads?node=pay&counts=true"}).refused(posthouse.CodeInvalid); p.Field != "counts" {
		t.Errorf("counts of a node: %+v", p)
	}
	h.send(ask{method: "GET", path: "/api/programs/nope/standing"}).refused(posthouse.CodeNotFound)
}

// TestRunsAreRefused sends inputs that no run may begin with. They leave no thread.
func TestRunsAreRefused(t *testing.T) {
	h, _ := openPrograms(t)
	const path = "/api/programs/pack/runs"
	for body, want := range map[string]struct {
		code        posthouse.Code
		field, hint string
	}{
		`{"input":{"ordr":"1"}}`:              {posthouse.CodeInvalid, "input.ordr", `{"order": text, "count": whole number}`},
		`{"input":{"order":1}}`:               {posthouse.CodeInvalid, "input.order", `"order": text`},
		`{"input":{"count":9.5}}`:             {posthouse.CodeInvalid, "input.count", ""},
		`{"input":"{\"order\":\"1\"}"}`:       {posthouse.CodeInvalid, "input", ""},
		`{}`:                                  {posthouse.CodeInvalid, "input", ""},
		`{"input":{},"id":"$own"}`:            {posthouse.CodeInvalid, "id", ""},
		`{"input":{},"id":"a\u0000b"}`:        {posthouse.CodeInvalid, "id", ""},
		`{"input":{"order":"1","order":"2"}}`: {posthouse.CodeInvalid, "order", ""},
		`{"message":"{}"}`:                    {posthouse.CodeInvalid, "message", ""},
		`{"input":{},"labels":{"a":"` + strings.Repeat("x", 201) + `"}}`:          {posthouse.CodeInvalid, "", ""},
		`{"input":{},"labels":{` + strings.Repeat(`"a":"b",`, 2) + `"a":"b"}}`:    {posthouse.CodeInvalid, "a", ""},
		`{"input":{"order":"` + strings.Repeat("a", 65<<10) + `"}}`:               {posthouse.CodeTooLarge, "body", ""},
		`{"input":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`: {posthouse.CodeInvalid, "body", ""},
		`{"input":{},"labels":{` + manyLabels(16) + `}}`:                          {posthouse.CodeInvalid, "labels", ""},
	} {
		p := h.send(ask{method: "POST", path: path, body: body}).refused(want.code)
		if want.field != "" && p.Field != want.field || !strings.Contains(p.Hint, want.hint) {
			t.Errorf("%.80s: field %s, hint %s, %s; want %+v", body, p.Field, p.Hint, p.Detail, want)
		}
	}
	if p := h.send(ask{method: "POST", path: "/api/programs/pick/runs", body: `{}`}).refused(posthouse.CodeNotFound); p.Hint != "there is a/b, pack" {
		t.Errorf("an unknown program: %+v", p)
	}
	h.send(ask{method: "POST", path: "/api/programs/-/runs?program=a/b", body: `{}`}).refused(posthouse.CodeUnsupported)
	h.send(ask{method: "POST", path: path, as: tokens.Viewer, body: `{"input":{}}`}).refused(posthouse.CodeForbidden)
	h.send(ask{method: "POST", path: path, as: tokens.Approver, body: `{"input":{}}`}).refused(posthouse.CodeForbidden)
	for info := range h.ledger.Threads(t.Context(), posthouse.ThreadQuery{}) {
		t.Errorf("a thread is left: %s", info.Thread)
	}
}

func manyLabels(n int) string {
	var labels []string
	for i := range n {
		labels = append(labels, `"`+string(rune('a'+i))+`":"x"`)
	}
	return strings.Join(labels, ",")
}

// TestRunBegins puts a run on record, once under a name and once under a key, and goes on with it
// where no runner was told.
func TestRunBegins(t *testing.T) {
	h, f := openPrograms(t)
	start := func(body string, header ...string) *reply {
		return h.send(ask{method: "POST", path: "/api/programs/pack/runs", body: body, header: header})
	}
	type run struct{ Program, Thread, Status, Checkpoint, Location, Events string }
	var got run
	a := start(`{"input":{"order":"7","count":9007199254740993},"id":"order 7","labels":{"tenant":"acme"}}`).want(http.StatusCreated)
	a.into(&got)
	if got.Program != "pack" || got.Thread != "order 7" || got.Status != "running" || got.Checkpoint == "" || got.Location != "/api/threads/order%207" ||
		a.header.Get("Location") != got.Location || got.Events != "/api/events?after=start&thread=order+7" {
		t.Errorf("the run is answered with %+v, %v", got, a.header)
	}
	c, err := h.ledger.Get(t.Context(), posthouse.ID(got.Checkpoint))
	if err != nil || c.By != "operator-token" || c.Labels["tenant"] != "acme" || string(c.State["input"].Data) != `{"order":"7","count":9007199254740993}` {
		t.Errorf("on record is %+v, %v", c, err)
	}
	h.get(got.Location).want(http.StatusOK)
	if p := start(`{"input":{},"id":"order 7"}`).refused(posthouse.CodeExists); p.Field != "id" {
		t.Errorf("begun again: %+v", p)
	}

	const key = api.KeyHeader + ": k-1"
	if p := start(`{"input":{"x":1}}`, key).refused(posthouse.CodeInvalid); p.Field != "input.x" {
		t.Errorf("a bad input under a key: %+v", p)
	}
	var first, second run
	start(`{"input":{"order":"8"}}`, key).want(http.StatusCreated).into(&first)
	b := start(`{"input":{"order":"8"}}`, key).want(http.StatusCreated)
	b.into(&second)
	if first.Thread == "" || second != first || b.header.Get(api.ReplayedHeader) != "true" {
		t.Errorf("under a key it begins as %+v, then as %+v, %v", first, second, b.header)
	}
	for _, other := range []string{`{"input":{"order":"9"}}`, `{"input":{"order":"8"},"id":"x"}`, `{"input":{"order":"8"},"labels":{"a":"b"}}`} {
		if p := start(other, key).refused(problem.CodeKeyReused); p.Field != api.KeyHeader {
			t.Errorf("%s under the same key: %+v", other, p)
		}
	}
	taken := api.KeyHeader + ": k-2"
	for range 2 { // the thread was there before the key
		if p := start(`{"input":{"order":"8"},"id":"order 7"}`, taken).refused(posthouse.CodeExists); p.Field != "id" {
			t.Errorf("a thread that exists, under a key: %+v", p)
		}
	}

	// A signal that came early does not keep a run from beginning, and its key is known.
	_, err = h.ledger.Signal(t.Context(), "early", posthouse.Signal{Name: "go", By: "alice", Early: true})
	must.Do(t, err)
	for i := range 2 {
		a := start(`{"input":{"order":"9"},"id":"early"}`, api.KeyHeader+": k-3").want(http.StatusCreated)
		if again := a.header.Get(api.ReplayedHeader) == "true"; again != (i == 1) {
			t.Errorf("sent %d times: %v", i+1, a.header)
		}
	}

	r, err := runner.New(h.ledger, &runner.Options{Programs: []posthouse.Program{f}})
	must.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	res, err := f.Wait(t.Context(), "order 7")
	if err != nil || res.Status != posthouse.StatusWaiting || len(res.Waiting) != 1 || res.Waiting[0].RequestedBy != "operator-token" {
		t.Fatalf("a runner leaves it as %+v, %v", res, err)
	}
	if _, err := h.ledger.Decide(t.Context(), res.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		t.Error(err)
	}
	if res, err := f.Wait(t.Context(), "order 7"); err != nil || res.Status != posthouse.StatusDone || res.Output != "packed as alice" {
		t.Errorf("approved it is %+v, %v", res, err)
	}
	cancel()
	must.Do(t, <-ended)
}

// TestRunStartsLater: a run with a start is on record, waits, says so in the list, and is cancelled
// as any other. A time that it cannot have is refused, and leaves no thread.
func TestRunStartsLater(t *testing.T) {
	h, _ := openPrograms(t)
	const path = "/api/programs/pack/runs"
	at := h.ledger.Now().Add(time.Hour).Truncate(time.Second).UTC()
	type run struct {
		Thread, Status string
		StartAt        time.Time
	}
	var got, again run
	body := `{"input":{"order":"7"},"id":"later","startAt":"` + at.In(time.FixedZone("", 7200)).Format(time.RFC3339) + `"}`
	a := h.send(ask{method: "POST", path: path, body: body, header: []string{api.KeyHeader + ": k"}}).want(http.StatusCreated)
	a.into(&got)
	h.send(ask{method: "POST", path: path, body: body, header: []string{api.KeyHeader + ": k"}}).want(http.StatusCreated).into(&again)
	if got.Status != "waiting" || !got.StartAt.Equal(at) || again != got || !strings.Contains(string(a.body), at.Format(time.RFC3339)) {
		t.Errorf("the run is answered with %+v, and again with %+v", got, again)
	}
	var list struct {
		Items []struct {
			Thread, Status, Now, Graph string
			Waiting                    []struct{ Kind, ExpiresAt string }
		}
	}
	h.get("/api/threads?status=waiting").into(&list)
	if len(list.Items) != 1 || list.Items[0].Now != "starts at "+at.Format(time.RFC3339) || len(list.Items[0].Waiting) != 1 || list.Items[0].Waiting[0].Kind != "timer" {
		t.Fatalf("the list has %+v", list.Items)
	}
	h.send(ask{method: "POST", path: "/api/threads/later/cancel", body: `{}`}).want(http.StatusOK)
	if info := must.Get(h.ledger.Thread(t.Context(), "later"))(t); info.Status != posthouse.StatusCancelled || len(info.Waiting) != 0 {
		t.Errorf("cancelled it is %+v", info)
	}
	for _, when := range []string{"tomorrow", "2026-12-01", "0001-01-02T00:00:00Z", "9999-12-31T23:59:59Z", at.AddDate(0, 0, 367).Format(time.RFC3339), at.Add(-2 * time.Hour).Format(time.RFC3339)} {
		if p := h.send(ask{method: "POST", path: path, body: `{"input":{"order":"7"},"id":"never","startAt":"` + when + `"}`}).refused(posthouse.CodeInvalid); p.Field != "startAt" || p.Detail == "" {
			t.Errorf("%s is refused with %+v", when, p)
		}
	}
	if _, err := h.ledger.Thread(t.Context(), "never"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("a refused run left %v", err)
	}
}

// TestExamplesFit holds the examples of the documentation to the forms that they are of.
func TestExamplesFit(t *testing.T) {
	h := open(t, nil)
	seen := 0
	for _, r := range h.server.routes {
		if e, ok := r.Example.(json.RawMessage); ok {
			seen++
			if !json.Valid(e) {
				t.Errorf("the example of %s %s is not JSON: %s", r.Method, r.Path, e)
			}
		}
		for _, a := range r.Answers {
			if e, ok := a.Example.(json.RawMessage); ok {
				seen++
				if !json.Valid(e) {
					t.Errorf("the example of an answer of %s %s is not JSON: %s", r.Method, r.Path, e)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no route has an example")
	}
}
