package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

type Refund struct {
	Request string
	Amount  int
}

type Change struct {
	Amount int `json:"amount" jsonschema:"what to refund, in cents"`
}

// A node asks; the thread is parked; a day later somebody answers with other
// values than were proposed.
func Example() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		fmt.Println(err)
		return
	}

	g := graph.New[Refund]("refund")
	g.Node("approve", func(ctx context.Context, r *Refund) error {
		a, err := gate.Ask[Change](ctx, gate.Question{
			Name: "refund", Text: "Refund this order?", Show: r.Request, RequestedBy: "alice", Expires: 48 * time.Hour,
		})
		if err != nil {
			return err
		}
		switch a.Verdict {
		case posthouse.Edit:
			r.Amount = a.Value.Amount
		case posthouse.Reject, posthouse.Expire:
			r.Amount = 0
		}
		return nil
	})
	g.Edge(graph.Start, "approve")
	g.Edge("approve", graph.End)
	app, err := g.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	out, err := app.Run(ctx, "order-1234", Refund{Request: "order 1234", Amount: 5000})
	if err != nil {
		fmt.Println(err)
		return
	}
	id := out.Waiting[0].ID
	_, err = led.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	fmt.Println(err)
	_, err = led.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Edit, By: "bob", Value: json.RawMessage(`{"amount":"2500"}`)})
	fmt.Println(err)
	_, err = led.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Edit, By: "bob", Value: json.RawMessage(`{"amount":2500}`)})
	fmt.Println(err)

	out, err = app.Resume(ctx, "order-1234")
	fmt.Println(out.State.Amount, err)
	// Output:
	// posthouse: alice asked for this and cannot approve it (somebody else has to decide, with an access of their own: posthouse token create --name NAME --role approver)
	// posthouse: value does not satisfy the gate's schema: at amount: type: "2500" has type "string", want "integer"
	// <nil>
	// 2500 <nil>
}

// A validator stands on its own.
func ExampleValidator() {
	validate := gate.Validator()
	schema := json.RawMessage(`{"type": "object", "properties": {"lines": {"items": {"required": ["sku"]}}}}`)
	fmt.Println(validate(schema, json.RawMessage(`{"lines": [{"sku": "A1"}, {}]}`)))
	// Output: at lines[]: required: missing properties: ["sku"]
}

// A tool asks on the connection that its caller talks over, and runs with the
// arguments that were approved.
func ExampleRequire() {
	type transfer struct {
		To     string `json:"to"`
		Amount int    `json:"amount"`
	}
	send := gate.Require(func(_ context.Context, t transfer) (string, error) {
		return fmt.Sprintf("sent %d to %s", t.Amount, t.To), nil
	}, gate.Approval{Tool: "transfer", Message: "Send this money?"})

	var chat *gate.Session
	chat = gate.NewSession(&gate.SessionOptions{By: "alice", Announce: func(g *posthouse.Gate) error {
		fmt.Printf("%s %s\n", g.Text, g.Payload)
		go chat.Receive("/__approval/"+string(g.ID)+`/approve {"to":"bob","amount":5}`, "alice") // what the client sends
		return nil
	}})
	defer chat.Close()

	fmt.Println(send(chat.With(context.Background()), transfer{"bob", 500}))
	_, err := send(context.Background(), transfer{"bob", 500})
	fmt.Println(err)
	// Output:
	// Send this money? {"to":"bob","amount":500}
	// sent 5 to bob <nil>
	// posthouse: tool transfer needs an approval and nobody can be asked here (talk to the agent over a WebSocket, install a gate.Session, or ask durably with gate.Ask)
}

// With a Ledger, an approval that waits in one process is answered in another
// over the same store.
func ExampleRelay() {
	store := memstore.New()
	here, err := ledger.Open(store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	elsewhere, err := ledger.Open(store, nil) // another process, over a store that takes several
	if err != nil {
		fmt.Println(err)
		return
	}
	pay := gate.Require(func(context.Context, string) (string, error) { return "paid", nil }, gate.Approval{Tool: "pay", Message: "Pay this order?"})
	asked := make(chan posthouse.ID, 1)
	chat := gate.NewSession(&gate.SessionOptions{By: "alice", Ledger: here, Announce: func(g *posthouse.Gate) error {
		asked <- g.ID
		return nil
	}})
	defer chat.Close()
	go func() {
		relay := gate.Relay{Ledger: elsewhere}
		if _, err := relay.Decide(context.Background(), <-asked, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); err != nil {
			fmt.Println(err)
		}
	}()
	fmt.Println(pay(chat.With(context.Background()), "order-1234"))
	// Output: paid <nil>
}

// asked runs a graph of one node that asks q, up to its first wait or its end.
func asked(q gate.Question) (*ledger.Ledger, *graph.App[Refund], *graph.Result[Refund], error) {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		return nil, nil, nil, err
	}
	app, err := asks(led, q)
	if err != nil {
		return nil, nil, nil, err
	}
	out, err := app.Run(context.Background(), "order-1", Refund{})
	return led, app, out, err
}

