package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

func TestApproveCheckpoint(t *testing.T) {
	h := open(t, nil)
	cp, g := h.waiting("order-1234")
	a := h.post("/api/checkpoints/"+string(cp)+"/approve?by=alice", "").want(http.StatusOK)
	c := a.checkpoint()
	if c.Parent != cp || c.Thread != "order-1234" || c.Coordination != "dispatch" || c.Agent != "approver" || c.Status != posthouse.StatusDone ||
		c.Metadata["risk"] != "low" || string(c.State) != `{"by":"alice","request":"please refund order 1234","verdict":"approve"}` {
		t.Errorf("the child is %s", a.body)
	}
	if d := c.Decision; d == nil || d.By != "alice" || d.Actor != "operator-token" || d.Verdict != posthouse.Approve || d.Gate != g.ID {
		t.Errorf("its decision is %+v", c.Decision)
	}
	if c.Branched == nil || c.Branched.Head != c.ID || a.header.Get("ETag") != api.ETag(c.Hash) {
		t.Errorf("its branch is %+v", c.Branched)
	}
	// The decision is a record between the two.
	kinds := ""
	var log []*LogEntry
	h.get("/api/threads/order-1234/log").want(http.StatusOK).into(&log)
	for _, e := range log {
		for _, r := range e.Records {
			kinds += r.Kind.String() + " "
		}
	}
	if kinds != "checkpoint gate decision checkpoint " {
		t.Errorf("the log has %s", kinds)
	}
	if got := h.get("/api/gates/" + string(g.ID)).want(http.StatusOK); !strings.Contains(string(got.body), `"by":"alice"`) || got.header.Get("ETag") != "" {
		t.Errorf("the gate is %s", got.body)
	}
	h.get("/api/checkpoints/" + string(g.ID)).refused(posthouse.CodeNotFound) // a gate's id is no checkpoint's
	h.get("/api/gates/" + string(cp)).refused(posthouse.CodeNotFound)
}

// TestSecondDecisionIsToldTheFirst covers late ones, by checkpoint and by
// gate, by the same actor with the same body and by others.
func TestSecondDecisionIsToldTheFirst(t *testing.T) {
	h := open(t, nil)
	cp, g := h.waiting("t1")
	body := `{"reason":"fine"}`
	h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/approve", body: body, as: tokens.Approver}).want(http.StatusOK)
	for _, path := range []string{"/api/gates/" + string(g.ID), "/api/checkpoints/" + string(cp)} {
		for _, verb := range []string{"approve", "reject", "cancel"} {
			for _, as := range []tokens.Role{tokens.Approver, tokens.Operator} {
				p := h.send(ask{method: "POST", path: path + "/" + verb, body: body, as: as, header: []string{`If-Match: "other"`}}).refused(posthouse.CodeDecided)
				if p.Decision == nil || p.Decision.By != "approver-token" || p.Decision.Verdict != posthouse.Approve || p.Decision.Reason != "fine" {
					t.Errorf("%s %s as %s is told %+v", path, verb, as, p.Decision)
				}
			}
		}
	}
	if n := h.program.count(); n != 1 {
		t.Errorf("there were %d effects", n)
	}
}

// TestRacingApproves lets 100 clients approve the same gate at once, half of
// them by its checkpoint.
func TestRacingApproves(t *testing.T) {
	rounds := 10
	if testing.Short() {
		rounds = 2
	}
	h := open(t, nil)
	for round := range rounds {
		cp, g := h.waiting(fmt.Sprintf("t%d", round))
		before := h.program.count()
		paths := []string{"/api/gates/" + string(g.ID), "/api/checkpoints/" + string(cp)}
		verbs := []string{"approve", "reject", "edit", "respond"}
		replies := make([]*reply, 100)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range replies {
			wg.Go(func() {
				body := fmt.Sprintf(`{"by":"racer-%d"}`, i)
				verb := verbs[0]
				if round%2 == 1 {
					verb = verbs[i%4]
					if i%4 > 1 {
						body = fmt.Sprintf(`{"by":"racer-%d","value":{"request":"edited"}}`, i)
					}
				}
				r := h.request(ask{method: "POST", path: paths[i%2] + "/" + verb, body: body})
				<-start
				resp, err := h.http.Client().Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				var raw json.RawMessage
				if err := json.NewDecoder(resp.Body).Decode(&raw); err != nil {
					t.Error(err)
				}
				replies[i] = &reply{t, r.URL.Path, resp.StatusCode, resp.Header, raw}
			})
		}
		close(start)
		wg.Wait()
		if t.Failed() {
			return
		}
		winner, losers := "", 0
		for _, r := range replies {
			if r.status == http.StatusOK {
				if winner != "" {
					t.Fatal("two won")
				}
				winner = r.checkpoint().Decision.By
			}
		}
		for _, r := range replies {
			if r.status != http.StatusOK {
				if p := r.refused(posthouse.CodeDecided); p.Decision == nil || p.Decision.By != winner {
					t.Errorf("a loser is told %+v, the winner is %s", p.Decision, winner)
				}
				losers++
			}
		}
		if effects := h.program.count() - before; winner == "" || losers != 99 || effects != 1 {
			t.Fatalf("round %d: winner %q, %d losers, %d effects", round, winner, losers, effects)
		}
	}
}

