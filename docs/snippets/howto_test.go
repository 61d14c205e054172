package snippets_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/posthousetest"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

type Invoice struct {
	Number string
	Cents  int
}

type Bank struct{ paid map[string]string } // receipts by key

func (b *Bank) Pay(_ context.Context, key string, i Invoice) (string, error) {
	if b.paid[key] == "" {
		b.paid[key] = "receipt for " + i.Number
	}
	return b.paid[key], nil
}

func (b *Bank) Find(_ context.Context, i Invoice) (string, bool, error) {
	for _, r := range b.paid {
		if r == "receipt for "+i.Number {
			return r, true, nil
		}
	}
	return "", false, nil
}

// howto opens a flow for a test.
func howto[In, Out any](t *testing.T, run func(context.Context, In) (Out, error)) *posthousetest.Env {
	return posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
		app, err := flow.New("howto", run).Open(led, nil)
		return []posthouse.Program{app}, err
	}, nil)
}

func TestHowToAsk(t *testing.T) {
	env := howto(t, func(ctx context.Context, invoice Invoice) (string, error) {
		//doc:approval
		grant, err := gate.Propose(ctx, gate.Question{
			Name:      "pay",
			Text:      "Pay invoice " + invoice.Number + "?",
			Assignees: []string{"ann", "bob"}, // who may answer; without it, every approver
			Expires:   48 * time.Hour,         // then the answer is no
		}, invoice)
		switch {
		case errors.Is(err, posthouse.ErrForbidden):
			return "rejected", nil
		case errors.Is(err, posthouse.ErrExpired):
			return "nobody answered", nil
		case err != nil:
			return "", err // posthouse.ErrWaiting: return it, and the thread is parked
		}
		//doc:end
		return string(grant), nil
	})
	env.Answer("pay", posthousetest.Approve("ann"))
	env.Start("howto", "yes", Invoice{"7", 100}).Done()
	env.Answer("pay", posthousetest.Reject("bob", "twice"))
	env.Start("howto", "no", Invoice{"7", 100}).Done()
	env.Start("howto", "late", Invoice{"7", 100})
	env.Advance(48 * time.Hour)
	var out string
	if env.Thread("late").Done().Decode("output", &out); out != "nobody answered" {
		t.Errorf("it says %q", out)
	}
}

func TestHowToPayOnce(t *testing.T) {
	for _, idempotent := range []bool{true, false} {
		posthousetest.EveryKill(t, func(t *testing.T, k *posthousetest.Kill) {
			bank := &Bank{paid: map[string]string{}}
			env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
				app, err := flow.New("howto", func(ctx context.Context, invoice Invoice) (string, error) {
					grant, err := gate.Propose(ctx, gate.Question{Name: "pay"}, invoice)
					if err != nil {
						return "", err
					}
					if idempotent {
						//doc:key
						return gate.Act(ctx, "pay", grant,
							func(ctx context.Context, approved Invoice) (string, error) {
								return bank.Pay(ctx, step.Key(ctx), approved) // the same key at each attempt
							},
							gate.ActOptions[Invoice, string]{Idempotent: true})
						//doc:end
					}
					//doc:reconcile
					return gate.Act(ctx, "pay", grant,
						func(ctx context.Context, approved Invoice) (string, error) { return bank.Pay(ctx, "", approved) },
						gate.ActOptions[Invoice, string]{Reconcile: bank.Find}) // what did the lost attempt do?
					//doc:end
				}).Open(led, nil)
				return []posthouse.Program{app}, err
			}, &posthousetest.Options{Kill: k})
			env.Answer("pay", posthousetest.Approve("ann"))
			paid := env.Start("howto", "t", Invoice{"7", 100})
			if slices.Contains(paid.Asked(), "pay>outcome") && len(bank.paid) == 0 { // the bank does not know the attempt that was lost
				env.Answer("pay>outcome", posthousetest.Redo("ann"))
			}
			env.Settle() // if the bank has paid, it says so
			paid.Done().Acted("pay")
			if len(bank.paid) != 1 {
				t.Errorf("the bank has %v", bank.paid)
			}
		})
	}
}

