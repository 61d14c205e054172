package cases_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/step"
)

// TestFailureThatWasDecided: a step failed, the program asked people about it, and they
// decided. A resume takes the same path, also if the step would succeed by then.
func TestFailureThatWasDecided(t *testing.T) {
	onStores(t, func(h *house) {
		charged, down := 0, true
		fn := flow.New("order", func(ctx context.Context, _ string) (string, error) {
			receipt, err := step.DoWith(ctx, "charge", step.Options{Effect: posthouse.EffectExternal, Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: -1}}, func(context.Context) (string, error) {
				if down {
					return "", errors.New("card declined")
				}
				charged++
				return "receipt", nil
			})
			if err == nil {
				return step.Do(ctx, "ship paid", func(context.Context) (string, error) { return "shipped, " + receipt, nil })
			}
			if _, err := step.Do(ctx, "book on account", func(context.Context) (string, error) { return "booked", nil }); err != nil {
				return "", err
			}
			a, err := gate.Ask[any](ctx, gate.Question{Name: "declined", Text: "The charge failed (" + err.Error() + "). Ship on account?"})
			if err != nil {
				return "", err
			}
			return "shipped on account, " + string(a.Verdict), nil
		})
		must.Get(must.Get(fn.Open(h.led, nil))(h).Run(h.Context(), "t", ""))(h)
		h.decideAll()
		down = false // the card works again by now
		o := must.Get(must.Get(fn.Open(h.led, nil))(h).Resume(h.Context(), "t"))(h)
		h.want("output", o.Output, "shipped on account, approve")
		h.want("charged", charged, 0)
	})
}

func TestFailuresOfAMapThatWereDecided(t *testing.T) {
	onStores(t, func(h *house) {
		sent, full := map[string]int{}, map[string]bool{"bo": true, "di": true}
		fn := flow.New("mail", func(ctx context.Context, to []string) (string, error) {
			out, err := step.Map(ctx, "send", to, func(_ context.Context, a string) (string, error) {
				if full[a] {
					return "", errors.New("mailbox full")
				}
				sent[a]++
				return a, nil
			}, step.GroupOptions{Concurrency: 1})
			if err != nil && !errors.Is(err, posthouse.ErrWaiting) {
				_, err = gate.Ask[any](ctx, gate.Question{Name: "partly", Text: fmt.Sprintf("Only %q of %q went out. Leave it at that?", out, to)})
			}
			return fmt.Sprint(len(sent)), err
		})
		must.Get(must.Get(fn.Open(h.led, nil))(h).Run(h.Context(), "t", []string{"al", "bo", "cy", "di"}))(h)
		h.decideAll() // yes, leave it at that
		full = nil
		must.Get(must.Get(fn.Open(h.led, nil))(h).Resume(h.Context(), "t"))(h)
		h.want("mails", sent, "map[al:1 cy:1]")
	})
}

func TestFailureOfAnEffectThatWasDecided(t *testing.T) {
	onStores(t, func(h *house) {
		paid, down := 0, true
		fn := flow.New("pay", func(ctx context.Context, amount int) (string, error) {
			grant, err := gate.Propose(ctx, gate.Question{Name: "pay"}, amount)
			if err != nil {
				return "", err
			}
			_, err = gate.Act(ctx, "transfer", grant, func(context.Context, int) (string, error) {
				if down {
					return "", gate.NotDone(errors.New("bank refuses"))
				}
				paid++
				return "receipt", nil
			})
			if err == nil || errors.Is(err, posthouse.ErrWaiting) {
				return "paid", err
			}
			a, err := gate.Ask[any](ctx, gate.Question{Name: "drop", Text: "The bank refuses. Drop the order?"})
			return "dropped, " + string(a.Verdict), err
		})
		must.Get(must.Get(fn.Open(h.led, nil))(h).Run(h.Context(), "t", 40))(h)
		h.decideAll()
		must.Get(must.Get(fn.Open(h.led, nil))(h).Resume(h.Context(), "t"))(h) // the transfer fails, and it asks
		h.decideAll()                                                          // yes, drop it
		down = false
		o := must.Get(must.Get(fn.Open(h.led, nil))(h).Resume(h.Context(), "t"))(h)
		h.want("output, paid", fmt.Sprint(o.Output, "; ", paid), "dropped, approve; 0")
	})
}

func TestFailureInANodeThatWasDecided(t *testing.T) {
	onStores(t, func(h *house) {
		down := true
		g := graph.New[order]("g")
		g.Node("pay", func(ctx context.Context, s *order) error {
			_, err := step.Do(ctx, "charge", func(context.Context) (string, error) {
				if down {
					return "", errors.New("declined")
				}
				return "receipt", nil
			})
			if err != nil {
				a, err := gate.Ask[any](ctx, gate.Question{Name: "declined", Text: "Cancel the order?"})
				if err == nil {
					s.Log = append(s.Log, "cancelled "+string(a.Verdict))
				}
				return err
			}
			s.Log = append(s.Log, "paid")
			return nil
		})
		g.Edge(graph.Start, "pay")
		g.Edge("pay", graph.End)
		must.Get(must.Get(g.Compile(h.led, nil))(h).Run(h.Context(), "t", order{}))(h)
		h.decideAll()
		down = false
		o := must.Get(must.Get(g.Compile(h.led, nil))(h).Resume(h.Context(), "t"))(h)
		h.want("log", o.State.Log, "[cancelled approve]")
	})
}
