package server

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
	h.post("/api/threads/a/copy", `{"thread":"z"}`).want(http.StatusOK)
	copied := read(url.Values{"thread": {"z"}, "limit": {"1"}}) // pages begin in the middle of the copied entries
	if len(copied) < 3 || copied[0].Did != "copied" || copied[0].What != "thread a" || copied[0].By != "operator-token" || copied[0].CopyOf != "" {
		t.Errorf("a copy begins with %+v", copied[0])
	}
	for _, x := range copied[1:] {
		if x.CopyOf != "a" {
			t.Errorf("%s %s of a copy is told as if it were done there", x.Did, x.What)
		}
	}
	table := string(h.get("/api/audit/export?format=csv&thread=a").want(http.StatusOK).body)
	rows, err := csv.NewReader(strings.NewReader(table + "\n")).ReadAll()
	if err == nil || !errors.Is(err, csv.ErrFieldCount) { // the last line is shorter
		t.Errorf("the table reads as %q, %v", rows, err)
	}
	if !strings.Contains(table, ",operator-token,,approved,") || !strings.HasSuffix(table, "\nend,2\n") {
		t.Errorf("the table is %s", table)
	}
	h.get("/api/audit?thread=nothing").refused(posthouse.CodeNotFound)
	for _, cursor := range []string{"x", "MQ", "MS4xLmI", "LTEuMS5h", "MS4tMS5h"} { // the third is of b
		h.get("/api/audit?thread=a&cursor=" + cursor).refused(posthouse.CodeInvalid)
	}
}

// TestActsSayTheirSignature has a signature of the act's entry, a later one, or no signature yet, in one page
// and in pages of one act.
func TestActsSayTheirSignature(t *testing.T) {
	h, _ := signed(t, nil)
	effect := func(name string, status posthouse.Status) {
		must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Steps: []posthouse.Step{
			{Task: "t", Name: name, Effect: posthouse.EffectExternal, Value: posthouse.Value{Data: []byte("1")}},
		}, Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: status}}))(t)
	}
	for _, name := range []string{"one", "two", "three"} {
		effect(name, posthouse.StatusRunning)
	}
	log := func() (all []uint64) { // the signed entries
		for e, err := range h.ledger.Log(t.Context(), "t", posthouse.Range{Headers: true}) {
			must.Do(t, err)
			if len(e.Sig) > 0 {
				all = append(all, e.Seq)
			}
		}
		return all
	}
	check := func() {
		t.Helper()
		entries := log()
		for _, limit := range []string{"1", "1000"} {
			for cursor, done := "", false; !done; done = cursor == "" {
				var page struct {
					Items []*audit.Act
					Next  string
				}
				must.Do(t, json.Unmarshal(h.get("/api/audit?thread=t&kind=effect&limit="+limit+"&cursor="+cursor).want(http.StatusOK).body, &page))
				cursor = page.Next
				for _, x := range page.Items {
					want, state := uint64(0), "none"
					if i := slices.IndexFunc(entries, func(seq uint64) bool { return seq >= x.Seq }); i >= 0 {
						want, state = entries[i], "covered"
						if want == x.Seq {
							state = "signed"
						}
					}
					if x.Coverage != state || x.CoveredBy != want {
						t.Errorf("entry %d is %s by %d, want %s by %d", x.Seq, x.Coverage, x.CoveredBy, state, want)
					}
				}
			}
		}
	}
	check()
	effect("four", posthouse.StatusDone) // the end of a run is signed
	if entries := log(); len(entries) == 0 || entries[len(entries)-1] != 4 {
		t.Fatalf("entries %v are signed", entries)
	}
	check()
}
