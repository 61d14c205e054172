package posthousetest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/posthousetest"
	"github.com/posthouse/posthouse/step"
)

// A Payment is what people approve in these examples.
type Payment struct {
	Order  string
	Amount int
}

// refund is what the examples test. Pay is given by the caller, so that a test gives a double.
func refund(pay func(context.Context, Payment) (string, error)) flow.Func[Payment, string] {
	return func(ctx context.Context, p Payment) (string, error) {
		grant, err := gate.Propose(ctx, gate.Question{Name: "refund", Text: "Refund " + p.Order + "?", Expires: 48 * time.Hour}, p)
		if errors.Is(err, posthouse.ErrForbidden) || errors.Is(err, posthouse.ErrExpired) {
			return "no refund", nil
		}
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "pay", grant, pay)
	}
}

// opened makes the flow over the Ledger of each process.
func opened(bank *posthousetest.Tool[Payment, string]) posthousetest.Open {
	return func(led *ledger.Ledger) ([]posthouse.Program, error) {
		app, err := flow.New("refund", refund(bank.Call)).Open(led, nil)
		return []posthouse.Program{app}, err
	}
}

func receipt(_ context.Context, p Payment) (string, error) { return "receipt for " + p.Order, nil }

func Example() {
	t := testingT("TestRefund") // in a test it is the *testing.T
	defer t.end()

	bank := posthousetest.NewTool(t, "bank", receipt)
	env := posthousetest.New(t, opened(bank), nil)
	env.Answer("refund", posthousetest.Approve("ann"))
	thread := env.Start("refund", "order-1234", Payment{"1234", 40}).Done()

	var out string
	thread.Decode("output", &out)
	fmt.Println(out, "approved by", thread.Acted("pay").By(), "paid", bank.Once().In.Amount)
	// Output: receipt for 1234 approved by ann paid 40
}

// A test that gives no answer fails, and says what was asked.
func ExampleEnv_Answer() {
	t := testingT("TestForgotten")
	env := posthousetest.New(t, opened(posthousetest.NewTool(t, "bank", receipt)), nil)
	env.Start("refund", "order-1234", Payment{"1234", 40})
	t.end()
	// Output:
	// --- FAIL: TestForgotten
	// posthousetest: at the end of the test
	//   nobody answered question "refund" (Refund 1234?) about {"Order":"1234","Amount":40} of thread order-1234
	// thread order-1234 is waiting
	//   waits for question "refund" (Refund 1234?) about {"Order":"1234","Amount":40}, until 2026-01-07T09:00:00Z
}

func ExampleEnv_Advance() {
	t := testingT("TestDeadline")
	defer t.end()

	bank := posthousetest.NewTool(t, "bank", receipt)
	env := posthousetest.New(t, opened(bank), nil)
	thread := env.Start("refund", "order-1234", Payment{"1234", 40})
	env.Advance(47 * time.Hour)
	fmt.Println(thread.Status())
	env.Advance(time.Hour) // the question expires
	fmt.Println(thread.Status())
	thread.NotActed("pay")
	bank.Times(0)
	// Output:
	// waiting
	// done
}

func ExampleEnv_Kill() {
	t := testingT("TestKilledBeforeTheReceipt")
	defer t.end()

	model := posthousetest.NewTool(t, "model", func(context.Context, string) (string, error) { return "fine", nil })
	env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
		app, err := flow.New("chat", func(ctx context.Context, in string) (string, error) {
			first, err := step.Do(ctx, "first", func(ctx context.Context) (string, error) { return model.Call(ctx, in) })
			if err != nil {
				return "", err
			}
			return step.Do(ctx, "second", func(ctx context.Context) (string, error) { return model.Call(ctx, first) })
		}).Open(led, nil)
		return []posthouse.Program{app}, err
	}, nil)
	env.Kill(posthousetest.After("first"))
	env.Start("chat", "chat-1", "how are you?").Done()
	fmt.Println(len(model.Calls()), "calls: the first is on record, and was not made again")
	// Output: 2 calls: the first is on record, and was not made again
}

