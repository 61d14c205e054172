package origins

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// These are the behaviours that LangGraph's users rely on. "here" says where
// Posthouse differs on purpose; docs/coming-from-langgraph.md names what is
// absent: node caches, the long-term Store, Overwrite of append parts by a node.
//
//	Supersteps
//	  writes are seen behind the barrier ........ TestTasksSeeTheStateOfTheLastBarrier
//	  ... applied by the place of their tasks ... TestWritesAreAppliedInTheirOrder, graph.TestMergeRules
//	  recursion limit ........................... graph.TestRecursionLimit
//	  new input discards pending tasks .......... TestNewInputDiscardsPendingTasks
//	Channels
//	  LastValue: two writers in one step ........ graph.TestTwoReplacesNameBothNodes
//	  AnyValue .................................. TestTwoWritersOfTheSameValue
//	  reducers; Topic is append ................. graph.TestMergeRules, graph.TestMergeFunctionThatFails
//	  NamedBarrierValue ......................... graph.TestJoinsOfBranchesOfAnyLength, graph.TestJoinInALoop
//	  UntrackedValue, EphemeralValue ............ graph.TestFieldsThatAreNotStored
//	  DeltaChannel (here each part) ............. graph.TestAppendIsStoredByItsElements, pains.TestPain01StorageGrowsWithWhatChanged
//	  defer ..................................... TestDeferredNodeWaitsForTheLongestBranch
//	Send and Command
//	  Send: an input of its own ................. graph.TestSend, TestNothingToSendAndOnePlaceTwice
//	  Send with a timeout ....................... graph.TestTimeoutOfASend
//	  Command: update and goto .................. TestCommandUpdatesAndLeadsOn, graph.TestCommandLeadsAndSends
//	  Command of a subgraph to its parent ....... graph.TestSubgraphEnds
//	  Command with resume (here a decision) ..... TestAnAnswerIsOfOneQuestion
//	Interrupts
//	  the node runs from its start .............. TestNodeRunsFromItsStartForEachAnswer
//	  n-th question, n-th answer ................ graph.TestQuestionsInARow, gate.TestSequentialQuestions
//	  ids (here each question has its own) ...... TestNodeRunsFromItsStartForEachAnswer, graph.TestANewQuestionKeepsTheOpenOnes
//	  several pending, resumed by id ............ TestAnAnswerIsOfOneQuestion, graph.TestSeveralGates, graph.TestQuestionsBesideEachOther
//	  None as an answer (here it is one) ........ gate.TestNullIsAnAnswer
//	  siblings that finished keep their writes .. graph.TestFinishedTasksNeverRunAgain
//	  interrupt before, after, all .............. graph.TestInterruptBefore, graph.TestInterruptAfter, graph.TestInterruptEverywhere
//	  ... of one invocation ..................... graph.TestInterruptsOfOneCall, graph.TestInterruptsOfOneCallAndSubgraphs
//	Time travel
//	  replay runs what was pending again ........ graph.TestReplay, TestHistoryTellsBranchesApart
//	  ... and asks again ........................ graph.TestReplayAsksAgain
//	  fork by update_state, then invoke ......... graph.TestUpdateOfThePast, graph.TestFork
//	  subgraphs as they were then ............... TestReplayFindsWhatASubgraphKeptThen, graph.TestForkInsideASubgraph
//	update_state, bulk_update_state
//	  as a node, by its edges ................... graph.TestAsNodeAndGoto, graph.TestUpdateOfTheHead
//	  as one task ............................... graph.TestUpdateAsOneTask
//	  several supersteps, merged by reducers .... graph.TestBulkUpdate
//	  as_node left out (here it is not guessed) . TestUpdateIsNeverOfAGuessedNode
//	  END, __input__, __copy__ .................. graph.TestAsNodeAndGoto, graph.TestCopyAndCompare
//	get_state, get_state_history
//	  values, next, config, parent, created_at .. graph.TestRunMakesOneCheckpointPerNode, graph.TestStateOptions
//	  tasks ..................................... TestTasksOfAStepAreTold, graph.TestStateOfANodeAmongOthers
//	  subgraphs ................................. graph.TestWithin
//	  newest first, across branches ............. TestHistoryTellsBranchesApart
//	  filter, before, limit ..................... graph.TestHistoryFilters, graph.TestHistoryPages
//	Retry
//	  initial, factor, max, attempts, jitter .... engine.TestRetryDelays, step.TestRetryWithinItsBudget
//	  retry_on, and what is not worth it ........ engine.TestRetryWants, TestRetryOnResume
//	  across a restart (not there) .............. graph.TestRetryIsParkedOverWhatWasBeforeIt
//	Timeouts
//	  run and idle .............................. graph.TestTimeouts, graph.TestBadNodes
//	  heartbeat; what counts as one ............. TestHeartbeatRefreshesTheIdleTimeout, graph.TestTokensAreHeartbeats
//	error_handler
//	  runs in the node's place .................. graph.TestOnErrorRunsInPlaceOfTheNode, TestHandlerBesideSiblings
//	  after a crash the handler, not the node ... TestErrorHandlerAfterACrash, graph.TestOnErrorAfterACrashInTheHandler
//	Failure
//	  finished siblings are applied on resume ... graph.TestFinishedTasksNeverRunAgain
//	  siblings are cancelled (here if asked) .... TestFailFastEndsSiblings, graph.TestFailFast
//	Drain ....................................... graph.TestHandleDrains, graph.TestDrain
//	Streaming
//	  values, updates ........................... graph.TestStream, graph.TestStreamUpdates
//	  messages, custom .......................... graph.TestStreamMessages, graph.TestStreamCustomAndReplay
//	  checkpoints, tasks, debug ................. graph.TestStreamCheckpoints, graph.TestStreamTasks, graph.TestStreamDebugIsTasksAndCheckpoints
//	  subgraphs ................................. graph.TestStreamOfASubgraph, graph.TestOwnThreadsAreStreamed
//	Functional API
//	  entrypoint runs from its top .............. TestEntrypointReplaysItsTasksByCallOrder
//	  tasks replay by call order ................ TestEntrypointReplaysItsTasksByCallOrder, flow.TestKilledFlowRunsNoRecordedStepAgain
//	  tasks beside each other ................... step.TestGroupRunsAgainOnlyWhatFailed, flow.TestParallelStepsAskAtOnce
//	  previous .................................. flow.TestPreviousOutput
//	  final(value, save) ........................ TestFinalSavesMoreThanItReturns
//	Durability: sync, async, exit ............... graph.TestSnapshotsAndDurability
//	What LangGraph4j adds
//	  interrupt before edges .................... graph.TestInterruptBeforeEdges, graph.TestInterruptBeforeEdgesOfSeveral

