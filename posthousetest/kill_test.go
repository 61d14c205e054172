package posthousetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/posthousetest"
	"github.com/posthouse/posthouse/step"
)

// TestKillHere kills a process at each side of a step, and counts what ran twice.
func TestKillHere(t *testing.T) {
	for _, c := range []struct {
		at           posthousetest.Point
		model, tells int
	}{
		{posthousetest.Before("advise"), 2, 1}, {posthousetest.After("advise"), 1, 1},
		{posthousetest.Before("tell"), 1, 2}, {posthousetest.After("tell"), 1, 1},
		{posthousetest.After("pay"), 1, 1}, {posthousetest.Before("pay"), 1, 1},
	} {
		t.Run(c.at.String(), func(t *testing.T) {
			s := newShop(t)
			env := posthousetest.New(t, s.open, &posthousetest.Options{Tools: []posthousetest.Witness{s.bank}})
			env.Kill(c.at)
			before := env.Ledger()
			env.Answer("refund", posthousetest.Approve("ann"))
			th := env.Start("refund", "order-1", order{"1", 40}).Done()
			s.model.Times(c.model)
			s.mail.Times(c.tells)
			s.bank.Times(1) // an approved effect is not repeated without asking
			s.bank.Once()
			s.mail.Once()
			if f := th.Acted("pay"); f.By() != "ann" || env.Ledger() == before {
				t.Errorf("approved by %s, with the Ledger of a process that was killed: %t", f.By(), env.Ledger() == before)
			}
			th.CheckReplay()
		})
	}
}

// TestEveryKill kills each program at each entry.
func TestEveryKill(t *testing.T) {
	posthousetest.EveryKill(t, func(t *testing.T, k *posthousetest.Kill) {
		s := newShop(t)
		env := posthousetest.New(t, s.open, &posthousetest.Options{Kill: k, Tools: []posthousetest.Witness{s.bank}})
		env.Answer("refund", posthousetest.Approve("ann"))
		th := env.Start("refund", "order-1", order{"1", 40}).Done()
		if f := th.Acted("pay"); f.By() != "ann" {
			t.Errorf("approved by %s", f.By())
		}
		s.bank.Times(1)
		s.mail.Once()
	})
	posthousetest.EveryKill(t, func(t *testing.T, k *posthousetest.Kill) {
		s := newShop(t)
		s.bank.Fail(errors.New("busy"))
		env := posthousetest.New(t, s.baskets, &posthousetest.Options{Kill: k, Tools: []posthousetest.Witness{s.bank}})
		env.Answer("refund", posthousetest.Approve("ann"))
		env.Start("basket", "order-1", basket{Order: order{"1", 40}}).Done().Acted("pay")
		s.bank.Once()
	})
	posthousetest.EveryKill(t, func(t *testing.T, k *posthousetest.Kill) {
		s := newShop(t)
		env := posthousetest.New(t, s.desk, &posthousetest.Options{Kill: k})
		env.Start("desk", "order-1", "please")
		env.Answer("refund", posthousetest.Approve("ann"))
		env.Thread("order-1").Done()
		s.bank.Once()
	})
}

// TestEveryKillFindsWhatRunsTwice has a program that calls a bank outside of a step: it must be found.
func TestEveryKillFindsWhatRunsTwice(t *testing.T) {
	found := 0
	for entry := range 8 {
		for _, after := range []bool{false, true} {
			k := posthousetest.KillAt(entry+1, after)
			said := tells(t, func(t posthousetest.TB) {
				s := newShop(t)
				env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
					app, err := flow.New("hasty", func(ctx context.Context, o order) (string, error) {
						receipt, err := s.bank.Call(ctx, o) // no step
						if err != nil {
							return "", err
						}
						return step.Do(ctx, "tell", func(ctx context.Context) (string, error) { _, err := s.mail.Call(ctx, receipt); return receipt, err })
					}).Open(led, nil)
					return []posthouse.Program{app}, err
				}, &posthousetest.Options{Kill: k})
				env.Start("hasty", "t", order{"1", 40}).Done()
				s.bank.Once()
			})
			if strings.Contains(said, "tool bank acted more than once") {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("a call outside of a step passes every kill")
	}
}

