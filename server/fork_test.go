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
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

func TestFork(t *testing.T) {
	h := open(t, nil)
	cp, _ := h.waiting("t1")
	path := "/api/checkpoints/" + string(cp) + "/fork"
	before := string(h.get("/api/checkpoints/" + string(cp)).body)

	f := h.post(path, "").want(http.StatusOK).checkpoint()
	if f.Parent != cp || f.Branch != "fork-1" || f.Source == nil || f.Source.ID != cp || f.Coordination != "dispatch" || f.Agent != "analyzer" ||
		f.By != "operator-token" || f.Status != posthouse.StatusWaiting || len(f.Gates) != 1 || !strings.Contains(string(f.State), "1234") {
		t.Errorf("a plain fork is %+v", f)
	}
	if f := h.post(path+"?state=Executed", "").want(http.StatusOK).checkpoint(); string(f.State) != `"Executed"` {
		t.Errorf("with a state in the query it is %s", f.State)
	}
	if f := h.post(path+"?state="+url.QueryEscape(`{"a":1}`), "").want(http.StatusOK).checkpoint(); string(f.State) != `"{\"a\":1}"` {
		t.Errorf("a state in the query is text, and here %s", f.State)
	}
	if f := h.post(path+"?state=", "").want(http.StatusOK).checkpoint(); string(f.State) != `""` {
		t.Errorf("an empty state in the query is %s", f.State)
	}
	if f := h.post(path, `{"state":{"request":"other"}}`).want(http.StatusOK).checkpoint(); string(f.State) != `{"request":"other"}` {
		t.Errorf("with a state it is %s", f.State)
	}
	if f := h.post(path, `{"state":null}`).want(http.StatusOK).checkpoint(); string(f.State) != `null` {
		t.Errorf("with the state null it is %s", f.State)
	}
	if f := h.post(path, `{"patch":{"request":"patched"},"branch":"side"}`).want(http.StatusOK).checkpoint(); f.Branch != "side" ||
		!strings.Contains(string(f.State), `"patched"`) || !strings.Contains(string(f.State), `"recommendation":"refund"`) {
		t.Errorf("patched it is %s on %s", f.State, f.Branch)
	}
	if f := h.post(path, `{"thread":"t9"}`).want(http.StatusOK).checkpoint(); f.Thread != "t9" || f.Branch != "main" || f.Parent != "" || f.Source.Thread != "t1" {
		t.Errorf("into a thread it is %+v", f)
	}
	h.post(path, `{"branch":"side"}`).refused(posthouse.CodeExists)
	for body, want := range map[string]string{`{"branch":"a/b"}`: "a/b", `{"thread":"a b"}`: "main"} {
		if f := h.post(path, body).want(http.StatusOK).checkpoint(); f.Branch != want {
			t.Errorf("%s forks to %s of %s", body, f.Branch, f.Thread)
		}
	}
	h.post(path, `{"branch":"a\nb"}`).refused(posthouse.CodeInvalid)
	h.post(path, `{"thread":"a\nb"}`).refused(posthouse.CodeInvalid)
	h.post(path, `{"state":1,"patch":{}}`).refused(posthouse.CodeInvalid)
	h.post(path+"?state=x", `{"state":1}`).refused(posthouse.CodeInvalid)
	h.post(path, `{"codecs":{"state":"raw"}}`).refused(posthouse.CodeInvalid)
	h.post(path, `{"patch":{"a":"eA=="},"codecs":{"a":"raw"}}`).refused(posthouse.CodeInvalid)
	h.post(path, `{"state":"%%%","codecs":{"state":"raw"}}`).refused(posthouse.CodeInvalid)
	h.post(path, `{"state":1,"codecs":{"state":"raw"}}`).refused(posthouse.CodeInvalid)
	h.post("/api/checkpoints/unknown/fork", `{"state":1}`).refused(posthouse.CodeNotFound)
	if after := string(h.get("/api/checkpoints/" + string(cp)).body); after != before {
		t.Errorf("the source changed:\n%s\n%s", before, after)
	}
}