// Supersteps: tasks of one step see the state of the last barrier, not each
// other's writes; the next step sees all of them.
func TestTasksSeeTheStateOfTheLastBarrier(t *testing.T) {
	g := graph.New[work]("work")
	wrote := make(chan struct{})
	seen := func(name string, s *work) { s.Scratch = append(s.Scratch, fmt.Sprintf("%s saw %d", name, s.Tokens)) }
	g.Node("b", func(_ context.Context, s *work) error {
		defer close(wrote)
		seen("b", s)
		s.Tokens += 10
		return nil
	})
	g.Node("c", func(_ context.Context, s *work) error { <-wrote; seen("c", s); s.Tokens++; return nil })
	g.Node("d", func(_ context.Context, s *work) error { seen("d", s); return nil })
	g.Edge(graph.Start, "b")
	g.Edge(graph.Start, "c")
	g.Join("d", "b", "c")
	g.Edge("d", graph.End)
	out := must(compile(t, g, newLedger(t)).Run(t.Context(), "t", work{Tokens: 100}))(t)
	wantList(t, "seen", out.State.Scratch, "b saw 100", "c saw 100", "d saw 111")
}

// Two edges into a node from branches of unlike length run it twice; deferred
// it runs once, when nothing else is left, also if the run stopped in between.
func TestDeferredNodeWaitsForTheLongestBranch(t *testing.T) {
	for deferred, sums := range map[bool]int{false: 2, true: 1} {
		l := newLedger(t)
		build := func(o ...graph.CompileOptions) *graph.App[work] {
			g := graph.New[work]("work")
			for _, n := range []string{"short", "long", "longer"} {
				g.Node(n, visit(n))
			}
			g.Node("sum", func(ctx context.Context, s *work) error {
				s.Tokens += len(s.Scratch)
				return visit("sum")(ctx, s)
			}, graph.NodeOptions{Defer: deferred})
			g.Edge(graph.Start, "short")
			g.Edge(graph.Start, "long")
			g.Edge("long", "longer")
			g.Edge("short", "sum")
			g.Edge("longer", "sum")
			g.Edge("sum", graph.End)
			return compile(t, g, l, o...)
		}
		must(build(graph.CompileOptions{InterruptAfter: []string{"long"}}).Run(t.Context(), "t", work{}))(t)
		s := must(build().Resume(t.Context(), "t"))(t).State
		ran := 0
		for _, n := range s.Scratch {
			if n == "sum" {
				ran++
			}
		}
		if ran != sums || s.Scratch[len(s.Scratch)-1] != "sum" || deferred && s.Tokens != 3 {
			t.Errorf("deferred %v: %+v", deferred, s)
		}
	}
}

