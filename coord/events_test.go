package coord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// chatty emits events of its own, in the handler and in an agent.
func chatty(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
	route, err := coord.Emit(ctx, coord.Event{Kind: coord.RouteEvaluated, To: "a", Text: "only one"})
	if err != nil {
		return err
	}
	if _, err := coord.Emit(ctx, coord.Event{Kind: coord.AgentHandoff, Agent: "front", To: "a", Cause: route}); err != nil {
		return err
	}
	r, err := call(ctx, f, "a", m)
	if err != nil {
		return err
	}
	if _, err := ask(ctx, "well?"); err != nil {
		return err
	}
	_, err = coord.Emit(ctx, coord.Event{Kind: coord.AgentEvaluated, Agent: "a", Data: json.RawMessage(`{"score":1}`)})
	s.Stream(r.Text)
	return err
}

func chattyFleet(tb testing.TB, w *world) *coord.Fleet {
	return must.Get(coord.NewFleet(coord.Agent{Name: "a", Skills: map[string]coord.Skill{
		"do": func(ctx context.Context, c coord.Call) (coord.Result, error) {
			if _, err := coord.Emit(ctx, coord.Event{Kind: coord.AgentActivityChanged, Text: "thinking"}); err != nil {
				return coord.Result{}, err
			}
			return w.skill("a")(ctx, c)
		},
	}}))(tb)
}

func TestEventsInOrderWithTheirCauses(t *testing.T) {
	store, w, j := memstore.New(), &world{}, &coord.MemoryJournal{}
	start := func() (*ledger.Ledger, *coord.Coordinator) {
		l := open(t, store, &ledger.Options{Now: clock(), LeaseTTL: time.Hour}) // each look at the clock takes a second
		return l, must.Get(coord.New(l, "dispatch", chattyFleet(t, w), chatty, &coord.Options{
			Journal: checkpointing(t, l, j, coord.OnAgentBoundaries), Description: "talks",
		}))(t)
	}
	l, c := start()
	var frames []coord.Frame
	r := must.Get(c.Handle(t.Context(), "x", &coord.HandleOptions{By: "carol", Stream: func(f coord.Frame) error {
		frames = append(frames, f)
		return nil
	}}))(t)
	decide(t, l, r.Gate, posthouse.Approve, "alice")
	_, c = start() // the same journal, as one that outlives the process
	must.Get(c.Resume(t.Context(), r.Thread, nil))(t)

	wantList(t, "events", kinds(t, j, coord.EventQuery{Coordination: "dispatch"}),
		"CoordinationStarted", "RouteEvaluated", "AgentHandoff front", "AgentDispatched a", "AgentActivityChanged a",
		"CommitmentRecorded a", "AgentCompleted a", "AgentEvaluated a", "CoordinationCompleted")
	byKind := map[coord.Kind]coord.Event{}
	for e := range j.Events(t.Context(), coord.EventQuery{}) {
		if e.Thread != r.Thread || e.Coordination != "dispatch" || e.Run == "" || e.ID.Validate() != nil {
			t.Errorf("event %+v", e)
		}
		byKind[e.Kind] = e
	}
	for kind, cause := range map[coord.Kind]coord.Kind{
		coord.RouteEvaluated: coord.CoordinationStarted, coord.AgentHandoff: coord.RouteEvaluated,
		coord.AgentDispatched: coord.CoordinationStarted, coord.AgentActivityChanged: coord.AgentDispatched,
		coord.CommitmentRecorded: coord.AgentDispatched, coord.AgentCompleted: coord.AgentDispatched,
		coord.AgentEvaluated: coord.CoordinationStarted, coord.CoordinationCompleted: coord.CoordinationStarted,
	} {
		if byKind[kind].Cause != byKind[cause].ID {
			t.Errorf("%s follows from %q, want %s", kind, byKind[kind].Cause, cause)
		}
	}
	if k, e := byKind[coord.CommitmentRecorded], byKind[coord.AgentCompleted]; e.At.Before(k.At) || e.ID <= k.ID {
		t.Errorf("told first is %s of %s, then %s of %s", k.ID, k.At, e.ID, e.At)
	}
	if e := byKind[coord.CoordinationStarted]; e.Cause != "" || e.Text != "x" || e.By != "carol" {
		t.Errorf("started %+v", e)
	}
	if e := byKind[coord.AgentCompleted]; e.ElapsedMS < 1000 || e.Text != "a did x" {
		t.Errorf("completed %+v", e)
	}
	if e := byKind[coord.CoordinationCompleted]; e.Text != "a did x" || e.Error != "" {
		t.Errorf("completed %+v", e)
	}
	if k := byKind[coord.CommitmentRecorded].Commitment; *k != (coord.Commitment{"coordinator:dispatch", "carol", "a", "do", "completed"}) {
		t.Errorf("commitment %+v", k)
	}
	var types []string
	for _, f := range frames {
		types = append(types, f.Type)
	}
	wantList(t, "frames", types, "event", "event", "event", "event", "event", "event", "event", "reply")
	if last := frames[len(frames)-1].Reply; last.Gate != r.Gate || last.Thread != r.Thread {
		t.Errorf("reply frame %+v", last)
	}
}

