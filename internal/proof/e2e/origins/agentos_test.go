package origins

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// Twins of AgentOS, by the names of its own tests; "here" says where Posthouse
// differs on purpose.
//
//	checkpoint-store
//	  save and load by run ...................... ledger/latest by thread, branch, coordination and node
//	  get by exact id, load unknown null ........ ledger/a saved checkpoint is got by its id; ledger/an unknown id is not found
//	  load with nodeId .......................... ledger/latest by thread, branch, coordination and node
//	  latest = highest timestamp (here the head)  TestLatestOfTiesInOneMillisecond
//	  list by graph and run, limit, newest first  ledger/lists filter and order; list/each filter
//	  delete, delete unknown .................... ledger/delete refuses, orphans or takes the subtree
//	  get shares references (wrong there) ....... ledger/what is passed in and handed out is copied
//	  fork creates a new run, queryable ......... TestForkPatchOfEachPartition
//	  fork with patchState ...................... TestForkPatchOfEachPartition
//	  fork throws "not found" ................... TestForkPatchOfEachPartition
//	graph-runtime and integration
//	  checkpoint after every node, every_node ... graph.TestRunMakesOneCheckpointPerNode, graph.TestSnapshotsAndDurability
//	  resumes a run from a forked checkpoint .... TestResumeFromAForkedCheckpoint
//	  accepts an exact checkpoint id ............ TestResumeFromAnExactCheckpoint
//	  streams resumed events forward ............ TestResumedStreamTellsWhatFollows
//	  effect classes, replay of success only .... step.TestEffects, TestFailedExternalToolRunsAgain
//	  halts on failure, emits error/interrupt ... graph.TestResumeAfterAFailedNode, graph.TestStreamOfAFailure
//	  persists skipped conditional branches ..... TestResumeDoesNotRunTheBypassedArm
//	  retry policy when resuming, retryOn ....... TestRetryOnResume
//	  fork with patched state and resume ........ TestResumeFromAForkedCheckpoint
//	  resume without a checkpoint ............... graph.TestResumeOfAnUnknownThread
//	  empty graph ............................... graph.TestRunWithoutNodes
//	  run_start first, run_end last ............. graph.TestStream, graph.TestStreamOfAnInterrupt
//	  checkpoint_saved present .................. graph.TestStreamCheckpoints
//	humanNode-options
//	  default interrupts ........................ graph.TestAskParksAndResumes
//	  autoAccept, autoReject bool and string .... gate.TestAutomaticDecisions
//	  judge approves; below threshold falls through  gate.TestJudgeFallsThroughToPeopleAndIsPaidOnce
//	  onTimeout accept, reject .................. gate.TestOnTimeout
//	state-manager
//	  the reducers, base counted once ........... graph.TestMergeRules, graph.TestSumThatDoesNotFit
//	  first write always sets ................... TestFirstWriteOfAMaximumSets
//	  custom reducer ............................ graph.TestMergeRules, graph.TestMergeFunctionThatFails
//	graph-event-emitter
//	  a throwing listener harms nobody .......... ledger/a panicking observer harms nothing
//	  all events in order ....................... ledger/watch tells everything in order
//	missing there
//	  resume after a failed external node ....... TestFailedExternalToolRunsAgain
//	  decision at a human node with two arms .... TestResumeDoesNotRunTheBypassedArm
//	  artifacts after parallel .................. TestArtifactsAfterParallelAndResume
//	  ties in one millisecond, large history .... TestLatestOfTiesInOneMillisecond
//	  fork provenance ........................... TestForkPatchOfEachPartition; ledger/a fork is a child with its source recorded
//
// Names that begin with ledger are cases of storetest, which runs them on every store.

