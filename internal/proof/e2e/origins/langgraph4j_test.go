package origins

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
)

// Twins of LangGraph4j, by the names of its own tests; "here" says where
// Posthouse differs on purpose.
//
//	StateGraphMemorySaverTest
//	  testCheckpointInitialState ......................... graph.TestCheckpointInitialState
//	  release returns the thread, which is empty then .... graph.TestAppReleasesByHand, graph.TestAppKeepsVersions
//	  testCheckpointSaverResubmit ........................ graph.TestCheckpointSaverResubmit
//	  testViewAndUpdatePastGraphState (here the past stays)  graph.TestViewAndUpdatePastGraphState
//	  testPauseAndUpdatePastGraphState ................... graph.TestPauseAndUpdatePastGraphState
//	  testMemoryWithVersionsSaver ........................ graph.TestAppKeepsVersions
//	  testCheckpointSaverWithManualRelease ............... graph.TestAppReleasesByHand
//	  testCheckpointSaverWithAutoRelease ................. graph.TestCheckpointSaverWithAutoRelease
//	  release after an error ............................. graph.TestReleaseOnError
//	StateGraphFileSystemSaverTest
//	  testCheckpointSaverResubmit ........................ TestResubmitAcrossProcesses
//	  testViewAndUpdatePastGraphState, in another process  graph.TestReloadInAFreshProcess, TestResumeFromAForkedCheckpoint
//	  testPauseAndUpdatePastGraphState, in another process TestPauseAndUpdateAcrossProcesses
//	Issue105Test
//	  concurrentExceptionTest ............................ graph.TestIssue105; ledger/concurrent saves of many threads lose nothing
//	PostgresSaverITest
//	  testCheckpointWithReleasedThread ................... graph.TestCheckpointWithReleasedThread, graph.TestCheckpointWithReleasedAndNotReleasedThread
//	  testCheckpointWithNotReleasedThread ................ graph.TestCheckpointWithNotReleasedThread, graph.TestCheckpointWithReleasedAndNotReleasedThread
//	SubGraphTest, CompiledSubGraphTest
//	  testMergeSubgraph03WithInterruption ................ TestInterruptsOfAnInlinedSubgraph, graph.TestInline
//	  testMergeSubgraph04WithInterruption ................ TestInterruptsOfAnInlinedSubgraph
//	  testCheckpointWithSubgraph ......................... graph.TestSubgraphLifetime, graph.TestWithin
//	  testCompileSubGraphWithInterruptionSharingSaver .... graph.TestInterruptInsideASubgraph, graph.TestSubgraphWaitsInside
//	  testCompileSubGraphWithInterruptionWithDifferentSaver  TestInterruptInASubgraphWithAHistoryOfItsOwn
//	AgentExecutorMultiTurnCheckpointTest
//	  the answer of the last turn does not end this one .. TestEachTurnHasAnAnswerOfItsOwn

// testCheckpointSaverResubmit on files: each call is a process of its own.
func TestResubmitAcrossProcesses(t *testing.T) {
	var processes []func(l *ledger.Ledger)
	for want := 5; want <= 7; want++ {
		processes = append(processes, func(l *ledger.Ledger) {
			g := graph.New[work]("work")
			g.Node("agent", func(_ context.Context, s *work) error { s.Tokens++; return nil })
			g.Edge(graph.Start, "agent")
			g.Route("agent", func(s *work) string {
				if s.Tokens < 5 {
					return "agent"
				}
				return graph.End
			}, "agent", graph.End)
			app := compile(t, g, l)
			out := must(app.Run(t.Context(), "t", work{Own: "one"}))(t)
			if out.State.Tokens != want || out.State.Own != "one" {
				t.Fatalf("%+v, want %d steps", out.State, want)
			}
			if want > 5 {
				return
			}
			must(app.Run(t.Context(), "other", work{Own: "two"}))(t)
		})
	}
	restarts(t, append(processes, func(l *ledger.Ledger) {
		s := must(compile(t, line("agent"), l).State(t.Context(), "other"))(t)
		if s.State.Tokens != 5 || s.State.Own != "two" {
			t.Fatalf("s.State %+v", s.State)
		}
	})...)
}

