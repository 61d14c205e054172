package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// waitFor commits a checkpoint that waits for signals of these names.
func (h *testServer) waitFor(thread string, names ...string) {
	h.t.Helper()
	d := &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}}
	for _, n := range names {
		d.Gates = append(d.Gates, posthouse.Gate{Name: "signal:" + n, Kind: posthouse.GateSignal, Signal: n})
	}
	_, err := h.ledger.Commit(h.t.Context(), d)
	must.Do(h.t, err)
}

func TestSendSignal(t *testing.T) {
	h := open(t, nil)
	h.waitFor("t1", "go", "a name with ö")
	var s posthouse.Signal
	h.send(ask{method: "POST", path: "/api/threads/t1/signals/go?id=mine", body: `{"n":1}`, as: tokens.Approver}).want(http.StatusOK).into(&s)
	if s.ID != "mine" || s.By != "approver-token" || string(s.Value) != `{"n":1}` || len(s.Gates) != 1 {
		t.Errorf("sent %+v", s)
	}
	var again posthouse.Signal
	h.send(ask{method: "POST", path: "/api/threads/t1/signals/go?id=mine", body: `{"n":1}`, as: tokens.Approver}).want(http.StatusOK).into(&again)
	if again.Seq != s.Seq {
		t.Errorf("sent again as entry %d, was %d", again.Seq, s.Seq)
	}
	h.post("/api/threads/t1/signals/go?id=mine", `2`).refused(posthouse.CodeExists)
	h.send(ask{method: "POST", path: "/api/threads/t1/signals/a%20name%20with%20%c3%b6"}).want(http.StatusOK).into(&s)
	if string(s.Value) != "null" || len(s.Gates) != 1 {
		t.Errorf("sent %+v", s)
	}
	h.get("/api/gates").want(http.StatusOK).into(&[]posthouse.Gate{})

	h.post("/api/threads/new/signals/go", "1").refused(posthouse.CodeNotFound)
	h.post("/api/threads/new/signals/go?early=true&latch=true", "1").want(http.StatusOK).into(&s)
	if !s.Latch || s.Seq != 1 {
		t.Errorf("sent %+v", s)
	}
	for _, name := range []string{"$cancel", "a%0ab", strings.Repeat("n", 201), "%ff"} {
		if p := h.post("/api/threads/t1/signals/"+name, "1").refused(posthouse.CodeInvalid); p.Field != "name" {
			t.Errorf("%.20q blames %q", name, p.Field)
		}
	}
	value := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	h.post("/api/threads/t1/signals/go", value(posthouse.MaxSignal)).want(http.StatusOK)
	h.post("/api/threads/t1/signals/go", value(posthouse.MaxSignal+1)).refused(posthouse.CodeTooLarge)
}

// TestInboxHasNoTimers: gates that no person decides are shown only by their kind.
func TestInboxHasNoTimers(t *testing.T) {
	h := open(t, nil)
	h.waitFor("t1", "go")
	h.waiting("t2")
	for path, want := range map[string]string{"/api/gates": "t2", "/api/gates?kind=signal": "t1", "/api/gates?kind=approval": "t2", "/api/gates?kind=timer": ""} {
		var gates []posthouse.Gate
		h.get(path).want(http.StatusOK).into(&gates)
		if want == "" && len(gates) != 0 || want != "" && (len(gates) != 1 || gates[0].Thread != want) {
			t.Errorf("%s lists %+v", path, gates)
		}
		for _, g := range gates {
			if g.Kind == posthouse.GateSignal {
				h.post("/api/gates/"+string(g.ID)+"/approve", "").refused(posthouse.CodeForbidden)
			}
		}
	}
}

func TestCancelThread(t *testing.T) {
	h := open(t, nil)
	h.waitFor("t1", "go")
	h.send(ask{method: "POST", path: "/api/threads/t1/cancel", as: tokens.Approver}).refused(posthouse.CodeForbidden)
	h.post("/api/threads/nothing/cancel", "").refused(posthouse.CodeNotFound)
	h.post("/api/threads/t1/cancel", `{"branch":"other"}`).refused(posthouse.CodeNotFound)
	h.post("/api/threads/t1/cancel", `{"reason":"`+strings.Repeat("x", 4001)+`"}`).refused(posthouse.CodeInvalid)
	var first, again posthouse.Header
	h.post("/api/threads/t1/cancel", `{"reason":"enough"}`).want(http.StatusOK).into(&first)
	if first.Status != posthouse.StatusCancelled || first.Error != "enough" || first.By != "operator-token" {
		t.Errorf("cancelled as %+v", first)
	}
	h.post("/api/threads/t1/cancel", "").want(http.StatusOK).into(&again)
	if again.ID != first.ID {
		t.Errorf("cancelled again as %+v", again)
	}

	claim, err := h.ledger.Claim(t.Context(), "t2", "r")
	must.Do(t, err)
	_, err = h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t2", Claim: claim, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}})
	must.Do(t, err)
	var asked CancelAsked
	h.post("/api/threads/t2/cancel", "").want(http.StatusAccepted).into(&asked)
	if asked.Thread != "t2" || asked.Branch != posthouse.MainBranch || !asked.Cancelling || asked.Head == nil || asked.Head.Status != posthouse.StatusRunning {
		t.Errorf("answered %+v", asked)
	}
	<-claim.Cancelled("")
}

// TestCancelBeforeTheFirstCheckpoint asks a run to cancel that has put nothing
// on record: there is no checkpoint to tell of.
func TestCancelBeforeTheFirstCheckpoint(t *testing.T) {
	h := open(t, nil)
	claim, err := h.ledger.Claim(t.Context(), "t1", "r")
	must.Do(t, err)
	a := h.post("/api/threads/t1/cancel", `{"reason":"enough"}`).want(http.StatusAccepted)
	if got := strings.TrimSpace(string(a.body)); got != `{"thread":"t1","branch":"main","cancelling":true}` {
		t.Errorf("answered %s", got)
	}
	<-claim.Cancelled("")
}