// "latest = highest timestamp": with a clock that stands still too, and with a
// large history.
func TestLatestOfTiesInOneMillisecond(t *testing.T) {
	const rounds = 1000
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := open(t, memstore.New(), func() time.Time { return now })
	g := graph.New[work]("work")
	g.Node("a", func(_ context.Context, s *work) error { s.Tokens++; return nil })
	g.Node("b", func(_ context.Context, s *work) error { s.Best = s.Tokens; return nil })
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Route("b", func(s *work) string {
		if s.Tokens < rounds {
			return "a"
		}
		return graph.End
	}, "a", graph.End)
	app := compile(t, g, l, graph.CompileOptions{RecursionLimit: 3 * rounds})
	must(app.Run(t.Context(), "t", work{}))(t)
	if s := head(t, app); s.State.Best != rounds || s.Node != "b" {
		t.Fatalf("latest %+v", s)
	}
	if s := head(t, app, graph.StateOptions{Node: "a"}); s.State.Tokens != rounds || s.State.Best != rounds-1 {
		t.Fatalf("latest of a %+v", s)
	}
	var nodes []string
	var last uint64
	for h, err := range l.List(t.Context(), posthouse.Query{Graph: "work", Thread: "t", Descending: true}) {
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, h.Node)
		if last != 0 && h.Step != last-1 || !h.CreatedAt.Equal(now) {
			t.Fatalf("step %d behind %d, at %v", h.Step, last, h.CreatedAt)
		}
		last = h.Step
	}
	if len(nodes) != 2*rounds+1 {
		t.Fatalf("%d checkpoints", len(nodes))
	}
	wantList(t, "newest", nodes[:3], "b", "a", "b")
}

// "fork with patchState applies patches and preserves unpatched fields".
func TestForkPatchOfEachPartition(t *testing.T) {
	l := newLedger(t)
	g := line("a", "b")
	app := compile(t, g, l)
	must(app.Run(t.Context(), "t", work{
		Input: input{"tea", "en"}, Artifacts: map[string]string{"plan": "old", "draft": "old"}, Tokens: 10, Own: "kept",
	}))(t)
	source := head(t, app, graph.StateOptions{Node: "a"})
	before := must(l.Get(t.Context(), source.ID))(t)

	fork := must(l.Fork(t.Context(), source.ID, &ledger.ForkOptions{
		Thread: "fork",
		Merge: posthouse.State{
			"Input":     must(posthouse.Encode(nil, map[string]string{"prompt": "coffee"}))(t),
			"Artifacts": must(posthouse.Encode(nil, map[string]string{"plan": "new"}))(t),
		},
		Patch: posthouse.State{"Tokens": must(posthouse.Encode(nil, 77))(t)},
	}))(t)
	if fork.Thread != "fork" || fork.ID == source.ID || fork.Source == nil || fork.Source.ID != source.ID {
		t.Fatalf("fork %+v", fork.Header)
	}
	s := must(app.State(t.Context(), "fork"))(t)
	want := work{
		Input: input{"coffee", "en"}, Scratch: []string{"a"}, Artifacts: map[string]string{"plan": "new", "draft": "old"}, Tokens: 77, Own: "kept",
	}
	if fmt.Sprint(s.State) != fmt.Sprint(want) {
		t.Fatalf("fork %+v\nwant %+v", s.State, want)
	}
	wantList(t, "next", s.Next, "b")
	if after := must(l.Get(t.Context(), source.ID))(t); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Fatalf("the source changed:\n%+v\n%+v", after, before)
	}
	_, err := l.Fork(t.Context(), "nobody", nil)
	wantCode(t, err, posthouse.ErrNotFound)
}

// "resumes a run from a forked checkpoint", "fork with patched state and resume
// produces output": in another process, without doing again what was paid.
func TestResumeFromAForkedCheckpoint(t *testing.T) {
	paid := 0
	build := func(l *ledger.Ledger) *graph.App[work] {
		g := graph.New[work]("work")
		g.Node("plan", func(ctx context.Context, s *work) (err error) {
			s.Own, err = step.Do(ctx, "llm", func(context.Context) (string, error) { paid++; return "plan " + s.Input.Prompt, nil })
			return err
		}, graph.NodeOptions{Effect: posthouse.EffectExternal})
		g.Node("write", func(_ context.Context, s *work) error {
			s.Scratch = append(s.Scratch, s.Own, "write "+s.Input.Prompt)
			return nil
		})
		chain(g, "plan", "write")
		return compile(t, g, l)
	}
	var fork *graph.Snapshot[work]
	restarts(t, func(l *ledger.Ledger) {
		app := build(l)
		must(app.Run(t.Context(), "t", work{Input: input{Prompt: "tea"}}))(t)
		at := head(t, app, graph.StateOptions{Node: "plan"})
		fork = must(app.Fork(t.Context(), at.ID, func(s *work) { s.Input.Prompt = "coffee" }, graph.ForkOptions{Thread: "fork"}))(t)
	}, func(l *ledger.Ledger) {
		app := build(l)
		out := must(app.Resume(t.Context(), fork.Thread))(t)
		wantList(t, "fork", out.State.Scratch, "plan tea", "write coffee")
		wantList(t, "source", head(t, app).State.Scratch, "plan tea", "write tea")
	})
	if paid != 1 {
		t.Fatalf("paid %d times", paid)
	}
}