// Command: what the node changed and where it leads are one checkpoint; its own
// edge does not run beside it.
func TestCommandUpdatesAndLeadsOn(t *testing.T) {
	g := graph.New[work]("work")
	g.Command("a", func(_ context.Context, s *work) (graph.Command, error) {
		s.Own = "changed"
		return graph.Goto("c"), nil
	}, graph.NodeOptions{InterruptAfter: true})
	g.Node("b", visit("b"))
	g.Node("c", visit("c"))
	chain(g, "a", "b")
	g.Edge("c", graph.End)
	app := compile(t, g, newLedger(t))
	must(app.Run(t.Context(), "t", work{}))(t)
	if s := head(t, app); s.State.Own != "changed" || !slices.Equal(s.Next, []string{"c"}) {
		t.Fatalf("%+v", s)
	}
	wantList(t, "nodes", must(app.Resume(t.Context(), "t"))(t).State.Scratch, "c")
}

// Interrupts: the node runs from its start for each answer, what it recorded
// does not, each question has an id of its own, and null is an answer.
func TestNodeRunsFromItsStartForEachAnswer(t *testing.T) {
	l, bodies, paid := newLedger(t), 0, 0
	g := graph.New[work]("work")
	g.Node("ask", func(ctx context.Context, s *work) error {
		bodies++
		if _, err := step.Do(ctx, "pay", func(context.Context) (int, error) { paid++; return paid, nil }); err != nil {
			return err
		}
		for range 2 {
			a, err := gate.Ask[*string](ctx, gate.Question{Name: "q"})
			if err != nil {
				return err
			}
			s.Scratch = append(s.Scratch, string(a.Raw))
		}
		return nil
	})
	chain(g, "ask")
	app := compile(t, g, l)
	out := must(app.Run(t.Context(), "t", work{}))(t)
	ids := map[posthouse.ID]bool{}
	for i, answer := range []string{`"first"`, `null`} {
		id := out.Waiting[0].ID
		ids[id] = true
		must(l.Decide(t.Context(), id, posthouse.Decision{Verdict: posthouse.Respond, By: []string{"alice", "bob"}[i], Value: []byte(answer)}))(t)
		out = must(app.Resume(t.Context(), "t"))(t)
	}
	wantList(t, "answers", out.State.Scratch, `"first"`, "null")
	if bodies != 3 || paid != 1 || len(ids) != 2 {
		t.Fatalf("%d bodies, paid %d times, ids %v", bodies, paid, ids)
	}
}

// "Ambiguous update, specify as_node" there; here what is next stays as it is.
func TestUpdateIsNeverOfAGuessedNode(t *testing.T) {
	g := graph.New[work]("work")
	for _, n := range []string{"a", "b", "c", "d"} {
		g.Node(n, visit(n))
	}
	g.Edge(graph.Start, "a")
	g.Edge(graph.Start, "b")
	g.Edge("a", "c")
	g.Edge("b", "d")
	g.Edge("c", graph.End)
	g.Edge("d", graph.End)
	app := compile(t, g, newLedger(t), graph.CompileOptions{InterruptBefore: []string{"*"}})
	must(app.Run(t.Context(), "t", work{}))(t)
	must(app.Resume(t.Context(), "t"))(t) // a+b completed
	wantList(t, "before", head(t, app).Next, "c", "d")
	s := must(app.Update(t.Context(), "t", func(s *work) { s.Own = "edited" }))(t)
	wantList(t, "next", s.Next, "c", "d")
	_, err := app.Update(t.Context(), "t", func(*work) {}, graph.UpdateOptions{AsNode: "nobody"})
	wantCode(t, err, posthouse.ErrInvalid)
	done := must(app.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", done.State.Scratch, "a", "b", "c", "d")
	if done.State.Own != "edited" || done.Status != posthouse.StatusDone {
		t.Fatalf("done %+v", done)
	}
}

// New input while tasks are pending discards those tasks, and begins at Start
// with the state as it stands.
func TestNewInputDiscardsPendingTasks(t *testing.T) {
	ran := map[string]int{}
	g := graph.New[work]("work")
	for _, n := range []string{"a", "b"} {
		g.Node(n, func(_ context.Context, s *work) error { ran[n]++; s.Scratch = append(s.Scratch, n+s.Own); return nil })
	}
	chain(g, "a", "b")
	l := newLedger(t)
	must(compile(t, g, l, graph.CompileOptions{InterruptAfter: []string{"a"}}).Run(t.Context(), "t", work{Own: "1"}))(t)
	out := must(compile(t, g, l).Run(t.Context(), "t", work{Own: "2"}))(t)
	wantList(t, "nodes", out.State.Scratch, "a1", "a2", "b2")
	if ran["b"] != 1 {
		t.Fatal(ran)
	}
}

// Replay without new values runs what was pending there again, on a branch: the
// history of both is told apart by its branch, newest first.
func TestHistoryTellsBranchesApart(t *testing.T) {
	app := compile(t, line("a", "b"), newLedger(t))
	must(app.Run(t.Context(), "t", work{}))(t)
	must(app.Replay(t.Context(), head(t, app, graph.StateOptions{Node: "a"}).ID, graph.RunOptions{Branch: "again"}))(t)
	var told []string
	for s, err := range app.History(t.Context(), "t") {
		must(s, err)(t)
		told = append(told, s.Branch+" "+s.Kind+" "+s.Node)
	}
	wantList(t, "history", told[:2], "again node b", "again fork a")
	wantList(t, "main", told[2:], "main node b", "main node a", "main input ")
}

// Heartbeat keeps a node alive beyond its idle time; without, it times out.
func TestHeartbeatRefreshesTheIdleTimeout(t *testing.T) {
	for _, beats := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := must(ledger.Open(memstore.New(), nil))(t)
			defer l.Close()
			g := graph.New[work]("work")
			g.Node("a", func(ctx context.Context, _ *work) error {
				for range 5 {
					select {
					case <-time.After(40 * time.Second):
					case <-ctx.Done():
						return ctx.Err()
					}
					if beats {
						graph.Heartbeat(ctx)
					}
				}
				return nil
			}, graph.NodeOptions{IdleTimeout: time.Minute})
			chain(g, "a")
			_, err := compile(t, g, l).Run(t.Context(), "t", work{})
			var late *runs.TimeoutError
			if errors.As(err, &late) == beats || beats != (err == nil) {
				t.Errorf("with heartbeats %v: %v", beats, err)
			}
		})
	}
}