func ExampleEveryKill() {
	t := testingT("TestNothingRunsTwice")
	defer t.end()

	posthousetest.EveryKill(t, func(t *printed, k *posthousetest.Kill) {
		bank := posthousetest.NewTool(t, "bank", receipt)
		env := posthousetest.New(t, opened(bank), &posthousetest.Options{Kill: k, Tools: []posthousetest.Witness{bank}})
		env.Answer("refund", posthousetest.Approve("ann"))
		env.Start("refund", "order-1234", Payment{"1234", 40}).Done().Acted("pay")
		bank.Times(1)
	})
	// Output:
	// --- PASS: no kill
	// --- PASS: before entry 1 (wait refund, gate)
	// --- PASS: after entry 1 (wait refund, gate)
	// --- PASS: before entry 2 (step pay>$use)
	// --- PASS: after entry 2 (step pay>$use)
	// --- PASS: before entry 3 (step pay, event pay)
	// --- PASS: after entry 3 (step pay, event pay)
	// --- PASS: before entry 4 (node refund)
	// --- PASS: after entry 4 (node refund)
}

// A client that uses its connection a second time sends a POST again by itself if the connection breaks,
// and it has an idempotency key: this bank knows no keys, and pays twice.
func ExampleNewBank() {
	t := testingT("TestPayTwice")
	defer t.end()

	bank := posthousetest.NewBank(t)
	post := func(amount, key string) {
		r, _ := http.NewRequest(http.MethodPost, bank.URL, strings.NewReader(amount))
		r.Header.Set("Idempotency-Key", key)
		resp, err := bank.Client.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		answer, _ := io.ReadAll(resp.Body)
		fmt.Println(resp.Status, string(answer))
	}
	post("10", "order-1")
	bank.Next(posthousetest.BankResetsAfter) // and pays the next
	post("40", "order-2")
	bank.Next(posthousetest.BankRefuses)
	post("50", "order-3")
	for _, c := range bank.Paid() {
		fmt.Println(c.Paid, "of", c.Body)
	}
	// Output:
	// 200 OK {"payment":"payment-1"}
	// 200 OK {"payment":"payment-3"}
	// 402 Payment Required {"error":"the account does not cover it"}
	// payment-1 of 10
	// payment-2 of 40
	// payment-3 of 40
}

// A deploy has put a step before one that open threads have on record.
func ExampleThread_CheckReplay() {
	t := testingT("TestOpenThreads")
	deployed := false
	env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
		app, err := flow.New("greet", func(ctx context.Context, _ string) (string, error) {
			if deployed {
				if _, err := step.Do(ctx, "look up", func(context.Context) (string, error) { return "ann", nil }); err != nil {
					return "", err
				}
			}
			if _, err := step.Do(ctx, "greet", func(context.Context) (string, error) { return "hello", nil }); err != nil {
				return "", err
			}
			return "", step.Sleep(ctx, "night", 12*time.Hour)
		}).Open(led, nil)
		return []posthouse.Program{app}, err
	}, nil)
	thread := env.Start("greet", "t", "")
	thread.CheckReplay()
	deployed = true
	thread.CheckReplay()
	t.end()
	// Output:
	// --- FAIL: TestOpenThreads
	// posthousetest: thread t, branch main, executed over its first 3 entries: posthouse: task "1/greet" of thread "t" asks for step "look up" where step "greet" is on record (restore the order of the steps, fork from before the task, or mark steps that run at once with step.Unordered)
}

// A printed is a test that prints how it fails, since an example has no *testing.T.
type printed struct {
	name   string
	failed bool
	clean  []func()
}

func testingT(name string) *printed { return &printed{name: name} }

func (t *printed) Helper()                  {}
func (t *printed) Context() context.Context { return context.Background() }
func (t *printed) Cleanup(f func())         { t.clean = append(t.clean, f) }
func (t *printed) Failed() bool             { return t.failed }

func (t *printed) Errorf(format string, args ...any) {
	if !t.failed {
		fmt.Println("--- FAIL:", t.name)
	}
	t.failed = true
	fmt.Printf(format+"\n", args...)
}

func (t *printed) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	panic("the example ends")
}

func (t *printed) Run(name string, f func(*printed)) bool {
	sub := testingT(name)
	f(sub)
	sub.end()
	if !sub.failed {
		fmt.Println("--- PASS:", name)
	}
	return !sub.failed
}

func (t *printed) end() {
	for _, f := range t.clean {
		f()
	}
	t.clean = nil
}
