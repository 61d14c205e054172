package coord_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// approval analyzes, asks, and has the approver act below a step.
func approval(w *world) coord.Handler {
	return func(ctx context.Context, message string, f *coord.Fleet, s *coord.Session) error {
		a, err := call(ctx, f, "analyzer", message)
		if err != nil {
			return err
		}
		if !a.Success {
			s.Stream("Analyzer failed: " + a.Text)
			return nil
		}
		s.Stream("Analysis complete.")
		d, err := ask(ctx, "approve?")
		if err != nil {
			return err
		}
		if d.Verdict != posthouse.Approve {
			s.Stream("Refused by " + d.By)
			return coord.Conclude(ctx, coord.Result{Text: "Refused by " + d.By})
		}
		_, err = call(ctx, f, "approver", message)
		s.Stream("Done.")
		return err
	}
}

func approvalFleet(tb testing.TB, w *world) *coord.Fleet {
	act := func(ctx context.Context, c coord.Call) (coord.Result, error) {
		err := do(ctx, "refund", func() error { w.calls = append(w.calls, "effect"); return nil })
		if err != nil {
			return coord.Result{}, err
		}
		return w.skill("approver")(ctx, c)
	}
	return must.Get(coord.NewFleet(
		coord.Agent{Name: "analyzer", Skills: map[string]coord.Skill{"do": w.skill("analyzer")}},
		coord.Agent{Name: "approver", Skills: map[string]coord.Skill{"do": act}},
	))(tb)
}

func TestTheWholeWalk(t *testing.T) {
	store, w := memstore.New(), &world{}
	l := open(t, store, nil)
	c := coordinator(t, l, approvalFleet(t, w), approval(w))
	r := must.Get(c.Handle(t.Context(), "order 1234", &coord.HandleOptions{By: "carol", Labels: map[string]string{"team": "a"}}))(t)
	if r.Status != posthouse.StatusWaiting || r.Gate == "" || r.Text != "Analysis complete." {
		t.Fatalf("reply %+v", r)
	}
	wantList(t, "log when parked", log(t, l, r.Thread), "claim, coord:request, agent:analyzer.do, cp analyzer waiting, gate")
	g := must.Get(l.Gate(t.Context(), r.Gate))(t)
	if g.Checkpoint != r.Checkpoint || g.RequestedBy != "carol" {
		t.Fatalf("gate %+v", g)
	}

	// Another process, an hour later.
	l2 := open(t, store, nil)
	c2 := coordinator(t, l2, approvalFleet(t, w), approval(w))
	decide(t, l2, r.Gate, posthouse.Approve, "alice")
	r2 := must.Get(c2.Resume(t.Context(), r.Thread, nil))(t)
	if r2.Status != posthouse.StatusDone || r2.Text != "Done." {
		t.Fatalf("reply %+v", r2)
	}
	wantList(t, "log when done", log(t, l2, r.Thread),
		"claim, coord:request, agent:analyzer.do, cp analyzer waiting, gate",
		"approve",
		"claim", "agent:approver.do>refund",
		"agent:approver.do, cp approver done")
	wantList(t, "checkpoints", checkpoints(t, l2, posthouse.Query{Coordination: "dispatch"}),
		"event analyzer waiting <root", "node approver done <0")
	wantList(t, "calls", w.calls, "analyzer", "effect", "approver")

	child := must.Get(l2.GetHeader(t.Context(), r2.Checkpoint))(t)
	if child.Parent != r.Checkpoint || child.Step != 1 || child.Graph != "dispatch" || child.Labels["team"] != "a" || child.By != "" {
		t.Fatalf("child %+v", child)
	}
	e := state[coord.Event](t, l2, child.ID)
	if e.Kind != coord.AgentCompleted || e.Agent != "approver" || e.By != "carol" || string(e.ID) != child.Labels["event"] {
		t.Fatalf("event %+v", e)
	}

	// Resuming what ended is no error and does nothing.
	r3 := must.Get(c2.Resume(t.Context(), r.Thread, nil))(t)
	if err := c2.Advance(t.Context(), r.Thread, ""); err != nil || r3.Checkpoint != r2.Checkpoint || len(log(t, l2, r.Thread)) != 5 {
		t.Fatal(err, r3)
	}
}

