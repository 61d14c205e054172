package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/outline"
	"github.com/posthouse/posthouse/server/tokens"
)

func (h *testServer) details(thread, more string) []outline.Row {
	h.t.Helper()
	var page api.List[outline.Row]
	h.send(ask{method: "GET", path: "/api/threads/" + thread + "/outline?details=true" + more, as: tokens.Viewer}).want(http.StatusOK).into(&page)
	return page.Items
}

// noted returns a change of the part n, with a line for people.
func noted(n, line string) *posthouse.Change {
	s := posthouse.State{"n": {Codec: "json", Data: []byte(n)}}
	return &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusReady, Node: "read", State: s,
		Story: posthouse.Story{Took: 3 * time.Second, Attempts: 2, Notes: []posthouse.Note{{Line: line}, {Model: "m"}}},
	}
}

// TestOutlineTellsWhatBecame reads rows with what each changed, asked and did, as a viewer.
func TestOutlineTellsWhatBecame(t *testing.T) {
	h := open(t, nil)
	h.program.idle = true
	must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: noted("1", "two pages\nand more")}))(t)
	must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Steps: []posthouse.Step{{
		Task: "x@1", Name: "ask", Value: posthouse.Value{Codec: "json", Data: []byte(`1`)}, Story: posthouse.Story{Notes: []posthouse.Note{{Line: "the model says " + strings.Repeat("é", 300)}}},
	}}}))(t)
	g := h.proposed("t", `{"amount":500}`)
	rows := h.details("t", "")
	if len(rows) != 2 || len(rows[0].Asked) != 1 || rows[0].Asked[0].State != inbox.Open || rows[0].Asked[0].Intent != "Pay this?" || rows[0].Asked[0].Name != "pay" {
		t.Fatalf("%+v", rows)
	}
	if line := rows[0].Line; !strings.HasPrefix(line, "the model says é") || len(line) > 200 || strings.ContainsRune(line, '\ufffd') {
		t.Errorf("the line of the step before is %q", line)
	}
	if r := rows[1]; r.Line != "two pages" || !slices.Equal(r.Changed, []string{"n"}) || r.Attempts != 2 || r.At.Sub(r.Began) != 3*time.Second {
		t.Errorf("%+v", r)
	}
	h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/approve", as: tokens.Approver})
	h.acted(g, "")
	rows = h.details("t", "")
	if rows[0].Asked[0].State != inbox.Decided || rows[0].Asked[0].By != "approver-token" || rows[0].Asked[0].At == 0 {
		t.Errorf("once it is decided: %+v", rows[0].Asked)
	}
	if e := rows[0].Effects; len(e) != 1 || e[0].Status != grants.Unknown || e[0].Grant != g.ID || e[0].Seq <= rows[0].Seq || e[0].Class != "external" {
		t.Errorf("what the head did since: %+v", e)
	}
	h.acted(g, `{"receipt":1}`)
	must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: noted("2", "paid")}))(t)
	rows = h.details("t", "")
	if e := rows[0].Effects; len(e) != 1 || e[0].Status != grants.Executed || e[0].Name != "transfer" || len(rows[1].Effects) != 0 {
		t.Errorf("once a checkpoint followed: %+v, then %+v", e, rows[1].Effects)
	}
	if one := h.details("t", "&limit=1"); len(one) != 1 || len(one[0].Effects) != 1 || one[0].Line != "paid" {
		t.Errorf("a page of one is %+v", one)
	}
	h.get("/api/threads/nothing/outline?details=true").refused(posthouse.CodeNotFound)
	h.get("/api/threads/t/outline?details=perhaps").refused(posthouse.CodeInvalid)
	if plain := h.get("/api/threads/t/outline").want(http.StatusOK).body; bytes.Contains(plain, []byte("asked")) || bytes.Contains(plain, []byte("paid")) {
		t.Errorf("without details it has some: %s", plain)
	}
}