func TestHowToWait(t *testing.T) {
	env := howto(t, func(ctx context.Context, _ string) (string, error) {
		//doc:wait
		paid, err := step.Signal[Invoice](ctx, "paid", step.SignalOptions{Timeout: 14 * 24 * time.Hour})
		if errors.Is(err, posthouse.ErrExpired) {
			return "no payment in two weeks", nil
		}
		if err != nil {
			return "", err // posthouse.ErrWaiting: parked until the signal comes
		}
		//doc:end
		return "paid " + paid.Number, nil
	})
	led, ctx := env.Ledger(), t.Context()
	event := Invoice{"7", 100}
	id, thread := posthouse.ID("evt-77"), "order-1234"
	//doc:send
	value := must(json.Marshal(event))
	_, err := led.Signal(ctx, thread, posthouse.Signal{
		ID:    id, // of the event: a webhook that comes twice is one signal
		Name:  "paid",
		Value: value,
		By:    "bank",
		Early: true, // also to a thread that has not begun
	})
	//doc:end
	ok(err)
	var out string
	if env.Start("howto", thread, "").Done().Decode("output", &out); out != "paid 7" {
		t.Errorf("it says %q", out)
	}
	env.Start("howto", "late", "")
	env.Advance(14 * 24 * time.Hour)
	env.Thread("late").Done()
}

func TestHowToFork(t *testing.T) {
	ctx := t.Context()
	led := must(ledger.Open(memstore.New(), nil))
	quote := func(ctx context.Context, i Invoice) (int, error) {
		return step.Do(ctx, "price", func(context.Context) (int, error) { return i.Cents * 2, nil })
	}
	app := must(flow.New("quote", quote).Open(led, nil))
	out := must(app.Run(ctx, "order-1234", Invoice{"7", 100}))
	var input *flow.Snapshot[Invoice, int]
	for s := range app.History(ctx, "order-1234", flow.HistoryOptions{Oldest: true, Limit: 1}) {
		input = s
	}
	//doc:fork
	fork := must(app.Fork(ctx, input.ID, func(i *Invoice) { i.Cents = 250 }, flow.ForkOptions{Branch: "what-if"}))
	other := must(app.Resume(ctx, "order-1234", flow.RunOptions{Branch: fork.Branch}))

	compared := must(app.Compare(ctx, out.Checkpoint, other.Checkpoint))
	fmt.Println(compared.From.Output, "or", compared.To.Output)
	//doc:end
	if compared.From.Output != 200 || compared.To.Output != 500 {
		t.Errorf("it compares %+v with %+v", compared.From, compared.To)
	}
	if c := must(diff.Compare(ctx, led, out.Checkpoint, other.Checkpoint)); len(c.Parts) == 0 {
		t.Error("no part differs")
	}
	ok(led.Close())
}

func TestHowToErase(t *testing.T) {
	ctx := t.Context()
	key := bytes.Repeat([]byte{7}, 32)
	store := memstore.New()
	//doc:erase
	ring := must(crypt.NewKeyring(map[string][]byte{"2026": key}, "2026"))
	led := must(ledger.Open(store, &ledger.Options{Cipher: ring})) // each thread has a data key of its own

	app := must(flow.New("greet", greetCustomer).Open(led, nil))
	must(app.Run(ctx, "customer-77/order-1", "Ann Example", flow.RunOptions{Labels: map[string]string{"customer": "77"}}))

	for thread, err := range led.Threads(ctx, posthouse.ThreadQuery{Label: "customer", LabelValue: "77"}) {
		ok(err)
		must(retain.DeleteThread(ctx, led, thread.Thread, &retain.DeleteOptions{By: "privacy-desk", Reason: "asked by the customer"}))
	}
	//doc:end
	if _, err := led.Thread(ctx, "customer-77/order-1"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("the thread is there: %v", err)
	}
	ok(led.Close())
}

func greetCustomer(_ context.Context, name string) (string, error) { return "hello " + name, nil }

func TestHowToUpgrade(t *testing.T) {
	first := true
	env := howto(t, func(ctx context.Context, _ string) (Score, error) {
		if first {
			_, err := step.Do(ctx, "score", func(context.Context) (map[string]int, error) { return map[string]int{"Total": 7}, nil })
			return Score{}, errors.Join(err, step.Sleep(ctx, "night", 12*time.Hour))
		}
		//doc:convert
		score, err := step.DoWith(ctx, "score", step.Options{
			Convert: func(recorded posthouse.Value) (posthouse.Value, error) { // an earlier version recorded {"Total":7}
				was, err := posthouse.Decode[struct{ Total int }](recorded)
				if err != nil {
					return recorded, err
				}
				return posthouse.Encode(nil, Score{Points: was.Total, Scale: "ten"})
			},
		}, computeScore)
		//doc:end
		return score, errors.Join(err, step.Sleep(ctx, "night", 12*time.Hour))
	})
	th := env.Start("howto", "t", "")
	first = false
	env.Restart()
	th.CheckReplay()
	env.Advance(12 * time.Hour)
	var out Score
	if th.Done().Decode("output", &out); out.Points != 7 {
		t.Errorf("the score is %+v", out)
	}
}

type Score struct {
	Points int
	Scale  string
}

func computeScore(context.Context) (Score, error) { return Score{8, "ten"}, nil }