func TestVerbs(t *testing.T) {
	h := open(t, nil)
	for i, c := range []struct{ verb, body, verdict, value string }{
		{"approve", ``, "approve", ""},
		{"approve?request=refund+order+99", ``, "edit", `{"request":"refund order 99"}`},
		{"approve", `{"request":"refund \"x\"\n"}`, "edit", `{"request":"refund \"x\"\n"}`},
		{"approve?request=", ``, "edit", `{"request":""}`},
		{"reject", `{"reason":"no"}`, "reject", ""},
		{"edit", `{"value":{"request":"less"}}`, "edit", `{"request":"less"}`},
		{"respond", `{"value":null}`, "respond", "null"},
		{"cancel", `{}`, "cancel", ""},
	} {
		by := "somebody"
		if c.verb == "cancel" {
			by = "approver-token" // an approver withdraws what they asked for
		}
		asked, err := h.program.ask(t.Context(), fmt.Sprintf("t%d", i), "please refund order 1234", by)
		must.Do(t, err)
		a := h.send(ask{method: "POST", path: "/api/gates/" + string(asked.Gates[0].ID) + "/" + c.verb, body: c.body, as: tokens.Approver}).want(http.StatusOK)
		d := a.checkpoint().Decision
		if string(d.Verdict) != c.verdict || string(d.Value) != c.value || d.By != "approver-token" || d.Actor != "" {
			t.Errorf("%s %s: %+v %s", c.verb, c.body, d, d.Value)
		}
	}
}

func TestBadDecisions(t *testing.T) {
	h := open(t, nil)
	cp, g := h.waiting("t1")
	path := "/api/gates/" + string(g.ID) + "/"
	for _, c := range []struct {
		verb, body string
		as         tokens.Role
		code       posthouse.Code
		field      string
	}{
		{"approve?by=alice", "", tokens.Approver, posthouse.CodeForbidden, "by"},
		{"approve", `{"by":"alice"}`, tokens.Approver, posthouse.CodeForbidden, "by"},
		{"approve?by=bob", `{"by":"alice"}`, tokens.Operator, posthouse.CodeInvalid, "by"},
		{"approve?by=a%0ab", "", tokens.Operator, posthouse.CodeInvalid, "by"},
		{"approve?by=al%E2%80%8Bice", "", tokens.Operator, posthouse.CodeInvalid, "by"},
		{"approve?by=%20alice", "", tokens.Operator, posthouse.CodeInvalid, "by"},
		{"approve", `{"shown":"` + strings.Repeat("0", 64) + `"}`, tokens.Operator, posthouse.CodeInvalid, "shown"},
		{"approve?by=", "", tokens.Operator, posthouse.CodeInvalid, "by"},
		{"approve", `{"by":"a\nb"}`, tokens.Operator, posthouse.CodeInvalid, "by"},
		{"approve", `{"by":"` + strings.Repeat("a", 201) + `"}`, tokens.Operator, posthouse.CodeInvalid, "by"},
		{"approve", `{"reason":"` + strings.Repeat("a", 4001) + `"}`, tokens.Operator, posthouse.CodeInvalid, "reason"},
		{"approve", `{"value":1}`, tokens.Operator, posthouse.CodeInvalid, "value"},
		{"approve?request=a", `{"request":"b"}`, tokens.Operator, posthouse.CodeInvalid, "request"},
		{"approve", `{"request":"b","value":1}`, tokens.Operator, posthouse.CodeInvalid, "request"},
		{"reject", `{"request":"b"}`, tokens.Operator, posthouse.CodeInvalid, "request"},
		{"reject?request=b", "", tokens.Operator, posthouse.CodeInvalid, "request"},
		{"edit", `{}`, tokens.Operator, posthouse.CodeInvalid, "value"},
		{"respond", ``, tokens.Operator, posthouse.CodeInvalid, "value"},
		{"approve", `{"shown":"` + strings.Repeat("ab", 32) + `"}`, tokens.Operator, posthouse.CodeConflict, ""},
		{"approve", `{"shown":"ab"}`, tokens.Operator, posthouse.CodeInvalid, "shown"},
	} {
		p := h.send(ask{method: "POST", path: path + c.verb, body: c.body, as: c.as}).refused(c.code)
		if p.Field != c.field {
			t.Errorf("%s %s blames %q, want %q", c.verb, c.body, p.Field, c.field)
		}
	}
	h.send(ask{method: "POST", path: path + "approve", header: []string{`If-Match: "` + strings.Repeat("ab", 32) + `"`}}).refused(problem.CodePrecondition)
	for _, unknown := range []string{"/api/gates/gate-x/approve", "/api/checkpoints/x/approve", "/api/gates/" + string(cp) + "/approve"} {
		h.post(unknown, "").refused(posthouse.CodeNotFound)
	}
	h.post("/api/checkpoints/"+string(h.saved("t2", "1").ID)+"/approve", "").refused(posthouse.CodeConflict)
	if n := h.program.count(); n != 0 {
		t.Fatalf("there were %d effects", n)
	}
	tag := h.get("/api/checkpoints/" + string(cp)).header.Get("ETag")
	if got := h.get("/api/gates/" + string(g.ID)).header.Get("ETag"); got != tag {
		t.Errorf("the gate's ETag is %s, its checkpoint's %s", got, tag)
	}
	h.send(ask{method: "POST", path: path + "approve", body: `{"shown":"` + strings.Trim(tag, `"`) + `","by":"approver-token"}`, as: tokens.Approver, header: []string{"If-Match: " + tag}}).want(http.StatusOK)
}