func TestForkParts(t *testing.T) {
	h := open(t, nil)
	c, err := h.ledger.Save(t.Context(), posthouse.Root("t", posthouse.State{
		"a": {Codec: "json", Data: []byte(`{"x":1}`)}, "b": {Codec: "raw", Data: []byte("y")},
	}), nil)
	must.Do(t, err)
	path := "/api/checkpoints/" + string(c.ID) + "/fork"
	for body, want := range map[string]string{
		`{"patch":{"a":2}}`:                                         `{"a":2,"b":"eQ=="}`,
		`{"patch":{"a":{"n":null}}}`:                                `{"a":{"n":null},"b":"eQ=="}`,
		`{"patch":{"b":"eg=="},"codecs":{"b":"raw"}}`:               `{"a":{"x":1},"b":"eg=="}`,
		`{"state":{"c":3}}`:                                         `{"c":3}`,
		`{"state":{"b":"eA==","c":1},"codecs":{"b":"raw"}}`:         `{"b":"eA==","c":1}`,
		`{"patch":{"b":"text now"}}`:                                `{"a":{"x":1},"b":"text now"}`,
		`{"state":{"b":"eA=="},"codecs":{"b":"application.x-own"}}`: `{"b":"eA=="}`,
	} {
		if f := h.post(path, body).want(http.StatusOK).checkpoint(); string(f.State) != want {
			t.Errorf("%s makes %s, want %s", body, f.State, want)
		}
	}
	for _, bad := range []string{
		`{"state":3}`, `{"state":[]}`, `{"state":{"a":1},"codecs":{"z":"raw"}}`, `{"patch":{"a":"%"},"codecs":{"a":"raw"}}`,
		`{"state":{"a":"eA=="},"codecs":{"a":"Bad Codec"}}`, `{"patch":[]}`,
	} {
		h.post(path, bad).refused(posthouse.CodeInvalid)
	}
	own := posthouse.Root("own", c.State)
	own.Graph = "desk" // of a coordinator: the server does not know its parts
	own, err = h.ledger.Save(t.Context(), own, nil)
	must.Do(t, err)
	for _, id := range []posthouse.ID{c.ID, own.ID} {
		p := h.post("/api/checkpoints/"+string(id)+"/fork", `{"patch":{"aa":2}}`).refused(posthouse.CodeInvalid)
		if !strings.Contains(p.Detail, "aa is no part of the state; there is a, b") {
			t.Errorf("a part that is not there: %s", p.Detail)
		}
	}
	text := h.saved("text", `{"request":"refund"}`)
	p := h.post("/api/checkpoints/"+string(text.ID)+"/fork", `{"patch":{"reqest":"x"}}`).refused(posthouse.CodeInvalid)
	if !strings.Contains(p.Detail, "reqest is no member of the state; there is request") {
		t.Errorf("a member that is not there: %s", p.Detail)
	}
}

func TestStateOverTheLimit(t *testing.T) {
	h := open(t, nil)
	c := h.saved("t", "1")
	path := "/api/checkpoints/" + string(c.ID) + "/fork"
	nine := strings.Repeat("a", 9<<20)
	p := h.post(path, `{"state":"`+nine+`"}`).refused(posthouse.CodeTooLarge) // the Ledger's limit
	if !strings.Contains(p.Detail, "8388608") {
		t.Errorf("it does not say the limit: %s", p.Detail)
	}
	h.post(path, `{"state":"`+nine+nine+`"}`).refused(posthouse.CodeTooLarge) // the body's
	h.post(path, `{"state":"`+nine[:7<<20]+`"}`).want(http.StatusOK)
	info := h.get("/api/threads/t").want(http.StatusOK)
	var ti posthouse.ThreadInfo
	info.into(&ti)
	if ti.Checkpoints != 2 {
		t.Errorf("%d checkpoints are there, want 2", ti.Checkpoints)
	}
}