// TestAnEntryThatIsNotReached fails: the run made fewer entries than without a kill.
func TestAnEntryThatIsNotReached(t *testing.T) {
	says(t, tells(t, func(t posthousetest.TB) {
		s := newShop(t)
		env := posthousetest.New(t, s.open, &posthousetest.Options{Kill: posthousetest.KillAt(50, true)})
		env.Answer("refund", posthousetest.Approve("ann"))
		env.Start("refund", "order-1", order{"1", 40}).Done()
	}), "entry 50 was not reached")
}

// TestOutcomeWithoutATool asks the test what became of an effect that a kill cut off.
func TestOutcomeWithoutATool(t *testing.T) {
	s := newShop(t)
	env := posthousetest.New(t, s.open, nil)
	env.Answer("refund", posthousetest.Approve("ann"))
	env.Kill(posthousetest.Before("pay"))
	th := env.Start("refund", "order-1", order{"1", 40}).Must(posthouse.StatusWaiting)
	if g := th.Question(gate.KindOutcome); !strings.Contains(g.Text, "It is not known") {
		t.Errorf("it asks %q", g.Text)
	}
	if all := th.Effects(); len(all) != 1 || all[0].Status != grants.Unknown {
		t.Errorf("the effects are %+v", all)
	}
	env.Answer("outcome", posthousetest.Happened("ann", "receipt by mail"))
	var out string
	if th.Done().Decode("output", &out); out != "receipt by mail" {
		t.Errorf("the output is %q", out)
	}
	s.bank.Times(1)
}

// TestCheckReplayFindsWhatIsNotTheSame has programs that take another way each time, and one that
// was changed under an open thread.
func TestCheckReplayFindsWhatIsNotTheSame(t *testing.T) {
	work := func(ctx context.Context, name string) error {
		_, err := step.Do(ctx, name, func(context.Context) (bool, error) { return true, nil })
		return err
	}
	n := 0
	for name, c := range map[string]struct {
		run  func(ctx context.Context, in string) (string, error)
		says string
	}{
		"order": {func(ctx context.Context, _ string) (string, error) {
			n++
			return "", errors.Join(work(ctx, fmt.Sprint("step ", n%2)), work(ctx, "last"))
		}, `asks for step "step`},
		"output": {func(ctx context.Context, _ string) (string, error) { n++; return fmt.Sprint(n), work(ctx, "one") }, "its output is"},
		"question": {func(ctx context.Context, _ string) (string, error) {
			if err := work(ctx, "one"); err != nil {
				return "", err
			}
			n++
			_, err := gate.Ask[struct{}](ctx, gate.Question{Name: "go", Text: fmt.Sprint("Go on at ", n, "?")})
			return "", err
		}, "it asks question"},
	} {
		said := tells(t, func(t posthousetest.TB) {
			env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
				app, err := flow.New("p", c.run).Open(led, nil)
				return []posthouse.Program{app}, err
			}, nil)
			th := env.Start("p", "t", "")
			if name == "question" {
				th.Question("go")
			}
			th.CheckReplay()
		})
		says(t, said, c.says)
	}

	changed := false
	said := tells(t, func(t posthousetest.TB) {
		env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
			app, err := flow.New("p", func(ctx context.Context, _ string) (string, error) {
				if changed {
					if err := work(ctx, "inserted"); err != nil {
						return "", err
					}
				}
				return "", errors.Join(work(ctx, "one"), step.Sleep(ctx, "night", 12*time.Hour))
			}).Open(led, nil)
			return []posthouse.Program{app}, err
		}, nil)
		th := env.Start("p", "t", "")
		th.CheckReplay()
		changed = true
		th.CheckReplay()
	})
	says(t, said, `asks for step "inserted" where step "one" is on record`)
}
