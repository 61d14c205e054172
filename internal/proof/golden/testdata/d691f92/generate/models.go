package main

import (
	"context"
	"encoding/json"
	"log"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
)

// gate returns the id of the thread's first open gate.
func (w *writer) gate(thread string) posthouse.ID {
	t := must(w.l.Thread(w.ctx, thread))
	if len(t.Waiting) == 0 {
		log.Fatalf("%s waits for nothing", thread)
	}
	return t.Waiting[0].ID
}

func (w *writer) decide(thread string, v posthouse.Verdict, by, value string) {
	d := posthouse.Decision{Verdict: v, By: by, Reason: "golden"}
	if value != "" {
		d.Value = json.RawMessage(value)
	}
	must(w.l.Decide(w.ctx, w.gate(thread), d))
}

func (w *writer) ask(thread, request string) *graph.Result[Refund] {
	return must(w.refund.Run(w.ctx, thread, Refund{Request: request, Amount: 500}, graph.RunOptions{By: "zoe", Run: "run-1"}))
}

// graphs leaves questions of graphs in every condition.
func (w *writer) graphs() {
	for _, kind := range []string{"open", "due", "expired", "decided", "edited", "rejected", "responded", "done", "withdrawn", "escalating"} {
		request := map[string]string{"due": "expiring", "expired": "expiring", "escalating": "escalating"}[kind]
		if request == "" {
			request = "plain"
		}
		w.ask("graph-"+kind, request+" order 1")
	}
	w.decide("graph-decided", posthouse.Approve, "alice", "")
	w.decide("graph-edited", posthouse.Edit, "bob", `{"amount":250}`)
	w.decide("graph-rejected", posthouse.Reject, "bob", "")
	w.decide("graph-responded", posthouse.Respond, "bob", `{"amount":7}`)
	w.decide("graph-done", posthouse.Approve, "alice", "")
	must(w.refund.Resume(w.ctx, "graph-done"))
	w.decide("graph-withdrawn", posthouse.Cancel, "zoe", "")

	for thread, request := range map[string]string{"graph-judged": "judged", "graph-unsure": "unsure", "graph-accepted": "accepted", "graph-lapsing": "lapsing", "graph-twice": "twice"} {
		w.ask(thread, request+" order 2")
	}
	w.decide("graph-twice", posthouse.Approve, "alice", "")
	must(w.refund.Resume(w.ctx, "graph-twice"))

	w.ask("graph-quorum", "quorum order 3")
	w.decide("graph-quorum", posthouse.Approve, "alice", "")
	w.ask("graph-outvoted", "quorum order 3")
	w.decide("graph-outvoted", posthouse.Approve, "alice", "")
	w.decide("graph-outvoted", posthouse.Reject, "bob", "")
	w.ask("graph-four", "four order 3")
	w.decide("graph-four", posthouse.Approve, "alice", "")
	w.ask("graph-delegated", "assigned order 4")
	must(w.l.Delegate(w.ctx, w.gate("graph-delegated"), posthouse.Delegation{By: "alice", To: "dora", Reason: "on leave"}))

	w.forks()
	w.faults()
	w.trips()
	w.clock.forward(50 * time.Hour) // beyond the deadlines and the escalation
	must(w.l.Expire(w.ctx, w.gate("graph-expired")))
	must(w.l.Escalate(w.ctx, w.gate("graph-escalating")))
}

func (w *writer) forks() {
	out := w.ask("graph-forked", "plain order 5")
	must(w.refund.Fork(w.ctx, out.Checkpoint, nil, graph.ForkOptions{By: "mia"}))
	must(w.refund.Fork(w.ctx, out.Checkpoint, nil, graph.ForkOptions{Thread: "graph-fork", By: "mia"}))
	must(w.refund.Fork(w.ctx, out.Checkpoint, func(r *Refund) { r.Request, r.Amount = "plain order 999999", 999999 }, graph.ForkOptions{Thread: "graph-fork-patched", By: "mia"}))
	judged := must(w.l.Latest(w.ctx, posthouse.LatestQuery{Thread: "graph-judged"}))
	must(w.refund.Fork(w.ctx, judged.ID, nil, graph.ForkOptions{Thread: "graph-fork-judged", By: "mia"}))
	must(w.refund.Copy(w.ctx, "graph-twice", "graph-copy", nil))
	must(w.refund.Update(w.ctx, "graph-forked", func(r *Refund) { r.Log = append(r.Log, "edited") }, graph.UpdateOptions{Checkpoint: out.Checkpoint, NewBranch: "edit", By: "mia"}))
}

func (w *writer) faults() {
	w.ask("graph-cancelled", "plain order 6")
	must(w.l.Cancel(w.ctx, "graph-cancelled", &posthouse.CancelOptions{By: "zoe", Reason: "never mind"}))
	must(w.faulty.Run(w.ctx, "graph-interrupted", Refund{Request: "begin"}))
	w.calls.Down = true
	must(w.faulty.Run(w.ctx, "graph-retry", Refund{Request: "begin"}))
	must(w.faulty.Resume(w.ctx, "graph-retry"))
	if _, err := w.faulty.Run(w.ctx, "graph-failed", Refund{Request: "broken"}); err == nil {
		log.Fatal("graph-failed did not fail")
	}
	w.calls.Down = false
}

