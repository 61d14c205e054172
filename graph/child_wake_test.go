package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// storesOf are the stores that a rule is tried on.
func storesOf(t *testing.T, test func(t *testing.T, s posthouse.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, memstore.New()) })
	t.Run("sqlite", func(t *testing.T) {
		s := must.Get(sqlitestore.Open(t.Context(), t.TempDir()+"/p.db", nil))(t)
		t.Cleanup(func() { s.Close() })
		test(t, s)
	})
}

// gatesOf lists the questions to people, by name.
func gatesOf(t *testing.T, l *ledger.Ledger) (all []*posthouse.Gate) {
	t.Helper()
	for g, err := range l.Gates(t.Context(), ledger.GateQuery{}) {
		must.Do(t, err)
		all = append(all, g)
	}
	return all
}

// Whatever ends the thread of a subgraph wakes its caller, without a run of its program: also where
// the process that ended it was lost before it had.
func TestWhateverEndsAThreadWakesItsCaller(t *testing.T) {
	ends := map[string]func(ctx context.Context, l *ledger.Ledger, child string) error{
		"resumed alone": func(ctx context.Context, l *ledger.Ledger, child string) error {
			sub := compile(t, oneInner("asks", func(ctx context.Context, s *innerState) error { _, err := ask(ctx, "ok"); return err }), l, nil)
			_, err := sub.Resume(ctx, child)
			return err
		},
		"failed": func(ctx context.Context, l *ledger.Ledger, child string) error {
			sub := compile(t, oneInner("asks", func(ctx context.Context, s *innerState) error { return errFails }), l, nil)
			if _, err := sub.Resume(ctx, child); !errors.Is(err, errFails) {
				return fmt.Errorf("it did not fail: %w", err)
			}
			return nil
		},
		"cancelled": func(ctx context.Context, l *ledger.Ledger, child string) error {
			_, err := l.Cancel(ctx, child, nil)
			return err
		},
		"released": func(ctx context.Context, l *ledger.Ledger, child string) error {
			_, err := l.Release(ctx, child, nil)
			return err
		},
		"deleted": func(ctx context.Context, l *ledger.Ledger, child string) error {
			_, err := retain.DeleteThread(ctx, l, child, nil)
			return err
		},
	}
	asks := oneInner("asks", func(ctx context.Context, s *innerState) error { _, err := ask(ctx, "ok"); return err })
	for name, end := range ends {
		for _, how := range []string{"", ", by another process", ", process lost"} {
			t.Run(name+how, func(t *testing.T) {
				lost := how == ", process lost"
				storesOf(t, func(t *testing.T, s posthouse.Store) {
					ctx := t.Context()
					store := &barred{Store: s}
					l := open(t, store, nil)
					ender := l
					if how == ", by another process" {
						ender = open(t, store, nil)
					}
					app := owning(t, l, map[string]*graph.Graph[innerState]{"asks": asks})
					out := must.Get(app.Run(ctx, "t", outerState{}))(t)
					child := must.Get(graph.ThreadWithin(ctx, l, out.Checkpoint, "asks"))(t)
					if name == "resumed alone" || name == "failed" {
						decide(t, l, gatesOf(t, l)[0].ID, posthouse.Approve)
					}
					if lost {
						store.thread = "t" // the process ends before it can write there
					}
					must.Do(t, end(ctx, ender, child))
					store.thread = ""
					if lost {
						r := must.Get(runner.New(open(t, s, nil), nil))(t)
						must.Do(t, r.Settle(ctx)) // a runner of no program at all
					}
					info := must.Get(l.Thread(ctx, "t"))(t)
					if slices.ContainsFunc(info.Waiting, func(w posthouse.WaitingGate) bool { return w.Kind == posthouse.GateThread }) || info.Status == posthouse.StatusWaiting {
						t.Fatalf("the caller still waits: %s %+v", info.Status, info.Waiting)
					}
					res, err := app.Resume(ctx, "t")
					switch name {
					case "resumed alone", "failed": // the caller tries a failed one again, with the answer
						if err != nil || res.Status != posthouse.StatusDone {
							t.Errorf("the caller: %+v %v", res, err)
						}
					case "cancelled":
						if !errors.Is(err, posthouse.ErrCancelled) {
							t.Errorf("the caller of a cancelled thread: %+v %v", res, err)
						}
					default:
						if err != nil || res.Status != posthouse.StatusWaiting || len(gatesOf(t, l)) != 1 {
							t.Errorf("the caller asks again: %+v %v", res, err)
						}
					}
				})
			})
		}
	}
}

var errFails = errors.New("it fails")