func TestRejectionEndsWithTheCoordinatorsOwnCheckpoint(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := coordinator(t, l, approvalFleet(t, w), approval(w))
	r := must.Get(c.Handle(t.Context(), "order 1234", nil))(t)
	decide(t, l, r.Gate, posthouse.Reject, "bob")
	r2 := must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Thread: r.Thread}),
		"event analyzer waiting <root", "node done <0")
	if s := state[coord.RequestState](t, l, r2.Checkpoint); s.Request != "order 1234" || s.Result != "Refused by bob" {
		t.Fatalf("state %+v", s)
	}
	wantList(t, "calls", w.calls, "analyzer")
}

func TestEachRequestHasItsOwnChain(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := coordinator(t, l, approvalFleet(t, w), approval(w))
	a := must.Get(c.Handle(t.Context(), "one", nil))(t)
	b := must.Get(c.Handle(t.Context(), "two", nil))(t)
	if a.Thread == b.Thread {
		t.Fatal("one thread for two requests")
	}
	wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Coordination: "dispatch"}),
		"event analyzer waiting <root", "event analyzer waiting <root")
}

func TestFailedAgentIsRunAgain(t *testing.T) {
	l, w := newLedger(t), &world{fail: map[string]error{"analyzer": errors.New("no such order")}}
	c := coordinator(t, l, approvalFleet(t, w), approval(w))
	r := must.Get(c.Handle(t.Context(), "order 1234", nil))(t)
	if r.Status != posthouse.StatusFailed || r.Text != "Analyzer failed: no such order" {
		t.Fatalf("reply %+v", r)
	}
	wantList(t, "log", log(t, l, r.Thread), "claim, coord:request, cp analyzer failed")
	h := must.Get(l.GetHeader(t.Context(), r.Checkpoint))(t)
	if h.Error != "no such order" || h.Kind != posthouse.KindFail || h.Step != 0 {
		t.Fatalf("header %+v", h)
	}
	if e := state[coord.Event](t, l, r.Checkpoint); e.Kind != coord.AgentFailed || e.Error != "no such order" || string(e.Args) != `{"request":"order 1234"}` {
		t.Fatalf("event %+v", e)
	}
	w.fail = nil
	r = must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	if r.Status != posthouse.StatusWaiting {
		t.Fatalf("reply %+v", r)
	}
	decide(t, l, r.Gate, posthouse.Approve, "alice")
	r = must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	wantList(t, "calls", w.calls, "analyzer", "analyzer", "effect", "approver")
	wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Thread: r.Thread}),
		"fail analyzer failed <root", "event analyzer waiting <0", "node approver done <1")
}

// A failure that the handler dealt with is history: replayed, not run again.
func TestSurvivedFailureIsReplayed(t *testing.T) {
	l, w := newLedger(t), &world{fail: map[string]error{"first": errors.New("down")}}
	c := coordinator(t, l, w.fleet(t, "first", "second", "third"), func(ctx context.Context, m string, f *coord.Fleet, _ *coord.Session) error {
		r, err := call(ctx, f, "first", m)
		if err == nil && !r.Success {
			_, err = call(ctx, f, "second", m)
		}
		if err != nil {
			return err
		}
		if _, err := ask(ctx, "go on?"); err != nil {
			return err
		}
		_, err = call(ctx, f, "third", m)
		return err
	})
	r := must.Get(c.Handle(t.Context(), "x", nil))(t)
	w.fail = nil // it would succeed now
	decide(t, l, r.Gate, posthouse.Approve, "alice")
	r = must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	wantList(t, "calls", w.calls, "first", "second", "third")
	wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Thread: r.Thread}),
		"fail first running <root", "event second waiting <0", "node third done <1")
}