func TestEveryEventBecomesACheckpoint(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := must.Get(coord.New(l, "dispatch", chattyFleet(t, w), chatty, &coord.Options{Journal: checkpointing(t, l, coord.Discard{}, coord.EveryEvent)}))(t)
	r := must.Get(c.Handle(t.Context(), "x", nil))(t)
	decide(t, l, r.Gate, posthouse.Approve, "alice")
	r = must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Thread: r.Thread}),
		"event running <root", "event running <0", "event front running <1", "event a running <2", "event a running <3", "event a running <4",
		"event a waiting <5", "event a running <6", "node done <7")
	if e := state[coord.Event](t, l, r.Checkpoint); e.Kind != coord.CoordinationCompleted {
		t.Errorf("last %+v", e)
	}
	wantList(t, "calls", w.calls, "a")
	// A failure with every event: the request has failed, and its last event says so.
	w.fail = map[string]error{"a": errors.New("no")}
	r = must.Get(c.Handle(t.Context(), "y", nil))(t)
	if r.Status == posthouse.StatusWaiting { // chatty asks also after a failure
		decide(t, l, r.Gate, posthouse.Approve, "alice")
		r = must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	}
	if e := state[coord.Event](t, l, r.Checkpoint); e.Kind != coord.CoordinationCompleted {
		t.Errorf("last %+v", e)
	}
}

func TestAFailureEndsARequestAlsoUnderEveryEvent(t *testing.T) {
	l, w := newLedger(t), &world{fail: map[string]error{"analyzer": errors.New("no")}}
	c := must.Get(coord.New(l, "dispatch", approvalFleet(t, w), approval(w), &coord.Options{Journal: checkpointing(t, l, coord.Discard{}, coord.EveryEvent)}))(t)
	r := must.Get(c.Handle(t.Context(), "x", nil))(t)
	if e := state[coord.Event](t, l, r.Checkpoint); r.Status != posthouse.StatusFailed || e.Kind != coord.CoordinationCompleted || e.Error != "no" {
		t.Fatalf("reply %+v, event %+v", r, e)
	}
	w.fail = nil
	r = must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	if r.Status != posthouse.StatusWaiting {
		t.Fatalf("reply %+v", r)
	}
}

// Without a checkpointing journal requests, results and questions are on record
// all the same; the checkpoints are the coordinator's own.
func TestDiscardIsTheDefaultJournal(t *testing.T) {
	store, w := memstore.New(), &world{}
	l := open(t, store, nil)
	c := must.Get(coord.New(l, "dispatch", approvalFleet(t, w), approval(w), nil))(t)
	r := must.Get(c.Handle(t.Context(), "x", nil))(t)
	decide(t, l, r.Gate, posthouse.Approve, "alice")
	l2 := open(t, store, nil)
	must.Get(must.Get(coord.New(l2, "dispatch", approvalFleet(t, w), approval(w), nil))(t).Resume(t.Context(), r.Thread, nil))(t)
	wantList(t, "log", log(t, l2, r.Thread),
		"claim, coord:request, agent:analyzer.do, cp waiting, gate", "approve",
		"claim", "agent:approver.do>refund", "agent:approver.do, cp done")
	wantList(t, "calls", w.calls, "analyzer", "effect", "approver")
}

func TestEmitRefusals(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := coordinator(t, l, w.fleet(t, "a"), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		for _, k := range []coord.Kind{"", "Nonsense", coord.AgentCompleted, coord.ForkCreated, coord.CommitmentRecorded, coord.CoordinationStarted} {
			if _, err := coord.Emit(ctx, coord.Event{Kind: k}); !errors.Is(err, posthouse.ErrInvalid) {
				t.Errorf("%q: %v", k, err)
			}
		}
		if _, err := coord.Emit(ctx, coord.Event{Kind: coord.AgentEvaluated, Data: json.RawMessage("{")}); !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
		if err := coord.Conclude(ctx, coord.Result{Data: json.RawMessage("{")}); !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
		if _, err := f.Agent("a").Call(ctx, "do", func() {}); !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
		return nil
	})
	must.Get(c.Handle(t.Context(), "x", nil))(t)
}