func TestSeveralGates(t *testing.T) {
	h := open(t, nil)
	c, err := h.program.ask(t.Context(), "t1", "x", "somebody", "legal", "finance")
	must.Do(t, err)
	cp := string(c.Checkpoint.ID)
	p := h.post("/api/checkpoints/"+cp+"/approve", "").refused(posthouse.CodeAmbiguous)
	if len(p.Gates) != 2 || p.Gates[0] != c.Gates[0].ID || p.Gates[1] != c.Gates[1].ID {
		t.Errorf("it lists %v", p.Gates)
	}
	h.program.idle = true // it waits for both
	var acc Accepted
	h.post("/api/gates/"+string(c.Gates[0].ID)+"/approve", "").want(http.StatusAccepted).into(&acc)
	if len(acc.Gates) != 1 || acc.Gates[0] != c.Gates[1].ID || acc.Decision == nil {
		t.Errorf("after the first it says %+v", acc)
	}
	h.program.idle = false
	h.post("/api/checkpoints/"+cp+"/reject", "").want(http.StatusOK) // one is left
	if p := h.post("/api/checkpoints/"+cp+"/approve", "").refused(posthouse.CodeDecided); p.Decision.Verdict != posthouse.Approve {
		t.Errorf("it tells %+v", p.Decision)
	}
	if g, err := h.ledger.Gate(t.Context(), c.Gates[1].ID); err != nil || g.Decision.Verdict != posthouse.Reject {
		t.Errorf("the second gate is %+v, %v", g, err)
	}
}

func TestDecisionIsAcceptedWhenItTakesLong(t *testing.T) {
	h := open(t, nil)
	h.program.hold = make(chan struct{})
	h.server.timeout.Wait = time.Nanosecond
	cp, g := h.waiting("t1")
	a := h.post("/api/gates/"+string(g.ID)+"/approve", "").want(http.StatusAccepted)
	var acc Accepted
	a.into(&acc)
	if acc.Thread != "t1" || acc.Branch != "main" || acc.Checkpoint != cp || acc.Decision == nil || acc.Decision.Verdict != posthouse.Approve ||
		acc.Location != "/api/threads/t1" || a.header.Get("Location") != acc.Location {
		t.Errorf("it says %s", a.body)
	}
	h.get(acc.Location).want(http.StatusOK)

	h = open(t, func(o *Options) { o.Runner = nil })
	_, g = h.waiting("t1")
	h.post("/api/gates/"+string(g.ID)+"/approve", "").want(http.StatusAccepted)
}