// A handler that concludes has dealt with the failure itself.
func TestConcludedFailureIsDone(t *testing.T) {
	l, w := newLedger(t), &world{fail: map[string]error{"a": errors.New("down")}}
	c := coordinator(t, l, w.fleet(t, "a"), func(ctx context.Context, m string, f *coord.Fleet, _ *coord.Session) error {
		if _, err := call(ctx, f, "a", m); err != nil {
			return err
		}
		return coord.Conclude(ctx, coord.Result{Text: "did without", Data: []byte(`{"a":1}`)})
	})
	r := must.Get(c.Handle(t.Context(), "x", nil))(t)
	wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Thread: r.Thread}), "fail a running <root", "node done <0")
	if s := state[coord.RequestState](t, l, r.Checkpoint); s.Result != "did without" || string(s.Data) != `{"a":1}` {
		t.Fatalf("state %+v", s)
	}
}

func TestHandlerErrorIsAFailedCheckpoint(t *testing.T) {
	l, w, boom := newLedger(t), &world{}, errors.New("boom")
	broken := true
	c := coordinator(t, l, w.fleet(t, "a"), func(ctx context.Context, m string, f *coord.Fleet, _ *coord.Session) error {
		if _, err := call(ctx, f, "a", m); err != nil {
			return err
		}
		if broken {
			return boom
		}
		return nil
	})
	r, err := c.Handle(t.Context(), "x", nil)
	if !errors.Is(err, boom) || r == nil || r.Status != posthouse.StatusFailed {
		t.Fatalf("reply %+v, error %v", r, err)
	}
	wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Thread: r.Thread}), "event a running <root", "fail failed <0")
	broken = false
	r = must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	wantList(t, "calls", w.calls, "a")
	if r.Status != posthouse.StatusDone {
		t.Fatalf("reply %+v", r)
	}
}

func TestPanicsAreFailures(t *testing.T) {
	l := newLedger(t)
	f := must.Get(coord.NewFleet(coord.Agent{Name: "a", Skills: map[string]coord.Skill{
		"do": func(context.Context, coord.Call) (coord.Result, error) { panic("ouch") },
	}}))(t)
	c := coordinator(t, l, f, func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		r, err := call(ctx, f, "a", m)
		s.Stream(r.Text)
		if m == "me too" {
			panic("handler")
		}
		return err
	})
	if r := must.Get(c.Handle(t.Context(), "x", nil))(t); r.Status != posthouse.StatusFailed || !strings.Contains(r.Text, "ouch") {
		t.Fatalf("reply %+v", r)
	}
	if r, err := c.Handle(t.Context(), "me too", nil); err == nil || r.Status != posthouse.StatusFailed {
		t.Fatalf("reply %+v, error %v", r, err)
	}
}

// The third pause of a chain sees what the first agent answered, on a new process.
func TestChainOfPausesAcrossRestarts(t *testing.T) {
	store, w := memstore.New(), &world{}
	var heard []string
	handler := func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		for i, agent := range []string{"analyzer", "approver", "payer"} {
			if i > 0 {
				d, err := ask(ctx, agent+"?")
				if err != nil {
					return err
				}
				m += " by " + d.By
			}
			r, err := call(ctx, f, agent, m)
			if err != nil {
				return err
			}
			s.Stream(r.Text)
		}
		return nil
	}
	start := func() (*ledger.Ledger, *coord.Coordinator) {
		l := open(t, store, nil)
		return l, coordinator(t, l, w.fleet(t, "analyzer", "approver", "payer"), handler)
	}
	_, c := start()
	r := must.Get(c.Handle(t.Context(), "order 7", nil))(t)
	heard = append(heard, r.Text)
	for _, by := range []string{"alice", "bob"} {
		l, c := start()
		decide(t, l, r.Gate, posthouse.Approve, by)
		r = must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
		heard = append(heard, r.Text)
	}
	l, _ := start()
	wantList(t, "calls", w.calls, "analyzer", "approver", "payer")
	wantList(t, "texts", heard, "analyzer did order 7", "approver did order 7 by alice", "payer did order 7 by alice by bob")
	wantList(t, "log", log(t, l, r.Thread),
		"claim, coord:request, agent:analyzer.do, cp analyzer waiting, gate", "approve",
		"claim", "agent:approver.do, cp approver waiting, gate", "approve",
		"claim", "agent:payer.do, cp payer done")
	wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Thread: r.Thread}),
		"event analyzer waiting <root", "event approver waiting <0", "node payer done <1")
}

