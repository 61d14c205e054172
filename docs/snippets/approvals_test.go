package snippets_test

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

type (
	Payment struct {
		Order  string
		Amount int
	}
	Receipt struct{ Number int }
	Change  struct{ Amount int }
	Order   struct{ Number string }
)

type bankClient struct{}

func (bankClient) Pay(context.Context, Payment) (Receipt, error) { return Receipt{77}, nil }

func Example_approvalsInSession() {
	ctx := context.Background()
	var bank bankClient
	//doc:require
	pay := gate.Require(func(ctx context.Context, p Payment) (Receipt, error) {
		return bank.Pay(ctx, p)
	}, gate.Approval{Tool: "pay", Message: "Pay this order?", Timeout: time.Minute})
	//doc:end
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	agent := flow.New("agent", func(ctx context.Context, order string) (Receipt, error) { return pay(ctx, Payment{order, 40}) })
	app := must(agent.Open(led, nil))
	texts := make(chan string)
	send := func(g *posthouse.Gate) error {
		go func() { texts <- "/__approval/" + string(g.ID) + "/approve"; close(texts) }()
		return nil
	}
	const user, thread, input = "alice", "chat-1", "1234"
	//doc:open-session
	chat := gate.NewSession(&gate.SessionOptions{By: user, Announce: send})
	defer chat.Close() // denies what still waits
	done := make(chan *flow.Result[Receipt])
	go func() { done <- must(app.Run(chat.With(ctx), thread, input)) }()
	for text := range texts { // each message that comes in
		switch chat.Receive(text, user) {
		case gate.NotApproval: // a message like any other
		case gate.Resolved: // an answer: the call goes on
		}
	}
	//doc:end
	fmt.Println((<-done).Output)
	// Output: {77}
}

func askChange(ctx context.Context, order Order, user string) error {
	//doc:ask
	a, err := gate.Ask[Change](ctx, gate.Question{
		Name: "refund", Text: "Refund order 1234?", Show: order, RequestedBy: user, Expires: 48 * time.Hour,
	})
	if err != nil {
		return err // posthouse.ErrWaiting
	}
	//doc:end
	fmt.Println(a.Verdict)
	return nil
}

func Example_approvalsDurable() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	judge := func(context.Context, *posthouse.Gate) (gate.Judgement, error) {
		return gate.Judgement{Verdict: posthouse.Approve, Confidence: 0.95}, nil
	}
	belowDailyLimit := func(context.Context, *posthouse.Gate, *posthouse.Decision) error { return nil }
	people, team, managers, user := []string{"alice", "bob"}, []string{"carol"}, []string{"dave"}, "eve"
	questions := []gate.Question{
		//doc:auto
		{Name: "refund", Expires: time.Hour, Auto: &gate.Auto{
			Judge:     judge, // func(ctx, *posthouse.Gate) (gate.Judgement, error)
			Threshold: 0.9,   // default 0.7
			Guards:    []func(context.Context, *posthouse.Gate, *posthouse.Decision) error{belowDailyLimit},
			OnTimeout: gate.TimeoutReject, // or TimeoutAccept, TimeoutError
		}},
		//doc:end
		//doc:several
		{Name: "release", Assignees: people, Quorum: &posthouse.Quorum{Need: 2}},
		{Name: "payout", RequestedBy: user, FourEyes: true},
		//doc:end
		//doc:remind
		{Name: "refund", Expires: 48 * time.Hour, Remind: []gate.Reminder{{After: 4 * time.Hour}, {Before: time.Hour}}},
		//doc:end
		//doc:escalate
		{Name: "refund", Assignees: team, Escalate: &gate.Escalation{After: 4 * time.Hour, To: managers}},
		//doc:end
	}
	f := flow.New("ask", func(ctx context.Context, _ string) (n int, err error) {
		var waits error
		for _, q := range questions {
			a, err := gate.Ask[struct{}](ctx, q)
			if waits == nil {
				waits = err
			}
			if a.Approved() {
				n++
			}
		}
		if waits == nil {
			waits = askChange(ctx, Order{"1234"}, user)
		}
		return n, waits
	})
	out := must(must(f.Open(led, nil)).Run(ctx, "t", ""))
	for _, g := range out.Waiting {
		fmt.Println(g.Name, g.Missing())
	}
	// Output:
	// release 2
	// payout 2
	// refund 0
	// refund 0
}