func TestAnAnswerThatIsNotJSONIsAFailure(t *testing.T) {
	l := newLedger(t)
	f := must.Get(coord.NewFleet(coord.Agent{Name: "a", Skills: map[string]coord.Skill{
		"do": func(context.Context, coord.Call) (coord.Result, error) {
			return coord.Result{Data: json.RawMessage("{")}, nil
		},
		"say": func(context.Context, coord.Call) (coord.Result, error) { return coord.Result{Text: "\xff"}, nil },
	}}))(t)
	c := coordinator(t, l, f, func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		r, err := f.Agent("a").Call(ctx, m, nil)
		s.Stream(r.Text)
		return err
	})
	for _, m := range []string{"do", "say"} {
		if r := must.Get(c.Handle(t.Context(), m, nil))(t); r.Status != posthouse.StatusFailed {
			t.Errorf("%s: reply %+v", m, r)
		}
	}
}

func TestAJournalThatFailsEndsTheRun(t *testing.T) {
	l, w, boom := newLedger(t), &world{}, errors.New("boom")
	for fails := range 5 {
		n := 0
		j := must.Get(coord.Checkpointing(coord.Discard{}, l, func(coord.Event) bool { n++; return n > fails }, func(context.Context, coord.Event) (posthouse.State, error) {
			return nil, boom
		}))(t)
		c := must.Get(coord.New(l, "dispatch", w.fleet(t, "a"), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
			_, _ = call(ctx, f, "a", m)
			return nil
		}, &coord.Options{Journal: j}))(t)
		if r, err := c.Handle(t.Context(), "x", nil); !errors.Is(err, boom) || r != nil {
			t.Errorf("event %d: reply %+v, error %v", fails, r, err)
		}
	}
	if n := len(checkpoints(t, l, posthouse.Query{})); n != 0 {
		t.Errorf("%d checkpoints", n)
	}
}

func TestSessions(t *testing.T) {
	var none *coord.Session
	none.Stream("x")
	none.Event(coord.Event{})
	if none.Text() != "" || none.Gone() != nil {
		t.Error("a nil session said something")
	}
	calls, gone := 0, errors.New("gone")
	s := coord.NewSession(func(coord.Frame) error { calls++; return gone })
	s.Stream("one")
	s.Stream("")
	s.Stream("two")
	s.Event(coord.Event{Kind: coord.AgentCompleted})
	if calls != 1 || s.Text() != "one\ntwo" || s.Gone() != gone {
		t.Errorf("%d calls, text %q, gone %v", calls, s.Text(), s.Gone())
	}
	if have := mustJSON(t, coord.Frame{Type: "text", Text: "x"}); have != `{"type":"text","text":"x"}` {
		t.Error(have)
	}
}

// A client that vanishes does not fail the run.
func TestAVanishedClientDoesNotFailTheRun(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := must.Get(coord.New(l, "dispatch", approvalFleet(t, w), approval(w), &coord.Options{
		Parked: func(r coord.Reply) string { return fmt.Sprintf("parked at %s", r.Status) },
	}))(t)
	n := 0
	r := must.Get(c.Handle(t.Context(), "x", &coord.HandleOptions{Stream: func(coord.Frame) error { n++; return errors.New("gone") }}))(t)
	if r.Status != posthouse.StatusWaiting || n != 1 || r.Text != "Analysis complete.\nparked at waiting" {
		t.Fatalf("reply %+v after %d frames", r, n)
	}
}

// forked resumes a fork and answers its gate.
func finishFork(t *testing.T, l *ledger.Ledger, c *coord.Coordinator, thread, branch, by string) *coord.Reply {
	t.Helper()
	var gate posthouse.ID
	for g, err := range l.Gates(t.Context(), ledger.GateQuery{Thread: thread}) {
		if err != nil {
			t.Fatal(err)
		}
		if g.Branch == branch {
			gate = g.ID
		}
	}
	decide(t, l, gate, posthouse.Approve, by)
	return must.Get(c.Resume(t.Context(), thread, &coord.ResumeOptions{Branch: branch}))(t)
}