func TestSecondRequestOnAThread(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := coordinator(t, l, approvalFleet(t, w), approval(w))
	r := must.Get(c.Handle(t.Context(), "one", &coord.HandleOptions{Thread: "talk"}))(t)
	_, err := c.Handle(t.Context(), "two", &coord.HandleOptions{Thread: "talk"})
	must.Fail(t, err, posthouse.ErrConflict)
	decide(t, l, r.Gate, posthouse.Approve, "alice")
	must.Get(c.Resume(t.Context(), "talk", nil))(t)
	r = must.Get(c.Handle(t.Context(), "two", &coord.HandleOptions{Thread: "talk"}))(t)
	decide(t, l, r.Gate, posthouse.Approve, "alice")
	r = must.Get(c.Resume(t.Context(), "talk", nil))(t)
	wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Thread: "talk"}),
		"event analyzer waiting <root", "node approver done <0", "event analyzer waiting <1", "node approver done <2")
	if e := state[coord.Event](t, l, r.Checkpoint); e.Text != "approver did two" {
		t.Fatalf("event %+v", e)
	}
	if h := must.Get(l.GetHeader(t.Context(), r.Checkpoint))(t); h.Step != 2 {
		t.Fatalf("step %d, want 2", h.Step)
	}
}

// Requests that are answered without a pause are one entry each, and do not
// mistake each other's results for their own.
func TestShortRequestsOnAThread(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := coordinator(t, l, w.fleet(t, "a"), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		r, err := call(ctx, f, "a", m)
		s.Stream(r.Text)
		if err == nil && m == "three" {
			_, err = ask(ctx, "sure?")
		}
		return err
	})
	for _, m := range []string{"one", "two", "three"} {
		if r := must.Get(c.Handle(t.Context(), m, &coord.HandleOptions{Thread: "t"}))(t); r.Text != "a did "+m {
			t.Fatalf("reply %+v", r)
		}
	}
	must.Get(c.Resume(t.Context(), "t", nil))(t)
	wantList(t, "calls", w.calls, "a", "a", "a")
	wantList(t, "log", log(t, l, "t"),
		"claim, coord:request, agent:a.do, cp a done",
		"claim", "coord:request, agent:a.do, cp a done",
		"claim", "coord:request, agent:a.do, cp a waiting, gate")
}