func TestResume(t *testing.T) {
	h := open(t, nil)
	commit := func(thread string, status posthouse.Status, next ...string) posthouse.ID {
		t.Helper()
		c, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindFail, Status: status, Graph: "dispatch", Next: next, State: posthouse.State{"state": {Codec: "json", Data: []byte(`{}`)}},
		}})
		must.Do(t, err)
		return c.Checkpoint.ID
	}
	resume := func(id posthouse.ID) *reply { t.Helper(); return h.post("/api/checkpoints/"+string(id)+"/resume", "") }

	failed := commit("failed", posthouse.StatusFailed, "pay")
	planned := h.post("/api/checkpoints/"+string(failed)+"/resume?dryRun=true", "").want(http.StatusOK).checkpoint()
	if p := planned.Resumes; p == nil || p.Head != failed || len(p.Next) != 1 || len(h.program.resumed) != 0 {
		t.Errorf("the plan is %+v, and resumed were %v", p, h.program.resumed)
	}
	c := resume(failed).want(http.StatusOK).checkpoint()
	if c.Parent != failed || c.Agent != "resumed" || c.Branched == nil || c.Branched.Status != posthouse.StatusDone {
		t.Errorf("resumed it is %+v", c)
	}
	if p := resume(failed).refused(posthouse.CodeConflict); p.Head != c.ID {
		t.Errorf("what is no head any more: %+v", p)
	}
	resume(c.ID).refused(posthouse.CodeConflict) // done
	resume(h.saved("byhand", "1").ID).refused(posthouse.CodeConflict)
	cp, g := h.waiting("waits")
	if p := resume(cp).refused(posthouse.CodeConflict); len(p.Gates) != 1 || p.Gates[0] != g.ID {
		t.Errorf("what waits: %+v", p)
	}
	if len(h.program.resumed) != 1 {
		t.Errorf("resumed were %v", h.program.resumed)
	}

	h = open(t, func(o *Options) { o.Runner = nil })
	failed = commit("failed", posthouse.StatusFailed, "pay")
	resume(failed).refused(posthouse.CodeUnsupported)
	h.post("/api/checkpoints/"+string(failed)+"/resume?dryRun=true", "").refused(posthouse.CodeUnsupported)
}

func TestReplay(t *testing.T) {
	h := open(t, nil)
	run, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Graph: "dispatch", Next: []string{"pay"}, State: posthouse.State{"state": {Codec: "json", Data: []byte(`{}`)}},
	}})
	must.Do(t, err)
	path := "/api/checkpoints/" + string(run.Checkpoint.ID) + "/replay"
	c := h.post(path, "").want(http.StatusOK).checkpoint()
	if c.Branch != "fork-1" || c.Agent != "resumed" || len(h.program.resumed) != 1 || h.program.resumed[0] != "t/fork-1" {
		t.Errorf("replayed it is %+v, resumed were %v", c, h.program.resumed)
	}
	if c := h.post(path, `{"branch":"again"}`).want(http.StatusOK).checkpoint(); c.Branch != "again" {
		t.Errorf("on a named branch it is %s", c.Branch)
	}
	if c := h.post(path, `{"thread":"new"}`).want(http.StatusOK).checkpoint(); c.Thread != "new" {
		t.Errorf("in a new thread it is %s", c.Thread)
	}
	h.post(path, `{"branch":"again"}`).refused(posthouse.CodeExists)
	h.post("/api/checkpoints/"+string(c.ID)+"/replay", "").refused(posthouse.CodeConflict) // nothing comes after the end
	waits, g := h.waiting("w")
	if c := h.post("/api/checkpoints/"+string(waits)+"/replay", "").want(http.StatusOK).checkpoint(); c.Status != posthouse.StatusWaiting || len(c.Gates) != 1 || c.Gates[0] == g.ID {
		t.Errorf("what asked asks again: %+v", c)
	}
}

// TestGoOnByGate: a gate's id stands for the checkpoint that asks it.
func TestGoOnByGate(t *testing.T) {
	h := open(t, nil)
	cp, g := h.waiting("t")
	path := "/api/gates/" + string(g.ID)
	if p := h.post(path+"/resume", "").refused(posthouse.CodeConflict); len(p.Gates) != 1 || p.Gates[0] != g.ID {
		t.Errorf("while it waits: %+v", p)
	}
	c := h.post(path+"/replay", `{"branch":"again"}`).want(http.StatusOK).checkpoint()
	if c.Branch != "again" || c.Source == nil || c.Source.ID != cp || len(c.Gates) != 1 || c.Gates[0] == g.ID {
		t.Errorf("replayed it is %+v", c)
	}
	h.program.settle = errors.New("stopped in the middle")
	h.post(path+"/approve", "").want(http.StatusInternalServerError)
	if c := h.post(path+"/replay", `{"thread":"new"}`).want(http.StatusOK).checkpoint(); c.Thread != "new" {
		t.Errorf("once decided, in a new thread, it is %+v", c)
	}
	h.program.settle = nil
	c = h.post(path+"/resume", "").want(http.StatusOK).checkpoint()
	if c.Parent != cp || c.Agent != "resumed" {
		t.Errorf("resumed it is %+v", c)
	}
	if p := h.post(path+"/resume", "").refused(posthouse.CodeConflict); p.Head != c.ID {
		t.Errorf("what is no head any more: %+v", p)
	}
	h.post("/api/gates/"+string(cp)+"/resume", "").refused(posthouse.CodeNotFound)
	h.post("/api/gates/gate-nobody/replay", "").refused(posthouse.CodeNotFound)
	h.post("/api/checkpoints/"+string(g.ID)+"/replay", "").refused(posthouse.CodeNotFound)
}

