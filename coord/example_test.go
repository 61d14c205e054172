package coord_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

type order struct {
	Request string `json:"request"`
	By      string `json:"by,omitempty"`
}

// analyze is a skill: in earnest it would ask a model.
func analyze(_ context.Context, c coord.Call) (coord.Result, error) {
	var o order
	if err := c.Bind(&o); err != nil {
		return coord.Result{}, err
	}
	return coord.NewResult("looks fine: "+o.Request, o)
}

// execute acts on the world, so what it does is a recorded step.
func execute(ctx context.Context, c coord.Call) (coord.Result, error) {
	var o order
	if err := c.Bind(&o); err != nil {
		return coord.Result{}, err
	}
	receipt, err := step.Do(ctx, "refund", func(context.Context) (string, error) { return "receipt 1", nil })
	return coord.Result{Text: fmt.Sprintf("%s for %s, approved by %s", receipt, o.Request, o.By)}, err
}

func dispatch(ctx context.Context, message string, fleet *coord.Fleet, session *coord.Session) error {
	analysis, err := fleet.Agent("analyzer").Call(ctx, "analyze", order{Request: message})
	if err != nil {
		return err
	}
	if !analysis.Success {
		session.Stream("Analyzer failed: " + analysis.Text)
		return nil
	}
	session.Stream(analysis.Text)
	answer, err := gate.Ask[order](ctx, gate.Question{Name: "refund", Show: analysis.Data, Expires: 48 * time.Hour})
	if err != nil {
		return err // posthouse.ErrWaiting: the request is parked, nothing is held
	}
	if !answer.Approved() {
		return coord.Conclude(ctx, coord.Result{Text: "refused by " + answer.By})
	}
	done, err := fleet.Agent("approver").Call(ctx, "execute", order{Request: message, By: answer.By})
	if err != nil {
		return err
	}
	session.Stream(done.Text)
	return nil
}

// newDispatch is what each process does when it starts.
func newDispatch(store posthouse.Store) (*ledger.Ledger, *coord.Coordinator, error) {
	led, err := ledger.Open(store, &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		return nil, nil, err
	}
	fleet, err := coord.NewFleet(
		coord.Agent{Name: "analyzer", Skills: map[string]coord.Skill{"analyze": analyze}},
		coord.Agent{Name: "approver", Skills: map[string]coord.Skill{"execute": execute}},
	)
	if err != nil {
		return nil, nil, err
	}
	journal, err := coord.Checkpointing(coord.Discard{}, led, coord.OnAgentBoundaries, coord.ResultText)
	if err != nil {
		return nil, nil, err
	}
	c, err := coord.New(led, "dispatch", fleet, dispatch, &coord.Options{Journal: journal})
	return led, c, err
}

// A request is analyzed, waits for a decision across a restart, and is carried
// out once.
func Example() {
	ctx, store := context.Background(), memstore.New()
	_, c, err := newDispatch(store)
	if err != nil {
		panic(err)
	}
	reply, err := c.Handle(ctx, "order 1234", nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(reply.Status, "-", reply.Text)

	// A week later, in another process.
	led, c, err := newDispatch(store)
	if err != nil {
		panic(err)
	}
	if _, err := led.Decide(ctx, reply.Gate, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		panic(err)
	}
	reply, err = c.Resume(ctx, reply.Thread, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(reply.Status, "-", reply.Text)
	for h, err := range led.List(ctx, posthouse.Query{Coordination: "dispatch"}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(h.Agent, h.Status, "root:", h.Parent == "")
	}
	// Output:
	// waiting - looks fine: order 1234
	// done - receipt 1 for order 1234, approved by alice
	// analyzer waiting root: true
	// approver done root: false
}

// Events recorded in a checkpointing journal become a chain of checkpoints, with
// or without a coordinator.
func ExampleCheckpointing() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	journal, err := coord.Checkpointing(&coord.MemoryJournal{}, led, coord.OnAgentBoundaries, coord.ResultText)
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"one", "two"} {
		if err := journal.Record(ctx, coord.Event{Kind: coord.AgentCompleted, Coordination: "coord-42", Agent: "analyzer", Text: text}); err != nil {
			panic(err)
		}
	}
	last, err := journal.LastCheckpoint(ctx, "coord-42")
	if err != nil {
		panic(err)
	}
	fmt.Println(last.Agent, string(last.State[posthouse.OpaquePart].Data), "root:", last.IsRoot())
	// Output: analyzer "two" root: false
}

// A journal's events as lines of a log.
func ExampleWriteLog() {
	ctx, journal := context.Background(), &coord.MemoryJournal{}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, e := range []coord.Event{
		{Kind: coord.AgentDispatched, Coordination: "dispatch", Agent: "analyzer", Skill: "analyze", At: at},
		{Kind: coord.AgentCompleted, Coordination: "dispatch", Agent: "analyzer", Skill: "analyze", At: at.Add(time.Second), Text: "looks fine"},
	} {
		if err := journal.Record(ctx, e); err != nil {
			panic(err)
		}
	}
	if err := coord.WriteLog(ctx, os.Stdout, journal, coord.EventQuery{Agent: "analyzer"}); err != nil {
		panic(err)
	}
	// Output:
	// 2026-01-02T03:04:05.000Z AgentDispatched       dispatch agent=analyzer skill=analyze
	// 2026-01-02T03:04:06.000Z AgentCompleted        dispatch agent=analyzer skill=analyze text="looks fine"
}

// A handler and its agents report what else happens.
func ExampleEmit() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	fleet, err := coord.NewFleet(coord.Agent{Name: "analyzer", Skills: map[string]coord.Skill{"analyze": analyze}})
	if err != nil {
		panic(err)
	}
	journal := &coord.MemoryJournal{}
	c, err := coord.New(led, "dispatch", fleet, func(ctx context.Context, message string, fleet *coord.Fleet, _ *coord.Session) error {
		if _, err := coord.Emit(ctx, coord.Event{Kind: coord.RouteEvaluated, To: "analyzer", Text: "it knows orders"}); err != nil {
			return err
		}
		_, err := fleet.Agent("analyzer").Call(ctx, "analyze", order{Request: message})
		return err
	}, &coord.Options{Journal: journal})
	if err != nil {
		panic(err)
	}
	if _, err := c.Handle(ctx, "order 1234", nil); err != nil {
		panic(err)
	}
	for e, err := range journal.Events(ctx, coord.EventQuery{}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(e.Kind)
	}
	// Output:
	// CoordinationStarted
	// RouteEvaluated
	// AgentDispatched
	// CommitmentRecorded
	// AgentCompleted
	// CoordinationCompleted
}

// A fork begins another line of work at an event, and asks its question again.
func ExampleFork() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	journal, err := coord.Checkpointing(&coord.MemoryJournal{}, led, coord.OnAgentBoundaries, coord.WholeEvent)
	if err != nil {
		panic(err)
	}
	done := coord.Event{ID: "event-1", Kind: coord.AgentCompleted, Coordination: "dispatch", Agent: "analyzer", Text: "looks fine"}
	if err := journal.Record(ctx, done); err != nil {
		panic(err)
	}
	fork, err := coord.Fork(ctx, journal, led, coord.ForkOptions{Event: "event-1", Thread: "what-if"})
	if err != nil {
		panic(err)
	}
	fmt.Println(fork.Checkpoint.Thread, fork.Checkpoint.Source.Thread, fork.Event.Kind)
	// Output: what-if dispatch ForkCreated
}
