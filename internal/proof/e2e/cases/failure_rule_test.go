package cases_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/step"
)

var errDeclined = errors.New("card declined")

// A card is charged, unless it is declined.
type card struct {
	declined bool
	charged  int
}

func (c *card) charge(ctx context.Context) (string, error) {
	return step.Do(ctx, "charge", func(context.Context) (string, error) {
		if c.declined {
			return "", fmt.Errorf("bank: %w", errDeclined)
		}
		c.charged++
		return "receipt", nil
	})
}

func note(ctx context.Context, name string) error {
	_, err := step.Do(ctx, name, func(context.Context) (bool, error) { return true, nil })
	return err
}

// TestFailureThatTheProgramActedAfterStands, also if the code that did something about it passed it on:
// a resume and a retry end with it.
func TestFailureThatTheProgramActedAfterStands(t *testing.T) {
	onStores(t, func(h *house) {
		ctx, c := h.Context(), &card{declined: true}
		open := func() *flow.App[string, string] {
			return must.Get(flow.New("order", func(ctx context.Context, _ string) (string, error) {
				receipt, err := c.charge(ctx)
				if err != nil {
					return "", errors.Join(err, note(ctx, "tell the customer"))
				}
				return receipt, nil
			}).Open(h.led, nil))(h)
		}
		for range 2 {
			if _, err := open().Run(ctx, "t", ""); !errors.Is(err, errDeclined) {
				h.Errorf("declined: %v", err)
			}
			h.restart()
		}
		if _, err := open().Resume(ctx, "t"); !errors.Is(err, errDeclined) {
			h.Errorf("still declined: %v", err)
		}
		h.restart()
		c.declined = false
		if _, err := open().Resume(ctx, "t"); !errors.Is(err, errDeclined) {
			h.Errorf("the customer was told that it was declined, and then: %v", err)
		}
		h.want("charged", c.charged, 0)

		g := graph.New[order]("g")
		d := &card{declined: true}
		g.Node("pay", func(ctx context.Context, s *order) error {
			receipt, err := d.charge(ctx)
			if err != nil {
				d.declined = false // the next attempt finds it better
				return errors.Join(err, note(ctx, "tell the customer"))
			}
			s.Memo = receipt
			return nil
		}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: -1}})
		g.Edge(graph.Start, "pay")
		g.Edge("pay", graph.End)
		if _, err := must.Get(g.Compile(h.led, nil))(h).Run(ctx, "u", order{}); !errors.Is(err, errDeclined) {
			h.Errorf("a node's next attempt: %v", err)
		}
		h.want("charged by the node", d.charged, 0)
	})
}

// TestFailureBeforeAnotherFailure: the run ended for another reason than the failure that the
// program had acted after.
func TestFailureBeforeAnotherFailure(t *testing.T) {
	onStores(t, func(h *house) {
		ctx, c, broken := h.Context(), &card{declined: true}, true
		open := func() *flow.App[string, string] {
			return must.Get(flow.New("order", func(ctx context.Context, _ string) (string, error) {
				_, err := c.charge(ctx)
				var how string
				if errors.Is(err, errDeclined) { // also when it is read from the record
					how = "on account"
				} else if err != nil {
					return "", err
				}
				if err := note(ctx, "book "+how); err != nil {
					return "", err
				}
				if broken {
					return "", errors.New("the printer is out of paper")
				}
				return how, nil
			}).Open(h.led, nil))(h)
		}
		if _, err := open().Run(ctx, "t", ""); err == nil {
			h.Error("it did not fail")
		}
		h.restart()
		c.declined, broken = false, false
		h.want("output", must.Get(open().Resume(ctx, "t"))(h).Output, "on account")
		h.want("charged", c.charged, 0)
	})
}

// TestFailureBesideOthers: what steps beside a failed one record does not count as acting after
// the failure.
func TestFailureBesideOthers(t *testing.T) {
	onStores(t, func(h *house) {
		ctx, c := h.Context(), &card{declined: true}
		open := func() *flow.App[string, string] {
			return must.Get(flow.New("order", func(ctx context.Context, _ string) (string, error) {
				g := step.NewGroup(ctx, &step.GroupOptions{Concurrency: 1}) // one after the other
				pay := step.Go(g, "pay", func(context.Context) (string, error) {
					if c.declined {
						return "", errDeclined
					}
					c.charged++
					return "receipt", nil
				})
				step.Go(g, "pack", func(context.Context) (string, error) { return "packed", nil })
				ask := step.Go(g, "ask", func(ctx context.Context) (string, error) {
					a, err := gate.Ask[any](ctx, gate.Question{Name: "ship?"})
					return string(a.Verdict), err
				})
				if err := g.Wait(); err != nil {
					return "", err
				}
				return pay.Value() + " " + ask.Value(), nil
			}).Open(h.led, nil))(h)
		}
		h.want("status", must.Get(open().Run(ctx, "t", ""))(h).Status, posthouse.StatusWaiting)
		h.decideAll()
		c.declined = false
		h.want("output", must.Get(open().Resume(ctx, "t"))(h).Output, "receipt approve")
	})
}