// A fork of another state asks nothing until it is resumed: deciding it says so,
// and run resumes it at once.
func TestAForkRunsAtOnce(t *testing.T) {
	h := open(t, nil)
	cp, g := h.waiting("t1")
	path := "/api/checkpoints/" + string(cp) + "/fork"
	f := h.post(path, `{"patch":{"request":"other"}}`).want(http.StatusOK).checkpoint()
	if f.Status != posthouse.StatusInterrupted || len(f.Gates) != 0 {
		t.Fatalf("the fork is %s with %v", f.Status, f.Gates)
	}
	p := h.post("/api/checkpoints/"+string(f.ID)+"/approve", "").refused(posthouse.CodeConflict)
	if !strings.Contains(p.Hint, "resume first: posthouse resume "+string(f.ID)) {
		t.Errorf("approving it says %s (%s)", p.Detail, p.Hint)
	}
	for _, ask := range [][2]string{{path, `{"patch":{"request":"other"},"run":true}`}, {path + "?run=true", `{"patch":{"request":"other"}}`}} {
		if c := h.post(ask[0], ask[1]).want(http.StatusOK).checkpoint(); c.Agent != "resumed" || c.Status != posthouse.StatusDone {
			t.Errorf("%s %s led to %+v", ask[0], ask[1], c.Header)
		}
	}
	if c := h.post(path+"?run=true", "").want(http.StatusOK).checkpoint(); c.Status != posthouse.StatusWaiting || len(c.Gates) != 1 || c.Gates[0] == g.ID {
		t.Errorf("an unchanged fork is %+v", c.Header)
	}
}

// A question that is withdrawn is asked again, at most once at a time; one that was answered is not.
func TestAskAgain(t *testing.T) {
	h := open(t, nil)
	_, old := h.waiting("t1")
	path := "/api/gates/" + string(old.ID) + "/ask-again"
	h.post(path, "").refused(posthouse.CodeConflict) // it is open
	_, err := h.ledger.Commit(t.Context(), &ledger.Draft{
		Thread: "t1", Branch: "main", Checkpoint: &posthouse.Change{Kind: posthouse.KindUpdate, Status: posthouse.StatusDone, Graph: "dispatch"},
	})
	must.Do(t, err)
	var g posthouse.Gate
	must.Do(t, json.Unmarshal(h.post(path, "").want(http.StatusOK).body, &g))
	if g.ID == old.ID || g.Text != old.Text || g.Branch != "fork-1" || g.Decision != nil {
		t.Errorf("asked again: %+v", g)
	}
	h.post("/api/gates/"+string(g.ID)+"/cancel", "")
	h.post("/api/gates/"+string(g.ID)+"/ask-again", `{"reason":"`+strings.Repeat("x", 1001)+`"}`).refused(posthouse.CodeInvalid)
	var second posthouse.Gate // what a person withdrew is asked again, too
	must.Do(t, json.Unmarshal(h.post("/api/gates/"+string(g.ID)+"/ask-again", `{"reason":"it was a holiday"}`).want(http.StatusOK).body, &second))
	var trail struct {
		Items []struct{ Did, What, Reason string }
	}
	h.get("/api/audit?thread=t1&kind=change").want(http.StatusOK).into(&trail)
	if !slices.ContainsFunc(trail.Items, func(a struct{ Did, What, Reason string }) bool { return a.Reason == "it was a holiday" }) || second.Note != "asked again: it was a holiday" {
		t.Errorf("the note is %q, and the trail %+v", second.Note, trail.Items)
	}
	h.post("/api/gates/"+string(second.ID)+"/reject", "")
	h.post("/api/gates/"+string(second.ID)+"/ask-again", "").refused(posthouse.CodeDecided)
}