func (w *writer) trips() {
	for _, thread := range []string{"trip-parallel", "trip-within", "trip-own"} {
		must(w.trip.Run(w.ctx, thread, Trip{Name: "Oslo"}))
	}
	for _, thread := range []string{"trip-within", "trip-own"} {
		w.decide(thread, posthouse.Respond, "alice", `"Grand"`)
		must(w.trip.Resume(w.ctx, thread))
	}
	w.decide("trip-own", posthouse.Approve, "alice", "")
	must(w.trip.Resume(w.ctx, "trip-own"))
}

// flows leaves flows that wait for all that a flow can wait for.
func (w *writer) flows() {
	for _, kind := range []string{"open", "decided", "sleep", "signal", "signalled", "latch", "many", "loop"} {
		is := map[string]string{"open": "ask", "decided": "ask", "signalled": "signal"}[kind]
		if is == "" {
			is = kind
		}
		must(w.order.Run(w.ctx, "flow-"+kind, Order{is, "lamp"}, flow.RunOptions{By: "zoe", Labels: map[string]string{"team": "blue"}}))
	}
	w.decide("flow-decided", posthouse.Approve, "alice", "")
	w.decide("flow-many", posthouse.Approve, "alice", "")
	w.decide("flow-loop", posthouse.Respond, "alice", `1`)
	must(w.order.Resume(w.ctx, "flow-loop"))
	w.decide("flow-loop", posthouse.Respond, "alice", `2`)
	must(w.l.Signal(w.ctx, "flow-signalled", posthouse.Signal{ID: "payment-1", Name: "paid", Value: json.RawMessage(`"by card"`), By: "bank"}))
	must(w.l.Signal(w.ctx, "flow-signalled", posthouse.Signal{ID: "payment-2", Name: "paid", Value: json.RawMessage(`"twice"`), By: "bank"}))
	must(w.l.Signal(w.ctx, "flow-early", posthouse.Signal{Name: "paid", Value: json.RawMessage(`"early"`), Early: true}))
	must(w.order.Run(w.ctx, "flow-early", Order{"signal", "rug"}))

	w.calls.Down = true
	if _, err := w.order.Run(w.ctx, "flow-failed", Order{"ask", "rug"}, flow.RunOptions{Run: "run-1"}); err == nil {
		log.Fatal("flow-failed did not fail")
	}
	w.calls.Down = false
	w.calls.Flaky = true
	must(w.order.Run(w.ctx, "flow-retry", Order{"retry", "rug"}))
	w.calls.Flaky = false

	chat := w.answering(nil)
	must(w.order.Run(chat.With(w.ctx), "flow-tool", Order{"tool", "lamp"}))
	chat.Close()
}

// coordinations leaves requests to a coordinator.
func (w *writer) coordinations() {
	for _, thread := range []string{"coord-open", "coord-decided", "coord-done", "coord-refused"} {
		must(w.coord.Handle(w.ctx, "refund order 500", &coord.HandleOptions{Thread: thread, By: "zoe", Labels: map[string]string{"team": "red"}}))
	}
	w.decide("coord-decided", posthouse.Edit, "bob", `{"amount":3}`)
	w.decide("coord-done", posthouse.Approve, "bob", "")
	must(w.coord.Resume(w.ctx, "coord-done", nil))
	w.decide("coord-refused", posthouse.Reject, "bob", "")
	must(w.coord.Resume(w.ctx, "coord-refused", nil))
	root := must(w.l.Latest(w.ctx, posthouse.LatestQuery{Thread: "coord-open"}))
	must(w.l.Fork(w.ctx, root.ID, &posthouse.ForkOptions{Thread: "coord-fork", By: "mia"}))
}

// answering is a session in which alice approves whatever is asked.
func (w *writer) answering(l *posthouse.Ledger) *gate.Session {
	var chat *gate.Session
	chat = gate.NewSession(&gate.SessionOptions{By: "alice", Now: w.clock.now, Ledger: l, Announce: func(g *posthouse.Gate) error {
		go chat.Receive("/__approval/"+string(g.ID)+"/approve", "alice")
		return nil
	}})
	return chat
}

// sessions leaves an approval of a connection that was answered, and one whose
// process was lost while it waited. The Ledger is closed then.
func (w *writer) sessions() {
	tool := gate.Require(func(context.Context, int) (string, error) { return "ran", nil },
		gate.Approval{Tool: "transfer", Message: "Send this money?"})
	chat := w.answering(w.l)
	must(tool(chat.With(w.ctx), 500))
	chat.Close()

	asked := make(chan struct{})
	lost := gate.NewSession(&gate.SessionOptions{By: "alice", Now: w.clock.now, Ledger: w.l, Announce: func(*posthouse.Gate) error {
		close(asked)
		return nil
	}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := tool(lost.With(w.ctx), 700); err == nil {
			log.Fatal("the tool ran without an answer")
		}
	}()
	<-asked
	check(w.l.Close()) // what the session would record from here on is lost
	lost.Close()
	<-ended
}
