package content_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/stalling"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// TestStoreThatIsAwayFailsNoEffect has the store of a program that waits and acts leave each of
// its calls unanswered in turn. The run ends with that error and is not recorded as failed, no
// question is asked again, and another run goes on once the store is back.
func TestStoreThatIsAwayFailsNoEffect(t *testing.T) {
	for name, program := range map[string]runner{"flow": payingFlow, "coord": payingCoord} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				below, every := h.store, 1
				if strings.HasSuffix(h.Name(), "sqlite") {
					every = 11
				}
				for at := 1; ; at += every {
					s := stalling.NewOutage(below, at)
					h.store = s
					h.restart()
					thread := fmt.Sprint("t", at)
					if h.endures(s, thread, program); s.Missed() == "" {
						if h.Logf("%d calls in a run", at-1); at < 20 {
							h.Errorf("a run has only %d calls", at-1)
						}
						return
					}
				}
			})
		})
	}
}

// A runner opens a program that pays once, and returns how it begins and goes on.
type runner func(h *house, thread string, paid *int) (run, resume func() error)

func payingFlow(h *house, thread string, paid *int) (run, resume func() error) {
	app := must(flow.New("pay", func(ctx context.Context, n int) (int, error) {
		if _, err := step.Signal[int](ctx, "never", step.SignalOptions{Timeout: time.Minute}); !errors.Is(err, posthouse.ErrExpired) {
			return 0, err
		}
		to, err := step.Signal[string](ctx, "payee", step.SignalOptions{})
		if err != nil {
			return 0, err
		}
		return pay(ctx, bankTransfer{to, n}, paid)
	}).Open(h.ledger, nil))(h)
	return func() error { _, err := app.Run(h.Context(), thread, 7); return err },
		func() error { _, err := app.Resume(h.Context(), thread); return err }
}

func payingCoord(h *house, thread string, paid *int) (run, resume func() error) {
	fleet := must(coord.NewFleet(coord.Agent{Name: "clerk", Skills: map[string]coord.Skill{
		"pay": func(ctx context.Context, _ coord.Call) (coord.Result, error) {
			_, err := pay(ctx, bankTransfer{"bob", 7}, paid)
			return coord.Result{Text: "paid"}, err
		},
	}}))(h)
	c := must(coord.New(h.ledger, "desk", fleet, func(ctx context.Context, _ string, f *coord.Fleet, _ *coord.Session) error {
		if _, err := f.Resumed(ctx); err != nil {
			return err
		}
		res, err := f.Agent("clerk").Call(ctx, "pay", nil)
		if err == nil && !res.Success {
			err = errors.New(res.Text)
		}
		return err
	}, nil))(h)
	return func() error { _, err := c.Handle(h.Context(), "go", &coord.HandleOptions{Thread: thread}); return err },
		func() error { _, err := c.Resume(h.Context(), thread, nil); return err }
}

func pay(ctx context.Context, t bankTransfer, paid *int) (int, error) {
	grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?", ValidFor: time.Hour}, t)
	if err != nil {
		return 0, err
	}
	return gate.Act(ctx, "pay", grant, func(_ context.Context, t bankTransfer) (int, error) {
		*paid++
		return t.Amount, nil
	})
}

// endures has a program go on until it is done, while people answer.
func (h *house) endures(s *stalling.Outage, thread string, program runner) {
	h.Helper()
	paid, asked := 0, 0
	run, resume := program(h, thread, &paid)
	people := must(ledger.Open(s.Store, &ledger.Options{Now: h.time, Validate: gate.Validator()}))(h)
	defer people.Close()
	goOn := run
	for range 20 {
		err := goOn()
		if err != nil && !errors.Is(err, posthouse.ErrUnavailable) {
			h.Fatalf("the run ends with %v after %s was not answered", err, s.Missed())
		}
		info, e := people.Thread(h.Context(), thread)
		if errors.Is(e, posthouse.ErrNotFound) {
			continue
		}
		if must(info, e)(h); info.Status == posthouse.StatusDone && err == nil {
			if paid != 1 || asked != 1 {
				h.Fatalf("%d were paid and %d asked after %s was not answered, want one of each", paid, asked, s.Missed())
			}
			return
		}
		if info.Status == posthouse.StatusFailed {
			head := must(people.Latest(h.Context(), ledger.LatestQuery{Thread: thread}))(h)
			h.Fatalf("the thread is failed after %s was not answered: %s", s.Missed(), head.Error)
		}
		if len(info.Branches) > 0 {
			goOn = resume
		}
		h.now = h.now.Add(10 * time.Minute)
		if len(info.Signals) == 0 && asked == 0 {
			must(people.Signal(h.Context(), thread, posthouse.Signal{ID: "", Name: "payee", Value: json.RawMessage(`"bob"`)}))(h)
		}
		for g, err := range people.Gates(h.Context(), ledger.GateQuery{Thread: thread}) {
			if must(g, err)(h); !g.AsksPeople() {
				continue
			}
			d := posthouse.Decision{Verdict: yesTo(g), By: "alice"}
			if g.Kind != gate.KindOutcome {
				asked++
			} else if paid > 0 { // the result was not recorded
				d.Verdict, d.Value = posthouse.Happened, []byte("7")
			}
			must(people.Decide(h.Context(), g.ID, d))(h)
		}
	}
	h.Fatalf("the run does not end after %s was not answered", s.Missed())
}
