package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/audit"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestAuditTrail has what people did, of all threads, in pages and as lines, by person, kind and time;
// for operators alone.
func TestAuditTrail(t *testing.T) {
	h := open(t, nil)
	_, a := h.waiting("a")
	_, b := h.waiting("b")
	h.post("/api/gates/"+string(a.ID)+"/approve", `{"reason":"fine"}`).want(http.StatusOK)
	h.send(ask{method: "POST", path: "/api/gates/" + string(b.ID) + "/reject", as: tokens.Approver}).want(http.StatusOK)
	must.Get(h.ledger.Signal(t.Context(), "b", posthouse.Signal{Name: "go", By: "alice", Value: json.RawMessage(`9007199254740993`)}))(t)
	must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "c", Steps: []posthouse.Step{
		{Task: "t", Name: "look", Effect: posthouse.EffectRead, Value: posthouse.Value{Data: []byte("1")}}, {Task: "t", Name: "pay", Effect: posthouse.EffectExternal, Value: posthouse.Value{Data: []byte("2")}},
	}, Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone}}))(t)
	must.Get(h.ledger.Release(t.Context(), "c", &ledger.ReleaseOptions{By: "bob"}))(t)

	said := func(acts []*audit.Act) (all []string) {
		for _, x := range acts {
			all = append(all, x.Thread+" "+x.Kind+" "+x.By)
		}
		return all
	}
	read := func(query url.Values) (all []*audit.Act) {
		t.Helper()
		for {
			var page struct {
				Items []*audit.Act
				Next  string
			}
			if err := json.Unmarshal(h.get("/api/audit?"+query.Encode()).want(http.StatusOK).body, &page); err != nil {
				t.Fatal(err)
			}
			all = append(all, page.Items...)
			if page.Next == "" {
				return all
			}
			query.Set("cursor", page.Next)
		}
	}
	want := []string{"a question somebody", "a decision operator-token", "b question somebody", "b decision approver-token", "b signal alice"}
	for _, limit := range []string{"1", "2", "1000"} {
		got := said(read(url.Values{"limit": {limit}, "prefix": {""}}))
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("by %s: %q, want it to begin with %q", limit, got, want)
		}
	}
	for query, want := range map[string][]string{
		"by=approver-token": {"b decision approver-token"}, "kind=signal": {"b signal alice"}, "thread=a&kind=question": {"a question somebody"},
		"thread=c&kind=effect": {"c effect "}, "thread=c&kind=release": {"c release bob"}, "prefix=b&kind=decision": {"b decision approver-token"},
		"until=2001-01-01T00:00:00Z": nil, "since=" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339): nil,
	} {
		q, err := url.ParseQuery(query)
		must.Do(t, err)
		q.Set("limit", "1")
		if got := said(read(q)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for _, x := range read(url.Values{"thread": {"b"}}) {
		if x.Hash.IsZero() || x.Seq == 0 || x.Record == nil || x.Kind == "signal" && string(x.Record.Signal.Value) != "9007199254740993" {
			t.Errorf("an act is %+v, %+v", x, x.Record)
		}
	}

	body := h.get("/api/audit/export").want(http.StatusOK).body
	lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
	var end struct {
		End  bool
		Acts int
	}
	if err := json.Unmarshal(lines[len(lines)-1], &end); err != nil || !end.End || end.Acts != len(lines)-1 || end.Acts != len(read(url.Values{})) {
		t.Errorf("the export ends with %s after %d lines, %v", lines[len(lines)-1], len(lines), err)
	}
	for _, path := range []string{"/api/audit", "/api/audit/export"} {
		h.send(ask{method: "GET", path: path, as: tokens.Approver}).refused(posthouse.CodeForbidden)
		h.get(path + "?thread=a&prefix=b").refused(posthouse.CodeInvalid)
	}
	h.get("/api/audit?thread=nothing").refused(posthouse.CodeNotFound)
	for _, cursor := range []string{"x", "MQ", "MS4xLmI", "LTEuMS5h", "MS4tMS5h"} { // the third is of b
		h.get("/api/audit?thread=a&cursor=" + cursor).refused(posthouse.CodeInvalid)
	}
}