// TestClientsBoundHowLongAnAnswerWaits has a program that never goes on, and a server that would wait for it.
func TestClientsBoundHowLongAnAnswerWaits(t *testing.T) {
	h := open(t, nil)
	h.program.hold = make(chan struct{})
	for i, header := range []string{"wait=0", "respond-async, wait=1", "handling=lenient ,WAIT = 0"} {
		_, g := h.waiting(fmt.Sprint("t", i))
		a := h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/approve", header: []string{"Prefer: " + header}}).want(http.StatusAccepted)
		var acc Accepted
		a.into(&acc)
		if acc.Decision == nil || !strings.HasPrefix(a.header.Get("Preference-Applied"), "wait=") {
			t.Errorf("with Prefer: %s it says %s, and that it applied %q", header, a.body, a.header.Get("Preference-Applied"))
		}
	}
	for _, odd := range []string{"", "wait", "wait=", "wait=-1", "wait=1.5", "wait=70000", "waiting=1"} {
		if d, ok := preferredWait(http.Header{"Prefer": {odd}}); ok {
			t.Errorf("%q bounds it to %v", odd, d)
		}
	}
}

// TestDecisionSurvivesItsClient cuts the connection while the answer waits.
func TestDecisionSurvivesItsClient(t *testing.T) {
	h := open(t, nil)
	h.program.hold = make(chan struct{})
	_, g := h.waiting("t1")
	decided := make(chan struct{})
	resourceOf[*gates](h).ledger = observed(t, h, func(e posthouse.Operation) {
		if e.Kind == posthouse.OpDecided {
			close(decided)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	r := h.request(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/approve"}).WithContext(ctx)
	failed := make(chan error)
	go func() {
		_, err := h.http.Client().Do(r)
		failed <- err
	}()
	<-decided
	cancel()
	if err := <-failed; err == nil {
		t.Error("the client had an answer")
	}
	if got, err := h.ledger.Gate(t.Context(), g.ID); err != nil || got.Decision == nil {
		t.Errorf("the decision is %+v, %v", got, err)
	}
}

// observed opens another Ledger over the test server's store.
func observed(t *testing.T, h *testServer, o posthouse.Observer) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(h.store, &ledger.Options{Observer: o})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, l.Close()) })
	return l
}

func TestFailureAfterTheDecisionTellsOfIt(t *testing.T) {
	h := open(t, nil)
	h.program.settle = &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "the store is read-only"}
	_, g := h.waiting("t1")
	p := h.post("/api/gates/"+string(g.ID)+"/approve", "").refused(posthouse.CodeReadOnly)
	if p.Decision == nil || p.Decision.Gate != g.ID || !strings.Contains(p.Hint, "do not decide again") {
		t.Errorf("it says %+v", p)
	}
}

func TestRecover(t *testing.T) {
	h := open(t, func(o *Options) {
		o.Recover = func(c *posthouse.Checkpoint) (string, bool) {
			s, err := posthouse.Decode[map[string]string](c.State[posthouse.OpaquePart])
			return s["request"], err == nil && s["request"] != ""
		}
	})
	c, err := h.program.ask(t.Context(), "t1", "", "somebody")
	must.Do(t, err)
	path := "/api/checkpoints/" + string(c.Checkpoint.ID)
	p := h.post(path+"/approve", "").refused(posthouse.CodeInvalid)
	if p.Field != "request" {
		t.Errorf("it says %+v", p)
	}
	if g, err := h.ledger.Gate(t.Context(), c.Gates[0].ID); err != nil || g.Decision != nil {
		t.Errorf("it was decided: %+v, %v", g, err)
	}
	if got := h.post(path+"/approve?request=refund+order+7", "").want(http.StatusOK).checkpoint(); !strings.Contains(string(got.State), "refund order 7") {
		t.Errorf("with a request it is %s", got.State)
	}
	h.post(path+"/approve", "").refused(posthouse.CodeDecided) // what is decided needs no request
	cp, _ := h.waiting("t2")
	h.post("/api/checkpoints/"+string(cp)+"/approve", "").want(http.StatusOK)
}