// TestFailureInsideAStep: people decided about a failure within a step that is executed again.
func TestFailureInsideAStep(t *testing.T) {
	onStores(t, func(h *house) {
		ctx, c := h.Context(), &card{declined: true}
		open := func() *flow.App[string, string] {
			return must.Get(flow.New("order", func(ctx context.Context, _ string) (string, error) {
				return step.Do(ctx, "pay", func(ctx context.Context) (string, error) {
					receipt, err := c.charge(ctx)
					if err == nil {
						return receipt, nil
					}
					a, err := gate.Ask[any](ctx, gate.Question{Name: "drop?", Text: err.Error()})
					return "dropped, " + string(a.Verdict), err
				})
			}).Open(h.led, nil))(h)
		}
		must.Get(open().Run(ctx, "t", ""))(h)
		h.decideAll()
		c.declined = false
		h.want("output", must.Get(open().Resume(ctx, "t"))(h).Output, "dropped, approve")
		h.want("charged", c.charged, 0)
	})
}

// TestFailureInACoordinator that people decided about.
func TestFailureInACoordinator(t *testing.T) {
	onStores(t, func(h *house) {
		ctx, c := h.Context(), &card{declined: true}
		open := func() *coord.Coordinator {
			return must.Get(coord.New(h.led, "desk", must.Get(coord.NewFleet())(h), func(ctx context.Context, _ string, _ *coord.Fleet, s *coord.Session) error {
				if receipt, err := c.charge(ctx); err == nil {
					s.Stream(receipt)
					return nil
				}
				a, err := gate.Ask[any](ctx, gate.Question{Name: "drop?"})
				s.Stream("dropped, " + string(a.Verdict))
				return err
			}, nil))(h)
		}
		r := must.Get(open().Handle(ctx, "pay", nil))(h)
		h.decideAll()
		c.declined = false
		h.want("reply", must.Get(open().Resume(ctx, r.Thread, nil))(h).Text, "dropped, approve")
		h.want("charged", c.charged, 0)
	})
}

// TestAnotherWayAfterAFailure: a program takes another way than the one that people decided on,
// because its errors do not survive their record. It is told so, and the decision stays.
func TestAnotherWayAfterAFailure(t *testing.T) {
	onStores(t, func(h *house) {
		ctx, declined, charged := h.Context(), true, 0
		secret := &hidden{code: 7}
		open := func(secret *hidden) *flow.App[string, string] {
			return must.Get(flow.New("order", func(ctx context.Context, _ string) (string, error) {
				_, err := step.Do(ctx, "charge", func(context.Context) (string, error) {
					if declined {
						return "", secret
					}
					charged++
					return "receipt", nil
				})
				if e, ok := errors.AsType[*hidden](err); ok && e.code == 7 {
					a, err := gate.Ask[any](ctx, gate.Question{Name: "drop?"})
					return "dropped, " + string(a.Verdict), err
				}
				return "paid", err
			}).Open(h.led, nil))(h)
		}
		must.Get(open(secret).Run(ctx, "t", ""))(h)
		h.decideAll()
		declined = false
		for range 2 {
			if _, err := open(secret).Resume(ctx, "t"); !errors.Is(err, posthouse.ErrInvalid) {
				h.Errorf("another way: %v", err)
			}
		}
		h.want("charged", charged, 0)
	})
}

// A hidden error does not say in its JSON what it is.
type hidden struct{ code int }

func (e *hidden) Error() string { return "refused" }

// TestRecordedErrorIsFound by what it was: sentinels, types, codes and ended contexts.
func TestRecordedErrorIsFound(t *testing.T) {
	onStores(t, func(h *house) {
		ctx := h.Context()
		for name, of := range map[string]struct {
			err error
			is  func(error) bool
		}{
			"sentinel": {fmt.Errorf("no: %w", errDeclined), func(err error) bool { return errors.Is(err, errDeclined) && err.Error() == "no: card declined" }},
			"another": {errDeclined, func(err error) bool {
				return !errors.Is(err, errors.New("other")) && !errors.Is(err, posthouse.ErrConflict)
			}},
			"type": {errors.Join(errDeclined, &bankError{Code: 51, Wait: time.Minute}), func(err error) bool {
				e, ok := errors.AsType[*bankError](err)
				return ok && e.Code == 51 && e.Wait == time.Minute && errors.Is(err, errDeclined)
			}},
			"code": {fmt.Errorf("no: %w", &posthouse.Error{Code: posthouse.CodeConflict, Field: "x", Err: errDeclined}), func(err error) bool {
				e, ok := errors.AsType[*posthouse.Error](err)
				return errors.Is(err, posthouse.ErrConflict) && ok && e.Field == "x" && !errors.Is(err, posthouse.ErrNotFound)
			}},
			"deadline": {fmt.Errorf("late: %w", context.DeadlineExceeded), func(err error) bool {
				return errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
			}},
			"timeout": {&step.TimeoutError{Step: "charge", After: time.Second}, func(err error) bool {
				e, ok := errors.AsType[*step.TimeoutError](err)
				return ok && e.After == time.Second && errors.Is(err, context.DeadlineExceeded)
			}},
		} {
			seen := 0
			app := must.Get(flow.New(name, func(ctx context.Context, _ string) (string, error) {
				_, err := step.Do(ctx, "charge", func(context.Context) (string, error) { seen++; return "", of.err })
				if !of.is(err) {
					h.Errorf("%s, in execution %d: %v", name, seen, err)
				}
				a, err := gate.Ask[any](ctx, gate.Question{Name: name})
				return string(a.Verdict), err
			}).Open(h.led, nil))(h)
			must.Get(app.Run(ctx, name, ""))(h)
			h.approve(h.people()[0].ID)
			h.want(name, must.Get(app.Resume(ctx, name))(h).Output, "approve")
			h.want(name+" failed once", seen, 1)
		}
	})
}

type bankError struct {
	Code int
	Wait time.Duration
}

func (e *bankError) Error() string { return fmt.Sprintf("bank says %d, wait %s", e.Code, e.Wait) }