// A thread that ends while a node beside the call still runs, before its caller waits for it, has
// no caller to wake: the caller looks once more after its wait is on record. So it is within a subgraph
// that has no thread of its own.
func TestAThreadEndsBeforeItsCallerWaits(t *testing.T) {
	asks := oneInner("asks", func(ctx context.Context, s *innerState) error { _, err := ask(ctx, "ok"); return err })
	for name, end := range map[string]func(context.Context, *testing.T, *ledger.Ledger, string){
		"done": func(ctx context.Context, t *testing.T, l *ledger.Ledger, child string) {
			decide(t, l, gatesOf(t, l)[0].ID, posthouse.Approve)
			must.Get(compile(t, asks, l, nil).Resume(ctx, child))(t)
		},
		"cancelled": func(ctx context.Context, t *testing.T, l *ledger.Ledger, child string) {
			must.Get(l.Cancel(ctx, child, nil))(t)
		},
	} {
		for _, deep := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", within a subgraph"}[deep], func(t *testing.T) {
				storesOf(t, func(t *testing.T, s posthouse.Store) {
					ctx, l, other := t.Context(), open(t, s, nil), open(t, s, nil)
					slow := 0
					beside := func(context.Context, *innerState) error {
						if slow++; slow > 1 {
							return nil
						}
						for _, err := range other.Watch(ctx, ledger.WatchQuery{}) { // until the child asks
							must.Do(t, err)
							for info, err := range other.Threads(ctx, posthouse.ThreadQuery{Status: posthouse.StatusWaiting}) {
								must.Do(t, err)
								if info.Thread != "t" {
									end(ctx, t, other, info.Thread)
									return nil
								}
							}
						}
						return errors.New("no child asks")
					}
					middle := graph.New[innerState]("middle")
					graph.Subgraph(middle, "calls", asks, &graph.SubOptions[innerState, innerState]{OwnThread: true, Out: func(*innerState, *innerState) error { return nil }})
					middle.Node("slow", beside)
					for _, n := range []string{"calls", "slow"} {
						middle.Edge(graph.Start, n)
						middle.Edge(n, graph.End)
					}
					g := graph.New[innerState]("outer")
					graph.Subgraph(g, "middle", middle, nil)
					g.Edge(graph.Start, "middle")
					g.Edge("middle", graph.End)
					if !deep {
						g = middle
					}
					out, err := compile(t, g, l, nil).Run(ctx, "t", innerState{})
					switch {
					case name == "cancelled":
						if !errors.Is(err, posthouse.ErrCancelled) {
							t.Errorf("the caller of a cancelled thread: %+v, %v", out, err)
						}
					case err != nil || out.Status != posthouse.StatusDone:
						t.Errorf("the caller does not go on: %+v, %v", out, err)
					}
				})
			})
		}
	}
}

// Of several questions one is answered: the thread waits for the others, and says so.
func TestOneOfSeveralAnswers(t *testing.T) {
	type state struct {
		Log []string `posthouse:"append"`
	}
	storesOf(t, func(t *testing.T, s posthouse.Store) {
		ctx, l := t.Context(), open(t, s, nil)
		g := graph.New[state]("several")
		for _, n := range []string{"a", "b", "c"} {
			g.Node(n, func(ctx context.Context, s *state) error {
				_, err := ask(ctx, n)
				s.Log = append(s.Log, n)
				return err
			})
			g.Edge(graph.Start, n)
			g.Edge(n, graph.End)
		}
		app := compile(t, g, l, nil)
		must.Get(app.Run(ctx, "t", state{}))(t)
		for left := 3; left > 0; left-- {
			gates := gatesOf(t, l)
			info := must.Get(l.Thread(ctx, "t"))(t)
			if len(gates) != left || info.Status != posthouse.StatusWaiting {
				t.Fatalf("%d questions are open, %d wanted, and the thread is %s", len(gates), left, info.Status)
			}
			decide(t, l, gates[0].ID, posthouse.Approve)
			res := must.Get(app.Resume(ctx, "t"))(t)
			if want := left - 1; want > 0 && (res.Status != posthouse.StatusWaiting || len(res.Waiting) != want) {
				t.Errorf("with %d questions left: %s, waiting for %d", want, res.Status, len(res.Waiting))
			}
		}
		if s := must.Get(app.State(ctx, "t"))(t); s.Status != posthouse.StatusDone {
			t.Errorf("the thread is %s", s.Status)
		}
		r := must.Get(runner.New(l, &runner.Options{Programs: app.Programs()}))(t)
		must.Do(t, r.Settle(ctx))
	})
}