func TestGateRules(t *testing.T) {
	h := open(t, nil)
	_, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t1", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "dispatch", Next: []string{"x"}, State: posthouse.State{"state": {Codec: "json", Data: []byte("{}")}},
	}, Gates: []posthouse.Gate{
		{Name: "own", RequestedBy: "approver-token"},
		{Name: "assigned", Assignees: []string{"alice"}},
		{Name: "verdicts", Verdicts: []posthouse.Verdict{posthouse.Reject}},
		{Name: "expired", ExpiresAt: time.Unix(1, 0)},
		{Name: "schema", Schema: json.RawMessage(`{"type":"object"}`)},
	}})
	must.Do(t, err)
	var gates []*posthouse.Gate
	h.get("/api/gates?order=asc").want(http.StatusOK).into(&gates)
	path := func(i int, verb string) string { return "/api/gates/" + string(gates[i].ID) + "/" + verb }
	do := func(i int, verb, body string) *reply {
		t.Helper()
		return h.send(ask{method: "POST", path: path(i, verb), body: body, as: tokens.Approver})
	}
	do(0, "approve", "").refused(posthouse.CodeForbidden)
	do(1, "approve", "").refused(posthouse.CodeForbidden)
	do(2, "approve", "").refused(posthouse.CodeInvalid)
	if p := do(3, "approve", "").refused(posthouse.CodeExpired); p.Decision == nil || p.Decision.Verdict != posthouse.Expire {
		t.Errorf("what expired: %+v", p)
	}
	do(3, "reject", "").refused(posthouse.CodeExpired)
	do(4, "edit", `{"value":1}`).refused(posthouse.CodeInvalid)
	h.post(path(1, "approve")+"?by=alice", "").want(http.StatusOK)
}

func TestListGates(t *testing.T) {
	h := open(t, nil)
	h.waiting("t1")
	_, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t2", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, State: posthouse.State{},
	}, Gates: []posthouse.Gate{{Name: "a"}, {Name: "b", Assignees: []string{"carol"}}}})
	must.Do(t, err)
	for query, want := range map[string]string{
		"": "b a refund ", "order=asc": "refund a b ", "limit=1": "b ", "thread=t2": "b a ", "assignee=bob": "a refund ", "assignee=carol": "b a refund ",
		"coordination=dispatch": "refund ", "coordination=t2": "b a ", "checkpoint=x": "", "thread=nope": "",
	} {
		var got []*posthouse.Gate
		h.get("/api/gates?" + query).want(http.StatusOK).into(&got)
		names := ""
		for _, g := range got {
			names += g.Name + " "
		}
		if names != want {
			t.Errorf("%q lists %q, want %q", query, names, want)
		}
	}
	for _, bad := range []string{"limit=1001", "assignee=", "decider=&state=decided", "order=x", "thread=a%0ab", "newest=1"} {
		h.get("/api/gates?" + bad).refused(posthouse.CodeInvalid)
	}
}

// TestDecideBesideRuntimeGates: no person decides a sleep or a signal that a
// checkpoint waits for, so beside them one approval is still the only choice.
func TestDecideBesideRuntimeGates(t *testing.T) {
	h := open(t, nil)
	h.program.idle = true // it waits for the others
	state, err := posthouse.Opaque(nil, map[string]string{"request": "x"})
	must.Do(t, err)
	c, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t1", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "dispatch", Next: []string{"approver"}, State: state,
	}, Gates: []posthouse.Gate{
		{Name: "sleep", Kind: posthouse.GateTimer, ExpiresAt: h.ledger.Now().Add(time.Hour)},
		{Name: "refund", Text: "Refund?"},
		{Name: "go", Kind: posthouse.GateSignal, Signal: "go"},
	}})
	must.Do(t, err)
	path := "/api/checkpoints/" + string(c.Checkpoint.ID)
	if p := h.post(path+"/resume", "").refused(posthouse.CodeConflict); len(p.Gates) != 1 || p.Gates[0] != c.Gates[1].ID {
		t.Errorf("resume names the gates %v", p.Gates)
	}
	var acc Accepted
	h.post(path+"/approve", "").want(http.StatusAccepted).into(&acc)
	if acc.Decision == nil || acc.Decision.Gate != c.Gates[1].ID || len(acc.Gates) != 0 {
		t.Errorf("it says %+v", acc)
	}
	if p := h.post(path+"/reject", "").refused(posthouse.CodeDecided); p.Decision == nil || p.Decision.Gate != c.Gates[1].ID {
		t.Errorf("the second decision is told %+v", p.Decision)
	}
}

// TestCancelSleepByCheckpoint: without a question, the one wait can be
// cancelled, and nothing else.
func TestCancelSleepByCheckpoint(t *testing.T) {
	h := open(t, nil)
	h.waitFor("t1", "go")
	var page []*Checkpoint
	h.get("/api/checkpoints?thread=t1").want(http.StatusOK).into(&page)
	path := "/api/checkpoints/" + string(page[0].ID)
	h.post(path+"/approve", "").refused(posthouse.CodeForbidden)
	if p := h.post(path+"/resume", "").refused(posthouse.CodeConflict); len(p.Gates) != 0 || strings.Contains(p.Detail, "decision") {
		t.Errorf("resume says %q and names the gates %v", p.Detail, p.Gates)
	}
	h.post(path+"/cancel", "").want(http.StatusAccepted)
}
