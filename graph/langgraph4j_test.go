package graph_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// The tests in this file have the names of LangGraph4j's tests and check what
// those check, by our rules where they differ: the interruption is also an
// element of the stream, and history is never rewritten.

type counter struct {
	Steps int
	Note  string
}

func counting(until int) *graph.Graph[counter] {
	g := graph.New[counter]("counting")
	g.Node("agent_1", func(_ context.Context, s *counter) error { s.Steps++; return nil })
	g.Edge(graph.Start, "agent_1")
	g.Route("agent_1", func(s *counter) string {
		if s.Steps >= until {
			return graph.End
		}
		return "agent_1"
	}, "agent_1", graph.End)
	return g
}

func TestCheckpointInitialState(t *testing.T) {
	a := compile(t, counting(1), newLedger(t), nil)
	must.Get(a.Run(t.Context(), "t", counter{Note: "first"}))(t)
	h := history(t, a, "t")
	wantList(t, "checkpoints", kinds(h), "node agent_1", "input")
	if h[1].State.Note != "first" || h[1].State.Steps != 0 {
		t.Fatalf("initial state %+v", h[1].State)
	}
	must.Get(a.Run(t.Context(), "t", counter{Steps: 7}))(t) // initial state: the saved one and the input
	if s := history(t, a, "t")[1].State; s.Note != "first" || s.Steps != 7 {
		t.Fatalf("initial state %+v", s)
	}
}

func TestCheckpointSaverResubmit(t *testing.T) {
	a := compile(t, counting(5), newLedger(t), nil)
	for _, thread := range []string{"thread_1", "thread_2"} {
		if out := must.Get(a.Run(t.Context(), thread, counter{Note: thread}))(t); out.State.Steps != 5 {
			t.Fatalf("state %+v", out.State)
		}
	}
	for want := 6; want < 9; want++ {
		out := must.Get(a.Run(t.Context(), "thread_1", counter{}))(t)
		if out.State.Steps != want || out.State.Note != "thread_1" {
			t.Fatalf("state %+v, want %d steps", out.State, want)
		}
	}
	if s := must.Get(a.State(t.Context(), "thread_2"))(t); s.State.Steps != 5 || s.State.Note != "thread_2" {
		t.Fatalf("state %+v", s.State)
	}
}

type message struct{ Role, Text string }

type chat struct {
	Messages []message `posthouse:"append"`
}

func (s *chat) last() message { return s.Messages[len(s.Messages)-1] }

// chatting is an agent that asks its tool about the weather and nothing else.
func chatting() *graph.Graph[chat] {
	g := graph.New[chat]("chatting")
	g.Node("agent", func(_ context.Context, s *chat) error {
		m := message{"agent", "hello"}
		switch l := s.last(); {
		case l.Role == "tool":
			m = message{"agent", "the weather is " + l.Text}
		case l.Text == "weather?":
			m = message{"call", "look outside"}
		}
		s.Messages = append(s.Messages, m)
		return nil
	})
	g.Node("tools", func(_ context.Context, s *chat) error {
		s.Messages = append(s.Messages, message{"tool", "cold"})
		return nil
	})
	g.Edge(graph.Start, "agent")
	g.Edge("tools", "agent")
	g.Route("agent", func(s *chat) string {
		if s.last().Role == "call" {
			return "tools"
		}
		return graph.End
	}, "tools", graph.End)
	return g
}

// TestCheckpointWithReleasedThread and its sibling read with another ledger over
// the same store: nothing of a released thread, all of one that was not.
func TestCheckpointWithReleasedThread(t *testing.T)    { reread(t, true, 0) }
func TestCheckpointWithNotReleasedThread(t *testing.T) { reread(t, false, 2) }

func reread(t *testing.T, release bool, want int) {
	t.Helper()
	l := newLedger(t)
	a := compile(t, counting(1), l, nil)
	must.Get(a.Run(t.Context(), "t", counter{Note: "n"}))(t)
	if release {
		must.Get(l.Release(t.Context(), "t", nil))(t)
	}
	again := must.Get(ledger.Open(l.Store(), nil))(t)
	b := compile(t, counting(1), again, nil)
	if h := history(t, b, "t"); len(h) != want {
		t.Errorf("%d checkpoints, want %d", len(h), want)
	}
}

func TestViewAndUpdatePastGraphState(t *testing.T) {
	a := compile(t, chatting(), newLedger(t), nil)
	_, names := collect(t, a.Stream(t.Context(), "t", chat{Messages: []message{{"user", "weather?"}}}))
	wantList(t, "5 outputs", names, "input", "agent", "tools", "agent", "end")
	s := must.Get(a.State(t.Context(), "t"))(t)
	if len(s.Next) != 0 || s.State.last().Text != "the weather is cold" {
		t.Fatalf("state %+v", s)
	}
	h := history(t, a, "t")
	wantList(t, "4 entries, newest first", kinds(h), "node agent", "node tools", "node agent", "input")

	_, names = collect(t, a.ResumeStream(t.Context(), "t"))
	wantList(t, "resuming a finished thread gives 1 output", names, "end")

	first := h[3]
	u := must.Get(a.Update(t.Context(), "t", func(s *chat) { s.Messages = []message{{"user", "hi"}} },
		graph.UpdateOptions{Checkpoint: first.ID}))(t)
	events, names := collect(t, a.ResumeStream(t.Context(), "t", graph.RunOptions{Branch: u.Branch}))
	wantList(t, "2 outputs", names, "agent", "end")
	if events[1].State.last().Text != "hello" {
		t.Fatalf("state %+v", events[1].State)
	}
	if old := must.Get(a.State(t.Context(), "t", graph.StateOptions{Checkpoint: first.ID}))(t); old.State.last().Text != "weather?" {
		t.Fatalf("the past was rewritten: %+v", old)
	}
}

func TestPauseAndUpdatePastGraphState(t *testing.T) {
	a := compile(t, chatting(), newLedger(t), &graph.CompileOptions{InterruptBefore: []string{"tools"}})
	events, names := collect(t, a.Stream(t.Context(), "t", chat{Messages: []message{{"user", "weather?"}}}))
	wantList(t, "2 outputs and the interruption", names, "input", "agent", "park")
	if events[2].Result.Status != posthouse.StatusInterrupted {
		t.Fatalf("result %+v", events[2].Result)
	}
	s := must.Get(a.State(t.Context(), "t"))(t)
	wantList(t, "next", s.Next, "tools")
	events, names = collect(t, a.ResumeStream(t.Context(), "t"))
	wantList(t, "resumed", names, "tools", "agent", "end")
	if events[2].State.last().Text != "the weather is cold" {
		t.Fatalf("state %+v", events[2].State)
	}
}