// After a crash in an error handler the handler runs again with the same error,
// not the node; after it completed neither does.
func TestErrorHandlerAfterACrash(t *testing.T) {
	ran, told := map[string]int{}, []string{}
	crash, stop := context.WithCancel(t.Context())
	build := func(l *ledger.Ledger) *graph.App[work] {
		g := graph.New[work]("work")
		g.Node("a", func(_ context.Context, s *work) error {
			ran["a"]++
			s.Scratch = append(s.Scratch, "half done")
			return errBoom
		})
		g.OnError("a", func(ctx context.Context, s *work, err error) (graph.Command, error) {
			told = append(told, err.Error())
			if ran["handler"]++; ran["handler"] == 1 {
				stop()
				return graph.Command{}, ctx.Err()
			}
			s.Scratch = append(s.Scratch, "handled")
			return graph.Goto("b"), nil
		})
		g.Node("b", func(_ context.Context, s *work) error {
			if ran["b"]++; ran["b"] == 1 {
				return errBoom
			}
			s.Scratch = append(s.Scratch, "b")
			return nil
		})
		chain(g, "a", "b")
		return compile(t, g, l)
	}
	restarts(t, func(l *ledger.Ledger) {
		_, err := build(l).Run(crash, "t", work{})
		wantCode(t, err, context.Canceled)
	}, func(l *ledger.Ledger) {
		_, err := build(l).Resume(t.Context(), "t")
		wantCode(t, err, errBoom) // of b
	}, func(l *ledger.Ledger) {
		wantList(t, "nodes", must(build(l).Resume(t.Context(), "t"))(t).State.Scratch, "handled", "b")
	})
	if fmt.Sprint(ran) != "map[a:1 b:2 handler:2]" || len(told) != 2 || told[0] != told[1] {
		t.Fatalf("%v, told %q", ran, told)
	}
}

// Functional API: the entrypoint runs from its top when it is resumed, and its
// tasks replay by name and call order.
func TestEntrypointReplaysItsTasksByCallOrder(t *testing.T) {
	bodies, ran := 0, []string{}
	f := flow.New("entry", func(ctx context.Context, in string) (string, error) {
		bodies++
		out := ""
		for i := range 3 {
			v, err := step.Do(ctx, "task", func(context.Context) (string, error) {
				ran = append(ran, fmt.Sprint(in, i))
				return fmt.Sprint(in, i), nil
			})
			if err != nil {
				return "", err
			}
			out += v
			if i == 1 {
				if _, err := gate.Ask[struct{}](ctx, gate.Question{Name: "go on"}); err != nil {
					return "", err
				}
			}
		}
		return out, nil
	})
	restarts(t, func(l *ledger.Ledger) {
		res := must(must(f.Open(l, nil))(t).Run(t.Context(), "t", "x"))(t)
		decide(t, l, res.Waiting[0].ID, posthouse.Approve)
	}, func(l *ledger.Ledger) {
		if res := must(must(f.Open(l, nil))(t).Resume(t.Context(), "t"))(t); res.Output != "x0x1x2" {
			t.Fatal(res.Output)
		}
	})
	wantList(t, "tasks", ran, "x0", "x1", "x2")
	if bodies != 2 {
		t.Fatalf("%d bodies", bodies)
	}
}
