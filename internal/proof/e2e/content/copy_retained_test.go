package content_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/transfer"
)

// A copy of a thread after a policy removed checkpoints goes on as the thread and its forks do:
// it finds the outcome of every wait of the execution.
func TestACopyAfterRetentionKeepsAnswers(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		onStores(t, func(h *house) {
			app := must(flow.New("talk", func(ctx context.Context, _ int) (string, error) {
				if unordered {
					ctx = step.Unordered(ctx)
				}
				if err := step.Sleep(ctx, "first", time.Minute); err != nil {
					return "", err
				}
				payee, err := step.Signal[string](ctx, "payee", step.SignalOptions{})
				if err != nil {
					return "", err
				}
				a, err := gate.Ask[string](ctx, gate.Question{Name: "who", Text: "who?", Verdicts: []posthouse.Verdict{posthouse.Respond}})
				if err != nil {
					return "", err
				}
				made, err := step.Remote[string](ctx, "made", "pay", 1)
				if err != nil {
					return "", err
				}
				for i := range 3 {
					if err := step.Sleep(ctx, fmt.Sprint("z", i), time.Hour); err != nil {
						return "", err
					}
				}
				return payee + " " + a.Value + " " + made, nil
			}).Open(h.ledger, nil))(h)
			goOn := func(later time.Duration) {
				h.now = h.now.Add(later)
				must(app.Resume(h.Context(), "t"))(h)
			}
			must(app.Run(h.Context(), "t", 10))(h)
			must(h.ledger.Signal(h.Context(), "t", posthouse.Signal{Name: "payee", Value: json.RawMessage(`"bob"`)}))(h)
			goOn(time.Hour)
			must(h.ledger.Decide(h.Context(), h.only("t").ID, posthouse.Decision{Verdict: posthouse.Respond, By: "alice", Value: json.RawMessage(`"carl"`)}))(h)
			goOn(0)
			k := h.desk()
			k.paid(k.claim())
			k.stop()
			goOn(0)
			goOn(2 * time.Hour)
			h.now = h.now.Add(24 * time.Hour)
			must(retain.Run(h.Context(), h.ledger, retain.Policy{MaxPerThread: 1}, nil))(h)
			head := must(h.ledger.Latest(h.Context(), ledger.LatestQuery{Thread: "t"}))(h)
			must(h.ledger.Fork(h.Context(), head.ID, &ledger.ForkOptions{Thread: "late"}))(h)
			must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
			for _, thread := range []string{"t", "late", "copy"} {
				var res *flow.Result[string]
				for range 4 {
					h.now = h.now.Add(2 * time.Hour)
					res = must(app.Resume(h.Context(), thread))(h)
				}
				if res.Output != "bob carl paid" {
					h.Errorf("%s: %s %q, waits for %+v", thread, res.Status, res.Output, res.Waiting)
				}
			}
		})
	}
}

// A bulks store takes no more entries at once than a store must.
type bulks struct {
	posthouse.Store
	all     posthouse.BulkAppender
	largest int
}

func (s *bulks) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	s.largest = max(s.largest, len(bs))
	if len(bs) > posthouse.MaxBulk {
		return posthouse.TooMany("batches", len(bs), posthouse.MaxBulk, "append fewer at a time")
	}
	return s.all.AppendAll(ctx, bs)
}

// TestACopyCommitsItsBulksInOrder copies a thread with an answered wait before a step in an
// entry next to the end of a bulk, on either side: a bulk has as many plans as it needs, and
// the copy finds all results and the outcome of the wait.
func TestACopyCommitsItsBulksInOrder(t *testing.T) {
	onStores(t, func(h *house) {
		store := &bulks{Store: h.store, all: h.store.(posthouse.BulkAppender)}
		h.store = store
		h.restart()
		steps, ran := 0, 0
		app := must(flow.New("many", func(ctx context.Context, _ int) (int, error) {
			note := func(name string) error {
				_, err := step.Do(ctx, name, func(context.Context) (int, error) { ran++; return ran, nil })
				return err
			}
			for range steps {
				if err := note("before"); err != nil {
					return 0, err
				}
			}
			if err := step.Sleep(ctx, "first", time.Hour); err != nil {
				return 0, err
			}
			for range 3 {
				if err := note("after"); err != nil {
					return 0, err
				}
			}
			return ran, step.Sleep(ctx, "second", time.Hour)
		}).Open(h.ledger, &flow.Options{FewCheckpoints: true}))(h)
		first, last := posthouse.MaxBulk-4, posthouse.MaxBulk+1
		if strings.HasSuffix(h.Name(), "sqlite") {
			first, last = posthouse.MaxBulk-2, posthouse.MaxBulk-1
		}
		for steps = first; steps <= last; steps++ {
			thread, again := fmt.Sprint("t", steps), fmt.Sprint("copy", steps)
			ran = 0
			for range 2 {
				if steps := ran; steps == 0 {
					must(app.Run(h.Context(), thread, 0))(h)
				} else {
					must(app.Resume(h.Context(), thread))(h)
				}
				h.now = h.now.Add(2 * time.Hour)
			}
			must(retain.Run(h.Context(), h.ledger, retain.Policy{MaxPerThread: 1}, nil))(h)
			must(transfer.CopyThread(h.Context(), h.ledger, thread, again, nil))(h)
			res := must(app.Resume(h.Context(), again))(h)
			if ran != steps+3 {
				h.Errorf("after %d steps %d were made by the thread and its copy, want %d", steps, ran, steps+3)
			}
			if res.Status != posthouse.StatusWaiting && res.Status != posthouse.StatusDone {
				h.Errorf("after %d steps the copy is %s", steps, res.Status)
			}
		}
		if store.largest < posthouse.MaxBulk-1 {
			h.Errorf("the largest bulk has %d entries, of %d", store.largest, posthouse.MaxBulk)
		}
	})
}