// "accepts an exact checkpoint id in resume()": it goes on from there, not from
// the newest.
func TestResumeFromAnExactCheckpoint(t *testing.T) {
	ran := map[string]int{}
	g := graph.New[work]("work")
	for _, n := range []string{"a", "b", "c"} {
		g.Node(n, func(_ context.Context, s *work) error { ran[n]++; s.Scratch = append(s.Scratch, n); return nil })
	}
	chain(g, "a", "b", "c")
	app := compile(t, g, newLedger(t))
	must(app.Run(t.Context(), "t", work{}))(t)
	out := must(app.Replay(t.Context(), head(t, app, graph.StateOptions{Node: "b"}).ID))(t)
	wantList(t, "nodes", out.State.Scratch, "a", "b", "c")
	if fmt.Sprint(ran) != "map[a:1 b:1 c:2]" {
		t.Fatal(ran)
	}
}

// "streams resumed events from the checkpoint forward".
func TestResumedStreamTellsWhatFollows(t *testing.T) {
	restart := func(l *ledger.Ledger, o graph.CompileOptions) *graph.App[work] {
		return compile(t, line("a", "b", "c"), l, o)
	}
	restarts(t, func(l *ledger.Ledger) {
		must(restart(l, graph.CompileOptions{InterruptAfter: []string{"a"}}).Run(t.Context(), "t", work{}))(t)
	}, func(l *ledger.Ledger) {
		var told []string
		for e, err := range restart(l, graph.CompileOptions{}).ResumeStream(t.Context(), "t") {
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, strings.TrimSpace(string(e.Kind)+" "+e.Node+" "+strings.Join(e.State.Scratch, "")))
		}
		wantList(t, "events", told, "node b ab", "node c abc", "end c abc")
	})
}

// "persists skipped conditional branches so resume does not execute the
// bypassed arm": whether the run stops at an interrupt, a failure or a question.
func TestResumeDoesNotRunTheBypassedArm(t *testing.T) {
	for _, how := range []string{"interrupt", "failure", "question"} {
		t.Run(how, func(t *testing.T) {
			l, broken := newLedger(t), how == "failure"
			g := graph.New[work]("work")
			g.Node("choose", func(ctx context.Context, s *work) error {
				s.Own = "yes"
				if how != "question" {
					return nil
				}
				a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "which"})
				if err == nil && !a.Approved() {
					s.Own = "no"
				}
				return err
			})
			arm := func(name string) node {
				return func(_ context.Context, s *work) error {
					if broken {
						return errBoom
					}
					s.Scratch = append(s.Scratch, name)
					return nil
				}
			}
			g.Node("yes", arm("yes"))
			g.Node("no", arm("no"))
			g.Node("join", visit("join"))
			g.Edge(graph.Start, "choose")
			g.Route("choose", func(s *work) string { return s.Own }, "yes", "no")
			g.Edge("yes", "join")
			g.Edge("no", "join")
			g.Edge("join", graph.End)
			o := graph.CompileOptions{}
			if how == "interrupt" {
				o.InterruptAfter = []string{"choose"}
			}
			app, want := compile(t, g, l, o), "yes"
			out, err := app.Run(t.Context(), "t", work{})
			switch how {
			case "failure":
				wantCode(t, err, errBoom)
				broken = false
			case "question":
				decide(t, l, out.Waiting[0].ID, posthouse.Reject)
				want = "no"
			}
			wantList(t, "nodes", must(app.Resume(t.Context(), "t"))(t).State.Scratch, want, "join")
		})
	}
}