// testPauseAndUpdatePastGraphState on files: paused, updated and resumed by
// three processes; the interruption is an element of the stream.
func TestPauseAndUpdateAcrossProcesses(t *testing.T) {
	build := func(l *ledger.Ledger) *graph.App[work] {
		return compile(t, line("agent", "tools", "answer"), l, graph.CompileOptions{InterruptBefore: []string{"tools"}})
	}
	restarts(t, func(l *ledger.Ledger) {
		var told []string
		for e, err := range build(l).Stream(t.Context(), "t", work{}) {
			must(e, err)(t)
			told = append(told, strings.TrimSpace(string(e.Kind)+" "+e.Node))
		}
		wantList(t, "outputs", told, "input", "node agent", "park agent")
	}, func(l *ledger.Ledger) {
		s := must(build(l).Update(t.Context(), "t", func(s *work) { s.Own = "updated" }))(t)
		wantList(t, "next", s.Next, "tools")
	}, func(l *ledger.Ledger) {
		out := must(build(l).Resume(t.Context(), "t"))(t)
		wantList(t, "nodes", out.State.Scratch, "agent", "tools", "answer")
		if out.State.Own != "updated" || out.Status != posthouse.StatusDone {
			t.Fatalf("output %+v", out)
		}
	})
}

// testMergeSubgraph03/04: the nodes of an inlined graph are interrupted by name,
// and the graph as a whole by its place: also after it, which is refused there.
func TestInterruptsOfAnInlinedSubgraph(t *testing.T) {
	g := graph.New[work]("work")
	g.Node("a", visit("a"))
	g.Inline("sub", line("b1", "b2"))
	g.Node("c", visit("c"))
	chain(g, "a", "sub", "c")
	for _, c := range []struct {
		o     graph.CompileOptions
		stops []string
	}{
		{graph.CompileOptions{InterruptBefore: []string{"sub.b1"}}, []string{"sub.b1"}},
		{graph.CompileOptions{InterruptAfter: []string{"sub.b1"}}, []string{"sub.b2"}},
		{graph.CompileOptions{InterruptAfter: []string{"sub.b2"}, InterruptBefore: []string{"sub.b2"}}, []string{"sub.b2", "sub"}},
		{graph.CompileOptions{InterruptBefore: []string{"sub"}, InterruptAfter: []string{"sub"}}, []string{"sub.start", "c"}},
	} {
		app := compile(t, g, newLedger(t), c.o)
		out := must(app.Run(t.Context(), "t", work{}))(t)
		for _, want := range c.stops {
			if out.Status != posthouse.StatusInterrupted {
				t.Fatalf("%+v: out.Status %s", c.o, out.Status)
			}
			wantList(t, "next", out.Next, want)
			out = must(app.Resume(t.Context(), "t"))(t)
		}
		wantList(t, "nodes", out.State.Scratch, "a", "b1", "b2", "c")
		if out.Status != posthouse.StatusDone {
			t.Fatalf("%+v: out.Status %s", c.o, out.Status)
		}
	}
}