func TestAForkOfAWaitingRequestIsResumed(t *testing.T) {
	store, w := memstore.New(), &world{}
	l := open(t, store, nil)
	var resumed []string
	handler := func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		if c := must.Get(f.Resumed(ctx))(t); c == nil {
			resumed = append(resumed, "first")
		} else {
			resumed = append(resumed, c.Kind+" "+string(c.State[posthouse.OpaquePart].Data))
		}
		return approval(w)(ctx, m, f, s)
	}
	c := coordinator(t, l, approvalFleet(t, w), handler)
	r := must.Get(c.Handle(t.Context(), "x", nil))(t)
	decide(t, l, r.Gate, posthouse.Reject, "bob") // decided where it was, open on the forks
	must.Get(c.Resume(t.Context(), r.Thread, nil))(t)

	edited := must.Get(posthouse.Opaque(nil, "edited"))(t)
	branch := must.Get(l.Fork(t.Context(), r.Checkpoint, &ledger.ForkOptions{Replace: edited}))(t)
	thread := must.Get(l.Fork(t.Context(), r.Checkpoint, &ledger.ForkOptions{Thread: "elsewhere", Replace: edited}))(t)
	l = open(t, store, nil)
	c = coordinator(t, l, approvalFleet(t, w), handler)
	for _, f := range []*posthouse.Checkpoint{branch, thread} {
		if f.Status != posthouse.StatusInterrupted || len(f.Gates) > 0 {
			t.Fatalf("a fork with another state offers the old question: %s, %v", f.Status, f.Gates)
		}
		must.Get(c.Resume(t.Context(), f.Thread, &coord.ResumeOptions{Branch: f.Branch}))(t)
	}
	a := finishFork(t, l, c, branch.Thread, branch.Branch, "alice")
	b := finishFork(t, l, c, thread.Thread, posthouse.MainBranch, "alice")
	if a.Status != posthouse.StatusDone || b.Status != posthouse.StatusDone {
		t.Fatalf("replies %+v, %+v", a, b)
	}
	wantList(t, "calls", w.calls, "analyzer", "effect", "approver", "effect", "approver")
	if slices.Contains(resumed[2:], "first") || resumed[0] != "first" || resumed[2] != `fork "edited"` || resumed[3] != `fork "edited"` {
		t.Errorf("resumed from %q", resumed)
	}
	wantList(t, "elsewhere", checkpoints(t, l, posthouse.Query{Thread: "elsewhere"}), "fork analyzer interrupted <root", "wait waiting <0", "node approver done <1")
}

func TestForkAtAnEvent(t *testing.T) {
	l, w, memory := newLedger(t), &world{}, &coord.MemoryJournal{}
	j := checkpointing(t, l, memory, coord.OnAgentBoundaries)
	c := must.Get(coord.New(l, "dispatch", approvalFleet(t, w), approval(w), &coord.Options{Journal: j}))(t)
	r := must.Get(c.Handle(t.Context(), "x", nil))(t)
	var done, sent coord.Event
	for e := range j.Events(t.Context(), coord.EventQuery{}) {
		switch e.Kind {
		case coord.AgentCompleted:
			done = e
		case coord.AgentDispatched:
			sent = e
		}
	}
	_, err := coord.Fork(t.Context(), j, l, coord.ForkOptions{Event: "nobody"})
	must.Fail(t, err, posthouse.ErrNotFound)
	_, err = coord.Fork(t.Context(), j, l, coord.ForkOptions{Event: sent.ID}) // no checkpoint of it
	must.Fail(t, err, posthouse.ErrNotFound)
	_, err = coord.Fork(t.Context(), j, l, coord.ForkOptions{})
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = coord.Fork(t.Context(), j, l, coord.ForkOptions{Event: done.ID, Thread: r.Thread})
	if err == nil {
		t.Fatal("forked into a thread that exists")
	}

	f := must.Get(coord.Fork(t.Context(), j, l, coord.ForkOptions{Event: done.ID, Thread: "what-if", By: "eve"}))(t)
	if f.Checkpoint.Thread != "what-if" || f.Checkpoint.Source.ID != r.Checkpoint || *f.Event.Fork != (coord.ForkLink{
		Coordination: "dispatch", Thread: r.Thread, Event: done.ID, Checkpoint: r.Checkpoint,
	}) {
		t.Fatalf("forked %+v", f)
	}
	if f2 := must.Get(coord.Fork(t.Context(), j, l, coord.ForkOptions{Event: done.ID}))(t); f2.Checkpoint.Thread == "what-if" || f2.Checkpoint.Thread == r.Thread {
		t.Fatalf("forked %+v", f2)
	}
	wantList(t, "its events", kinds(t, j, coord.EventQuery{Thread: "what-if"}), "ForkCreated")
	if f.Event.Cause != "" {
		t.Error("a fork's event is the root of its thread")
	}
	if r := finishFork(t, l, c, "what-if", posthouse.MainBranch, "alice"); r.Status != posthouse.StatusDone {
		t.Fatalf("reply %+v", r)
	}
	wantList(t, "its events", kinds(t, j, coord.EventQuery{Thread: "what-if"}),
		"ForkCreated", "AgentDispatched approver", "CommitmentRecorded approver", "AgentCompleted approver", "CoordinationCompleted")
	wantList(t, "calls", w.calls, "analyzer", "effect", "approver")
}
