package posthousetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/posthousetest"
	"github.com/posthouse/posthouse/step"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type order struct {
	ID     string
	Amount int
}

// A shop is what the programs of these tests are made of.
type shop struct {
	model *posthousetest.Tool[order, string]
	bank  *posthousetest.Tool[order, string]
	mail  *posthousetest.Tool[string, bool]
}

func newShop(t posthousetest.TB) *shop {
	return &shop{
		model: posthousetest.NewTool(t, "model", func(context.Context, order) (string, error) { return "refund it", nil }),
		bank:  posthousetest.NewTool(t, "bank", func(_ context.Context, o order) (string, error) { return fmt.Sprint("receipt ", o.Amount), nil }),
		mail:  posthousetest.NewTool[string, bool](t, "mail", nil),
	}
}

// refund asks a model and a person, pays, and tells the customer.
func (s *shop) refund(ctx context.Context, o order) (string, error) {
	if _, err := step.Do(ctx, "advise", func(ctx context.Context) (string, error) { return s.model.Call(ctx, o) }); err != nil {
		return "", err
	}
	grant, err := gate.Propose(ctx, gate.Question{Name: "refund", Text: "Refund it?", Expires: 48 * time.Hour}, o)
	if errors.Is(err, posthouse.ErrForbidden) || errors.Is(err, posthouse.ErrExpired) {
		return "no", nil
	}
	if err != nil {
		return "", err
	}
	receipt, err := gate.Act(ctx, "pay", grant, s.bank.Call)
	if err != nil {
		return "", err
	}
	_, err = step.Do(ctx, "tell", func(ctx context.Context) (bool, error) { return s.mail.Call(ctx, receipt) })
	return receipt, err
}

func (s *shop) open(led *ledger.Ledger) ([]posthouse.Program, error) {
	app, err := flow.New("refund", s.refund).Open(led, nil)
	return []posthouse.Program{app}, err
}

// A basket is the state of a graph.
type basket struct {
	Order   order
	Grant   gate.Grant
	Receipt string
}

// baskets is the same as a graph.
func (s *shop) baskets(led *ledger.Ledger) ([]posthouse.Program, error) {
	g := graph.New[basket]("basket")
	g.Node("advise", func(ctx context.Context, b *basket) error { _, err := s.model.Call(ctx, b.Order); return err })
	g.Node("approve", func(ctx context.Context, b *basket) (err error) {
		b.Grant, err = gate.Propose(ctx, gate.Question{Name: "refund"}, b.Order)
		return err
	})
	g.Node("pay", func(ctx context.Context, b *basket) (err error) {
		b.Receipt, err = gate.Act(ctx, "pay", b.Grant, s.bank.Call)
		return err
	}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3}})
	g.Edge(graph.Start, "advise")
	g.Edge("advise", "approve")
	g.Edge("approve", "pay")
	g.Edge("pay", graph.End)
	app, err := g.Compile(led, nil)
	if err != nil {
		return nil, err
	}
	return app.Programs(), nil
}

// desk is the same as a coordinator with an agent.
func (s *shop) desk(led *ledger.Ledger) ([]posthouse.Program, error) {
	fleet, err := coord.NewFleet(coord.Agent{Name: "payer", Skills: map[string]coord.Skill{
		"pay": func(ctx context.Context, c coord.Call) (coord.Result, error) {
			receipt, err := step.Do(ctx, "pay", func(ctx context.Context) (string, error) { return s.bank.Call(ctx, order{"1", 40}) })
			return coord.Result{Text: receipt}, err
		},
	}})
	if err != nil {
		return nil, err
	}
	c, err := coord.New(led, "desk", fleet, func(ctx context.Context, message string, fleet *coord.Fleet, session *coord.Session) error {
		a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "refund", Text: message})
		if err != nil || !a.Approved() {
			return err
		}
		_, err = fleet.Agent("payer").Call(ctx, "pay", nil)
		return err
	}, nil)
	return []posthouse.Program{c}, err
}

// A teller is a test that keeps what it is failed with.
type teller struct {
	*testing.T
	said  strings.Builder
	clean []func()
}

func (f *teller) Errorf(format string, args ...any) { fmt.Fprintf(&f.said, format+"\n", args...) }
func (f *teller) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(f)
}
func (f *teller) Cleanup(c func()) { f.clean = append(f.clean, c) }

// tells runs a test that is to fail, and returns what it says.
func tells(t *testing.T, test func(t posthousetest.TB)) string {
	f := &teller{T: t}
	attempt := func(do func()) {
		defer func() {
			if r := recover(); r != nil && r != f {
				panic(r)
			}
		}()
		do()
	}
	attempt(func() { test(f) })
	for _, c := range f.clean {
		attempt(c)
	}
	return f.said.String()
}

func says(t *testing.T, said string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(said, w) {
			t.Errorf("the failure does not say %q:\n%s", w, said)
		}
	}
}