// "applies retry policy when resuming", "retryOn mismatch does not retry". A
// budget that is spent stays spent: resumed once more, the node has one try.
func TestRetryOnResume(t *testing.T) {
	transient := errors.New("transient")
	for name, c := range map[string]struct {
		err   error
		tries int
	}{"match": {transient, 3}, "mismatch": {errBoom, 1}} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			g := graph.New[work]("work")
			g.Node("a", func(context.Context, *work) error { tries++; return c.err }, graph.NodeOptions{
				InterruptBefore: true,
				Retry:           posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}, RetryOn: func(err error) bool { return errors.Is(err, transient) },
			})
			chain(g, "a")
			app := compile(t, g, newLedger(t))
			if out := must(app.Run(t.Context(), "t", work{}))(t); out.Status != posthouse.StatusInterrupted || tries != 0 {
				t.Fatalf("%d attempts, %+v", tries, out)
			}
			for _, want := range []int{c.tries, c.tries + 1} {
				_, err := app.Resume(t.Context(), "t")
				if wantCode(t, err, c.err); tries != want {
					t.Fatalf("%d attempts, want %d", tries, want)
				}
			}
		})
	}
}

// Missing there: a failed external tool counts as done when the run is resumed.
// Here it runs again, and the one that succeeded does not.
func TestFailedExternalToolRunsAgain(t *testing.T) {
	ran, broken := map[string]int{}, true
	tool := func(ctx context.Context, name string, fails *bool) (string, error) {
		return step.DoWith(ctx, name, step.Options{Effect: posthouse.EffectExternal}, func(context.Context) (string, error) {
			if ran[name]++; fails != nil && *fails {
				return "", errBoom
			}
			return name, nil
		})
	}
	g := graph.New[work]("work")
	g.Node("tools", func(ctx context.Context, s *work) error {
		a, err := tool(ctx, "book", nil)
		if err != nil {
			return err
		}
		b, err := tool(ctx, "pay", &broken)
		s.Scratch = append(s.Scratch, a, b)
		return err
	}, graph.NodeOptions{Effect: posthouse.EffectExternal})
	chain(g, "tools")
	app := compile(t, g, newLedger(t))
	_, err := app.Run(t.Context(), "t", work{})
	wantCode(t, err, errBoom)
	broken = false
	wantList(t, "results", must(app.Resume(t.Context(), "t"))(t).State.Scratch, "book", "pay")
	if fmt.Sprint(ran) != "map[book:1 pay:2]" {
		t.Fatal(ran)
	}
}

// Missing there: artifacts of parallel branches survive the merge, and resumed
// runs keep their checkpoints like any run.
func TestArtifactsAfterParallelAndResume(t *testing.T) {
	g := graph.New[work]("work")
	for _, n := range []string{"s", "p1", "p2", "j"} {
		g.Node(n, func(_ context.Context, s *work) error {
			if s.Artifacts == nil {
				s.Artifacts = map[string]string{}
			}
			s.Artifacts[n] = n
			s.Scratch = append(s.Scratch, n)
			s.Tokens++
			return nil
		})
	}
	g.Edge(graph.Start, "s")
	g.Edge("s", "p1")
	g.Edge("s", "p2")
	g.Join("j", "p1", "p2")
	g.Edge("j", graph.End)
	app := compile(t, g, newLedger(t), graph.CompileOptions{InterruptAfter: []string{"s"}})
	must(app.Run(t.Context(), "t", work{Scratch: []string{"base"}, Tokens: 100}))(t)
	out := must(app.Resume(t.Context(), "t"))(t)
	wantList(t, "scratch", out.State.Scratch, "base", "s", "p1", "p2", "j")
	if fmt.Sprint(out.State.Artifacts) != "map[j:j p1:p1 p2:p2 s:s]" || out.State.Tokens != 104 {
		t.Fatalf("out.State %+v", out.State)
	}
	var made []string
	for s, err := range app.History(t.Context(), "t", graph.HistoryOptions{Kind: posthouse.KindNode, Oldest: true}) {
		must(s, err)(t)
		made = append(made, s.Node)
	}
	wantList(t, "checkpoints", made, "s", "p1+p2", "j")
}

// state-manager: "first write always sets", also below zero with max.
func TestFirstWriteOfAMaximumSets(t *testing.T) {
	g := graph.New[work]("work")
	for n, v := range map[string]int{"a": -5, "b": -3} {
		g.Node(n, func(_ context.Context, s *work) error { s.Best = v; return nil })
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	if out := must(compile(t, g, newLedger(t)).Run(t.Context(), "t", work{}))(t); out.State.Best != -3 {
		t.Fatal(out.State.Best)
	}
}