// asks makes a graph of one node that asks q.
func asks(led *ledger.Ledger, q gate.Question) (*graph.App[Refund], error) {
	g := graph.New[Refund]("refund")
	g.Node("approve", func(ctx context.Context, r *Refund) error {
		a, err := gate.Ask[any](ctx, q)
		r.Request = fmt.Sprintf("%s by %s %s", a.Verdict, a.By, a.Reason)
		if a.For != "" {
			r.Request += "for " + a.For
		}
		return err
	})
	g.Edge(graph.Start, "approve")
	g.Edge("approve", graph.End)
	return g.Compile(led, nil)
}

// A judge answers what it is sure of; the rest is for people.
func ExampleAuto() {
	sure := func(confidence float64) *gate.Auto {
		return &gate.Auto{Judge: func(context.Context, *posthouse.Gate) (gate.Judgement, error) {
			return gate.Judgement{Verdict: posthouse.Approve, Confidence: confidence, Reason: "below 10 euros"}, nil
		}}
	}
	_, _, out, err := asked(gate.Question{Name: "refund", Auto: sure(0.95)})
	fmt.Println(out.State.Request, err)
	_, _, out, err = asked(gate.Question{Name: "refund", Text: "Refund?", Auto: sure(0.5)})
	fmt.Println(out.Waiting[0].Text, out.Waiting[0].Note, err)
	// Output:
	// approve by policy:judge below 10 euros <nil>
	// Refund? the judge would approve, with a confidence of 0.50: below 10 euros <nil>
}

// Two of three people must agree; each counts once.
func ExampleQuestion_quorum() {
	ctx := context.Background()
	led, app, out, err := asked(gate.Question{
		Name: "release", Assignees: []string{"alice", "bob", "carol"}, Quorum: &posthouse.Quorum{Need: 2, Outvote: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	id := out.Waiting[0].ID
	for _, vote := range []posthouse.Decision{
		{Verdict: posthouse.Approve, By: "alice"}, {Verdict: posthouse.Approve, By: "alice"}, {Verdict: posthouse.Reject, By: "bob"},
		{Verdict: posthouse.Approve, By: "carol"},
	} {
		g, err := led.Decide(ctx, id, vote)
		if err != nil {
			fmt.Println(errors.Is(err, posthouse.ErrVoted), strings.ReplaceAll(err.Error(), string(id), "ID"))
			continue
		}
		fmt.Println(vote.By, vote.Verdict, "missing:", g.Missing(), "decided:", g.Decision != nil)
	}
	out, err = app.Resume(ctx, "order-1")
	fmt.Println(out.State.Request, err)
	// Output:
	// alice approve missing: 1 decided: false
	// true posthouse: alice has voted on gate ID already: approve (somebody else has to vote)
	// bob reject missing: 1 decided: false
	// carol approve missing: 0 decided: true
	// approve by carol  <nil>
}

// An assignee hands a question on. The record says who decided, and in place of whom.
func ExampleQuestion_delegation() {
	ctx := context.Background()
	led, app, out, err := asked(gate.Question{Name: "refund", Assignees: []string{"alice"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	id := out.Waiting[0].ID
	_, err = led.Delegate(ctx, id, posthouse.Delegation{By: "alice", To: "bob", Reason: "on holiday"})
	fmt.Println(err)
	_, err = led.Delegate(ctx, id, posthouse.Delegation{By: "bob", To: "alice"})
	fmt.Println(err)
	_, err = led.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
	fmt.Println(err)
	out, err = app.Resume(ctx, "order-1")
	fmt.Println(out.State.Request, err)
	// Output:
	// <nil>
	// posthouse: to alice had this right before: it would go in a circle
	// <nil>
	// approve by bob for alice <nil>
}

// After an hour the managers may decide, too.
func ExampleQuestion_escalation() {
	ctx, now := context.Background(), time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	led, err := ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	app, err := asks(led, gate.Question{
		Name: "refund", Assignees: []string{"alice"}, Escalate: &gate.Escalation{After: time.Hour, To: []string{"boss"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := app.Run(ctx, "order-1", Refund{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		_, err = led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "boss"})
		fmt.Println(err)
		now = now.Add(time.Hour)
	}
	// Output:
	// posthouse: boss is not among those this gate is assigned to (ask one of its assignees)
	// <nil>
}

// Two people, neither of them who asked.
func ExampleQuestion_fourEyes() {
	ctx := context.Background()
	led, app, out, err := asked(gate.Question{Name: "payout", RequestedBy: "alice", FourEyes: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, by := range []string{"alice", "bob", "carol"} {
		_, err := led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: by})
		fmt.Println(by, err)
	}
	out, err = app.Resume(ctx, "order-1")
	fmt.Println(out.State.Request, err)
	// Output:
	// alice posthouse: alice asked for this and has no vote on it (cancel it to withdraw it)
	// bob <nil>
	// carol <nil>
	// approve by carol  <nil>
}

// People are reminded four hours after they were asked, and an hour before the deadline.
func ExampleQuestion_reminders() {
	_, _, out, err := asked(gate.Question{
		Name: "refund", Expires: 48 * time.Hour, Remind: []gate.Reminder{{After: 4 * time.Hour}, {Before: time.Hour}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := out.Waiting[0]
	for _, at := range g.Remind {
		fmt.Println(g.ExpiresAt.Sub(at).Round(time.Second), "before the deadline")
	}
	// Output:
	// 44h0m0s before the deadline
	// 1h0m0s before the deadline
}