// TestOutlineTellsOfAttempts reads rows of what was tried several times: the record of an attempt that
// failed is told while the next is to come, then that of the step, and then that of the node.
func TestOutlineTellsOfAttempts(t *testing.T) {
	h := open(t, nil)
	one := posthouse.Value{Codec: "json", Data: []byte(`1`)}
	node := func(attempts int, why string) *posthouse.Change {
		return &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusReady, Node: "read", Story: posthouse.Story{Took: time.Second, Attempts: attempts, Error: why}}
	}
	must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: node(1, "")}))(t)
	must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Steps: []posthouse.Step{{Task: "x@1", Name: "ask>$attempt", Value: one, Story: posthouse.Story{Attempts: 1, Error: "overloaded"}}}}))(t)
	must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: node(1, "")}))(t)
	must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Steps: []posthouse.Step{{Task: "x@1", Name: "ask", Value: one, Story: posthouse.Story{Attempts: 3, Error: strings.Repeat("é", 300)}}}}))(t)
	must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: node(1, "")}))(t)
	must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: node(2, "no space")}))(t)
	var have []string
	for _, r := range h.details("t", "") {
		have = append(have, fmt.Sprintf("%d %d %.10s", r.Attempts, r.Tries, r.LastError))
		if len(r.LastError) > 200 {
			t.Errorf("the error has %d bytes", len(r.LastError))
		}
	}
	want := []string{"2 0 no space", "1 3 " + strings.Repeat("é", 10), "1 0 overloaded", "1 0 "}
	if !slices.Equal(have, want) {
		t.Errorf("the rows are %q, want %q", have, want)
	}
}

// TestOutlineTellsWhatReplaced follows a question that was asked again.
func TestOutlineTellsWhatReplaced(t *testing.T) {
	h := open(t, nil)
	h.program.idle = true
	old := h.proposed("t", `{"amount":500}`)
	h.send(ask{method: "POST", path: "/api/gates/" + string(old.ID) + "/cancel", as: tokens.Operator})
	var again posthouse.Gate
	h.post("/api/gates/"+string(old.ID)+"/ask-again", "").want(http.StatusOK).into(&again)
	rows := h.details("t", "")
	i := slices.IndexFunc(rows, func(r outline.Row) bool { return slices.Contains(r.Gates, old.ID) })
	j := slices.IndexFunc(rows, func(r outline.Row) bool { return slices.Contains(r.Gates, again.ID) })
	if i < 0 || j < 0 || rows[i].Asked[0].State != inbox.Withdrawn || rows[i].Asked[0].Superseded != again.ID || rows[j].Asked[0].Supersedes != old.ID {
		t.Errorf("%+v", rows)
	}
}

// TestOutlineWithoutTheTexts reads rows with encrypted texts, on a server without the key.
func TestOutlineWithoutTheTexts(t *testing.T) {
	ring, err := crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte("k"), 32)}, "k1")
	must.Do(t, err)
	h := open(t, nil)
	sealed := must.Get(ledger.Open(h.store, &ledger.Options{Cipher: ring}))(t)
	must.Get(sealed.Commit(t.Context(), &ledger.Draft{Thread: "sealed", Checkpoint: noted("1", "secret")}))(t)
	ask := noted("2", "secret")
	ask.Status = posthouse.StatusWaiting
	must.Get(sealed.Commit(t.Context(), &ledger.Draft{Thread: "sealed", Checkpoint: ask, Gates: []posthouse.Gate{{Name: "pay", Text: "secret?", Payload: json.RawMessage(`{}`)}}}))(t)
	rows := h.details("sealed", "")
	if len(rows) != 2 || rows[1].Line != "" || rows[0].Asked[0].Intent != "" || rows[0].Asked[0].Name != "pay" || !slices.Equal(rows[0].Changed, []string{"n"}) {
		t.Errorf("what nobody can read is told as %+v", rows)
	}
}

// TestOutlineAfterARemoval reads rows with removed texts.
func TestOutlineAfterARemoval(t *testing.T) {
	h := open(t, nil)
	for _, n := range []string{"1", "2", "3"} {
		must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "gone", Checkpoint: noted(n, "line "+n)}))(t)
	}
	must.Get(retain.Run(t.Context(), h.ledger, retain.Policy{MaxPerThread: 1}, nil))(t)
	if rows := h.details("gone", ""); len(rows) == 0 || rows[0].Line != "line 3" || len(rows) > 1 && rows[len(rows)-1].Line == "line 1" {
		t.Errorf("after a removal: %+v", rows)
	}
}