// TestRestartStep drops what an unfinished step recorded, but for its effects, and leaves
// what is finished alone.
func TestRestartStep(t *testing.T) {
	h := open(t, nil)
	id, _ := h.waiting("t1")
	_, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t1", Branch: "main", Steps: []posthouse.Step{
		{Task: "1/n", Name: "think", Effect: posthouse.EffectPure, Value: posthouse.Value{Data: []byte("1")}},
		{Task: "1/n", Name: "pay", Effect: posthouse.EffectExternal, Value: posthouse.Value{Data: []byte("2")}},
	}})
	must.Do(t, err)
	path := "/api/checkpoints/" + string(id) + "/anew"
	h.send(ask{method: "POST", path: path, as: tokens.Approver}).refused(posthouse.CodeForbidden)
	var a Anew
	h.post(path, "").want(http.StatusOK).into(&a)
	if a.Checkpoint.Kind != posthouse.KindRestartStep || len(a.Dropped) != 1 || a.Dropped[0].Name != "think" || len(a.Kept) != 1 || a.Kept[0].Name != "pay" {
		t.Errorf("%+v", a)
	}
	if p := h.post(path, "").refused(posthouse.CodeConflict); p.Head != a.Checkpoint.ID {
		t.Errorf("the branch has gone on to %q", p.Head)
	}
}

// A gate that asks in the place of another shows what that showed, and the old id
// leads to the new one.
func TestAskedInThePlaceOfAnother(t *testing.T) {
	h := open(t, nil)
	_, old := h.waiting("t1")
	c, err := h.ledger.Commit(t.Context(), &ledger.Draft{
		Thread: "t1", Branch: "main", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "dispatch"},
		Gates: []posthouse.Gate{{Name: old.Name, Text: "Pay 99?", Payload: []byte(`{"amount":99}`), Note: "the price has changed", Supersedes: old.ID}},
	})
	must.Do(t, err)
	var gates []Gate
	h.get("/api/gates?thread=t1").want(http.StatusOK).into(&gates)
	if len(gates) != 1 || gates[0].Note != "the price has changed" || gates[0].Before == nil || !gates[0].Before.Changed ||
		gates[0].Before.ID != old.ID || gates[0].Before.Text != old.Text {
		t.Fatalf("the inbox has %+v", gates)
	}
	if p := h.post("/api/gates/"+string(old.ID)+"/approve", "").refused(posthouse.CodeConflict); p.Gate != c.Gates[0].ID {
		t.Errorf("the old id leads to %q", p.Gate)
	}
}

// TestRefusedReplayLeavesNoBranch: what the program would not run is not forked.
func TestRefusedReplayLeavesNoBranch(t *testing.T) {
	h := open(t, nil)
	cp, gate := h.waiting("t1")
	h.program.refuse = func(c *posthouse.Checkpoint) error {
		if strings.Contains(string(c.State[posthouse.OpaquePart].Data), "patched") {
			return nil
		}
		return posthouse.Invalid("graph", "has changed")
	}
	h.post("/api/checkpoints/"+string(cp)+"/replay", "").refused(posthouse.CodeInvalid)
	h.post("/api/gates/"+string(gate.ID)+"/replay", `{"thread":"t2"}`).refused(posthouse.CodeInvalid)
	h.post("/api/checkpoints/"+string(cp)+"/fork", `{"run":true}`).refused(posthouse.CodeInvalid)
	info, err := h.ledger.Thread(t.Context(), "t1")
	if err != nil || len(info.Branches) != 1 {
		t.Errorf("branches %v, %v", info.Branches, err)
	}
	if _, err := h.ledger.Thread(t.Context(), "t2"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("a thread is left: %v", err)
	}
	h.post("/api/checkpoints/"+string(cp)+"/fork", `{"run":true,"state":{"request":"patched"}}`).want(http.StatusOK)
}

