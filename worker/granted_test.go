package worker_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/worker"
)

// TestEffectUnderAGrant runs an approved effect at a worker. It gets the content that was
// approved from the record, edited as it was, and not what the program has.
func TestEffectUnderAGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()})
		if err != nil {
			t.Fatal(err)
		}
		s := &site{T: t, l: l}
		f := flow.New("pay", func(ctx context.Context, amount int) (any, error) {
			grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, amount)
			if err != nil {
				return nil, err
			}
			return gate.Act(ctx, "pay", grant, func(ctx context.Context, approved int) (string, error) {
				return step.Remote[string](ctx, "pay", "work", approved)
			})
		})
		s.app, err = f.Open(l, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.d, err = dispatch.New(l, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.start(s.d.Run)
		var c tally
		s.work(s.d, "w1", func(w worker.Task) error {
			if c.add("execution") == 1 {
				return gate.NotDone(fmt.Errorf("the bank is away"))
			}
			return w.Complete("paid " + string(w.Input()))
		})
		go func() {
			<-time.After(time.Second)
			for g, err := range l.Gates(t.Context(), ledger.GateQuery{Thread: "t"}) {
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: []byte("5")}); err != nil {
					t.Error(err)
				}
			}
		}()
		if out, err := s.outcome("t"); err != nil || out != "paid 5" || c.of("execution") != 2 {
			t.Errorf("%v, %v, executed %d times", out, err, c.of("execution"))
		}
	})
}
