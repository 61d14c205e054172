package ledger_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// A deploy asks in other words, is answered otherwise, and goes another way than
// the one on record. RestartStep drops what was computed on that way; what was done to the
// world stays, and is listed.
func ExampleLedger_RestartStep() {
	ctx := context.Background()
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	refund := func(question string) *flow.App[int, string] {
		app, err := flow.New("refund", func(ctx context.Context, _ int) (string, error) {
			how := "voucher"
			if a, err := gate.Ask[any](ctx, gate.Question{Name: "how", Text: question}); err != nil {
				return "", err
			} else if a.Approved() {
				how = "cash"
			}
			done, err := step.DoWith(ctx, how, step.Options{Effect: posthouse.EffectExternal}, func(context.Context) (string, error) { return how, nil })
			if err != nil {
				return "", err
			}
			_, err = gate.Ask[any](ctx, gate.Question{Name: "close", Text: "Close the case?"})
			return done, err
		}).Open(l, nil)
		if err != nil {
			panic(err)
		}
		return app
	}
	answer := func(v posthouse.Verdict) {
		for g := range l.Gates(ctx, ledger.GateQuery{Thread: "case-7"}) {
			fmt.Println(g.Text, v)
			if _, err := l.Decide(ctx, g.ID, posthouse.Decision{Verdict: v, By: "alice"}); err != nil {
				fmt.Println(err)
			}
		}
	}
	_, _ = refund("In cash?").Run(ctx, "case-7", 0)
	answer(posthouse.Approve)
	_, _ = refund("In cash?").Resume(ctx, "case-7")
	answer(posthouse.Approve)

	deployed := refund("In cash, or as a voucher?")
	_, _ = deployed.Resume(ctx, "case-7")
	answer(posthouse.Reject)
	_, err = deployed.Resume(ctx, "case-7")
	fmt.Println("it goes another way:", err != nil)

	head, err := l.Latest(ctx, ledger.LatestQuery{Thread: "case-7"})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := l.RestartStep(ctx, head.ID, &ledger.RestartStepOptions{By: "ops"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range a.Kept {
		fmt.Println("done, and to be undone by hand:", s.Name)
	}
	r, err := deployed.Resume(ctx, "case-7")
	fmt.Println(r.Output, err)
	// Output:
	// In cash? approve
	// Close the case? approve
	// In cash, or as a voucher? reject
	// it goes another way: true
	// done, and to be undone by hand: cash
	// voucher <nil>
}