// testCompileSubGraphWithInterruptionWithDifferentSaver: static interrupts in a
// subgraph that keeps its history apart. The caller stops where it stops, each
// in its own thread; resuming the caller goes on inside, in any process.
func TestInterruptInASubgraphWithAHistoryOfItsOwn(t *testing.T) {
	for _, life := range []graph.Lifetime{graph.PerCall, graph.PerThread} {
		ran := map[string]int{}
		build := func(l *ledger.Ledger) *graph.App[work] {
			sub := graph.New[work]("sub")
			for _, n := range []string{"a", "b", "c"} {
				sub.Node(n, func(_ context.Context, s *work) error {
					ran[n]++
					s.Scratch = append(s.Scratch, n+s.Own)
					return nil
				}, graph.NodeOptions{InterruptBefore: n == "b", InterruptAfter: n == "b"})
			}
			chain(sub, "a", "b", "c")
			g := graph.New[work]("work")
			g.Node("before", visit("before"))
			graph.Subgraph(g, "sub", sub, &graph.SubOptions[work, work]{
				Out:      func(s, in *work) error { s.Scratch = append(s.Scratch, in.Scratch...); return nil },
				Lifetime: life, OwnThread: true,
			})
			g.Node("after", visit("after"))
			chain(g, "before", "sub", "after")
			return compile(t, g, l)
		}
		child := func(l *ledger.Ledger) (name string) {
			t.Helper()
			for info, err := range l.Threads(t.Context(), posthouse.ThreadQuery{}) {
				if must(info, err)(t); info.Thread != "t" {
					name += info.Thread
				}
			}
			return name
		}
		stopped := func(l *ledger.Ledger, out *graph.Result[work], next string) {
			t.Helper()
			if out.Status != posthouse.StatusInterrupted {
				t.Fatalf("output %+v", out)
			}
			wantList(t, "the caller is next at", out.Next, "sub")
			info := must(l.Thread(t.Context(), child(l)))(t)
			b, _ := info.Branch("")
			h := must(l.GetHeader(t.Context(), b.Head))(t)
			if info.Status != posthouse.StatusInterrupted {
				t.Fatalf("the subgraph: %+v", info)
			}
			wantList(t, "the subgraph is next at", h.Next, next)
		}
		restarts(t, func(l *ledger.Ledger) {
			stopped(l, must(build(l).Run(t.Context(), "t", work{}))(t), "b")
		}, func(l *ledger.Ledger) {
			stopped(l, must(build(l).Resume(t.Context(), "t"))(t), "c")
		}, func(l *ledger.Ledger) {
			// Its state is updated where its history is.
			subs := build(l).Programs()[1:]
			sub, ok := subs[0].(interface{ Name() string })
			if !ok || sub.Name() != "sub" {
				t.Fatalf("subs %v", subs)
			}
			alone := compile(t, graphOf(t, "sub", "a", "b", "c"), l)
			must(alone.Update(t.Context(), child(l), func(s *work) { s.Own = "!" }))(t)
			out := must(build(l).Resume(t.Context(), "t"))(t)
			if out.Status != posthouse.StatusDone {
				t.Fatalf("output %+v", out)
			}
			wantList(t, "nodes", out.State.Scratch, "before", "a", "b", "c!", "after")
		})
		if fmt.Sprint(ran) != "map[a:1 b:1 c:1]" {
			t.Fatal(ran)
		}
	}
}

func graphOf(t *testing.T, name string, nodes ...string) *graph.Graph[work] {
	t.Helper()
	g := graph.New[work](name)
	for _, n := range nodes {
		g.Node(n, visit(n), graph.NodeOptions{InterruptBefore: n == "b", InterruptAfter: n == "b"})
	}
	chain(g, nodes...)
	return g
}

// A final answer that is kept in the checkpoint ended the next turn before it
// began. An input begins at Start here, and what is of one turn is a field that
// is not stored, or one that the turn's first node sets.
func TestEachTurnHasAnAnswerOfItsOwn(t *testing.T) {
	type talk struct {
		Messages []string `posthouse:"append"`
		Answer   string
		Draft    string `posthouse:"-"`
	}
	build := func(l *ledger.Ledger) *graph.App[talk] {
		g := graph.New[talk]("talk")
		g.Node("agent", func(_ context.Context, s *talk) error {
			if s.Draft != "" {
				return errBoom
			}
			if last := s.Messages[len(s.Messages)-1]; strings.HasPrefix(last, "tool: ") {
				s.Draft = "answer to " + s.Messages[len(s.Messages)-2] + " with " + last
			}
			return nil
		})
		g.Node("tool", func(_ context.Context, s *talk) error { s.Messages = append(s.Messages, "tool: cold"); return nil })
		g.Node("say", func(_ context.Context, s *talk) error { s.Answer = s.Draft; return nil })
		g.Edge(graph.Start, "agent")
		g.Edge("tool", "agent")
		g.Route("agent", func(s *talk) string {
			if s.Draft == "" {
				return "tool"
			}
			return "say"
		}, "tool", "say")
		g.Edge("say", graph.End)
		return must(g.Compile(l, &graph.CompileOptions{Check: true}))(t)
	}
	ask := func(q string) func(l *ledger.Ledger) {
		return func(l *ledger.Ledger) {
			out := must(build(l).Run(t.Context(), "t", talk{Messages: []string{q}}))(t)
			if want := "answer to " + q + " with tool: cold"; out.State.Answer != want || out.Status != posthouse.StatusDone {
				t.Fatalf("%+v, want %q", out, want)
			}
		}
	}
	restarts(t, ask("weather?"), ask("and tomorrow?"))
}