// TestTwoBranchesAskTheSame: a gate names the one of a fork that asks the same, also to who has a link
// and as a grant. Lists do not look for it.
func TestTwoBranchesAskTheSame(t *testing.T) {
	h := open(t, nil)
	cp, g := h.waiting("t1")
	token := h.approvalToken(g, `{"for":"alice"}`).Token
	f := h.post("/api/checkpoints/"+string(cp)+"/fork", "").want(http.StatusOK).checkpoint()
	var one Gate
	h.get("/api/gates/" + string(g.ID)).want(http.StatusOK).into(&one)
	if d := one.Duplicates; len(d) != 1 || d[0].Gate != f.Gates[0] || d[0].Branch != "fork-1" || d[0].Intent != one.Intent || d[0].State != "open" {
		t.Fatalf("main's gate names %+v", d)
	}
	var linked TokenGate
	h.send(ask{method: "GET", path: "/api/gates/" + string(g.ID) + "/by-token", as: "-", header: []string{"Authorization: Bearer " + token}}).want(http.StatusOK).into(&linked)
	var grant Grant
	h.get("/api/gates/" + string(g.ID) + "/grant").want(http.StatusOK).into(&grant)
	if len(linked.Duplicates) != 1 || len(grant.Duplicates) != 1 {
		t.Errorf("by the link %+v, as a grant %+v", linked.Duplicates, grant.Duplicates)
	}
	away := h.post("/api/checkpoints/"+string(cp)+"/fork", `{"thread":"t9"}`).want(http.StatusOK).checkpoint()
	h.get("/api/gates/" + string(away.Gates[0])).want(http.StatusOK).into(&one)
	if d := one.Duplicates; len(d) != 2 || d[0].Thread != "t1" || d[1].Thread != "t1" {
		t.Errorf("the gate of a fork in a thread of its own names %+v", d)
	}
	h.post("/api/gates/"+string(away.Gates[0])+"/reject", "").want(http.StatusOK)
	h.post("/api/gates/"+string(g.ID)+"/approve", "").want(http.StatusOK)
	h.get("/api/gates/" + string(f.Gates[0])).want(http.StatusOK).into(&one)
	if d := one.Duplicates; len(d) != 1 || d[0].Gate != g.ID || d[0].Verdict != posthouse.Approve || d[0].By != "operator-token" {
		t.Errorf("after a yes the fork's gate names %+v", d)
	}
}

// TestBranchesAreListedByTheirNumbers: lists of a thread's branches have fork-2 before fork-10, of the thread that is,
// among threads, and of a version.
func TestBranchesAreListedByTheirNumbers(t *testing.T) {
	h := open(t, nil)
	c := h.saved("t", "1")
	want := []string{"main"}
	for i := range 11 {
		must.Get(h.ledger.Fork(t.Context(), c.ID, nil))(t)
		want = append(want, fmt.Sprint("fork-", i+1))
	}
	check := func(what string, info *posthouse.ThreadInfo) {
		t.Helper()
		var have []string
		for _, b := range info.Branches {
			have = append(have, b.Branch)
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s has %v", what, have)
		}
	}
	var one posthouse.ThreadInfo
	h.get("/api/threads/t").want(http.StatusOK).into(&one)
	check("the thread", &one)
	var list struct{ Items []*posthouse.ThreadInfo }
	h.get("/api/threads").want(http.StatusOK).into(&list)
	check("the list", list.Items[0])
	h.post("/api/threads/t/releases", "{}").want(http.StatusOK)
	one = posthouse.ThreadInfo{}
	h.get("/api/threads/t?version=1").want(http.StatusOK).into(&one)
	check("the version", &one)
}

// TestForkOfWhatWasSavedByHandIsNamed: the gate of a checkpoint without a run names its fork in a thread of its own, at each
// door, and the fork's names it.
func TestForkOfWhatWasSavedByHandIsNamed(t *testing.T) {
	h := open(t, nil)
	asked := must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "by-hand", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindSave, Status: posthouse.StatusWaiting,
	}, Gates: []posthouse.Gate{{Name: "pay", Text: "Pay 10.00?"}}}))(t)
	g := &asked.Gates[0]
	token := h.approvalToken(g, `{"for":"alice"}`).Token
	away := h.post("/api/checkpoints/"+string(asked.Checkpoint.ID)+"/fork", `{"thread":"away"}`).want(http.StatusOK).checkpoint()
	var one, other Gate
	var grant Grant
	var linked TokenGate
	path := "/api/gates/" + string(g.ID)
	h.get(path).want(http.StatusOK).into(&one)
	h.get(path + "/grant").want(http.StatusOK).into(&grant)
	h.send(ask{method: "GET", path: path + "/by-token", as: "-", header: []string{"Authorization: Bearer " + token}}).want(http.StatusOK).into(&linked)
	h.get("/api/gates/" + string(away.Gates[0])).want(http.StatusOK).into(&other)
	for door, have := range map[string][]inbox.Duplicate{"gate": one.Duplicates, "grant": grant.Duplicates, "link": linked.Duplicates} {
		if len(have) != 1 || have[0].Gate != away.Gates[0] || have[0].Thread != "away" {
			t.Errorf("the %s names %+v", door, have)
		}
	}
	if d := other.Duplicates; len(d) != 1 || d[0].Thread != "by-hand" {
		t.Errorf("the fork names %+v", d)
	}
}