func TestRefusals(t *testing.T) {
	l, w := newLedger(t), &world{}
	fleet := w.fleet(t, "a")
	answer := func(context.Context, string, *coord.Fleet, *coord.Session) error { return nil }
	c := coordinator(t, l, fleet, answer)
	ctx := t.Context()
	for name, err := range map[string]error{
		"no ledger":  second(coord.New(nil, "x", fleet, answer, nil)),
		"no fleet":   second(coord.New(l, "x", nil, answer, nil)),
		"no handler": second(coord.New(l, "x", fleet, nil, nil)),
		"no name":    second(coord.New(l, "", fleet, answer, nil)),
		"bad name":   second(coord.New(l, "a\nb", fleet, answer, nil)),
		"long name":  second(coord.New(l, strings.Repeat("a", 201), fleet, answer, nil)),
		"bad utf8":   second(c.Handle(ctx, "\xff", nil)),
		"own label":  second(c.Handle(ctx, "x", &coord.HandleOptions{Labels: map[string]string{"event": "1"}})),
		"bad thread": second(c.Handle(ctx, "x", &coord.HandleOptions{Thread: "a\nb"})),
		"bad agent":  second(coord.NewFleet(coord.Agent{Name: "a\nb"})),
		"no skills":  second(coord.NewFleet(coord.Agent{Name: "a"})),
		"nil skill":  second(coord.NewFleet(coord.Agent{Name: "a", Skills: map[string]coord.Skill{"s": nil}})),
		"bad skill":  second(coord.NewFleet(coord.Agent{Name: "a", Skills: map[string]coord.Skill{"": w.skill("a")}})),
		"twice": second(coord.NewFleet(coord.Agent{Name: "a", Skills: map[string]coord.Skill{"s": w.skill("a")}},
			coord.Agent{Name: "a", Skills: map[string]coord.Skill{"s": w.skill("a")}})),
		"no run":          second(fleet.Agent("a").Call(ctx, "do", nil)),
		"emit: no run":    second(coord.Emit(ctx, coord.Event{Kind: coord.AgentEvaluated})),
		"no run: resumed": second(fleet.Resumed(ctx)),
		"conclude":        coord.Conclude(ctx, coord.Result{}),
	} {
		if !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	many := map[string]string{}
	for _, k := range strings.Split("abcdefghijklmnop", "") {
		many[k] = ""
	}
	must.Fail(t, second(c.Handle(ctx, "x", &coord.HandleOptions{Labels: many})), posthouse.ErrInvalid)
	must.Fail(t, second(c.Handle(ctx, strings.Repeat("x", coord.MaxMessage+1), nil)), posthouse.ErrTooLarge)
	must.Fail(t, second(c.Resume(ctx, "nowhere", nil)), posthouse.ErrNotFound)
	must.Get(l.Save(ctx, &posthouse.Checkpoint{Header: posthouse.Header{Thread: "other", Graph: "graph"}}, nil))(t)
	must.Fail(t, second(c.Resume(ctx, "other", nil)), posthouse.ErrConflict)
	must.Fail(t, second(c.Handle(ctx, "x", &coord.HandleOptions{Thread: "other"})), posthouse.ErrConflict)
	if c.Name() != "dispatch" || c.Description() != "" || len(c.Fleet().Agents()) != 1 {
		t.Error("accessors")
	}
}

func second[T any](_ T, err error) error { return err }

func TestUnknownAgentAndSkill(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := coordinator(t, l, w.fleet(t, "a", "b"), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		_, err := f.Agent(m).Call(ctx, "fly", nil)
		return err
	})
	_, err := c.Handle(t.Context(), "zed", nil)
	must.Fail(t, err, posthouse.ErrNotFound)
	if !strings.Contains(err.Error(), "a, b") {
		t.Error(err)
	}
	_, err = c.Handle(t.Context(), "a", nil)
	if must.Fail(t, err, posthouse.ErrNotFound); !strings.Contains(err.Error(), "there is do") {
		t.Error(err)
	}
}

func TestWaitingWithoutAQuestionIsAMistake(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := coordinator(t, l, w.fleet(t, "a"), func(context.Context, string, *coord.Fleet, *coord.Session) error { return posthouse.ErrWaiting })
	r, err := c.Handle(t.Context(), "x", nil)
	if must.Fail(t, err, posthouse.ErrInvalid); r.Status != posthouse.StatusFailed {
		t.Fatalf("reply %+v", r)
	}
}

func TestAnAgentMayAskItself(t *testing.T) {
	l, w := newLedger(t), &world{}
	swallow := false
	f := must.Get(coord.NewFleet(coord.Agent{Name: "a", Skills: map[string]coord.Skill{
		"do": func(ctx context.Context, c coord.Call) (coord.Result, error) {
			d, err := ask(ctx, "may I?")
			if err != nil && !swallow {
				return coord.Result{}, err
			}
			w.calls = append(w.calls, "a")
			return coord.Result{Text: "allowed: " + mustJSON(t, d != nil)}, nil
		},
	}}))(t)
	c := coordinator(t, l, f, func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		r, err := call(ctx, f, "a", m)
		s.Stream(r.Text)
		return err
	})
	for _, swallow = range []bool{false, true} {
		r := must.Get(c.Handle(t.Context(), "x", nil))(t)
		if r.Status != posthouse.StatusWaiting {
			t.Fatalf("swallow %v: reply %+v", swallow, r)
		}
		wantList(t, "log", log(t, l, r.Thread), "claim, coord:request, cp waiting, gate")
		decide(t, l, r.Gate, posthouse.Approve, "alice")
		r = must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
		if r.Text != "allowed: true" {
			t.Fatalf("swallow %v: reply %+v", swallow, r)
		}
	}
}
