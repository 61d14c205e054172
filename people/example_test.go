package people_test

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/people"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/substitutes"
)

// Names are known from questions, delegations, decisions and substitutes.
func ExampleOf() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ask := func(thread string, g posthouse.Gate) posthouse.ID {
		asked, err := led.Commit(ctx, &ledger.Draft{
			Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{g},
		})
		if err != nil {
			fmt.Println(err)
			return ""
		}
		return asked.Gates[0].ID
	}
	first := ask("order-1", posthouse.Gate{Name: "refund", Text: "Refund order 1?", Assignees: []string{"alice"}, RequestedBy: "shop"})
	_, err = led.Delegate(ctx, first, posthouse.Delegation{By: "alice", To: "carol"})
	if err != nil {
		fmt.Println(err)
	}
	second := ask("order-2", posthouse.Gate{Name: "refund", Text: "Refund order 2?"})
	_, err = led.Decide(ctx, second, posthouse.Decision{Verdict: posthouse.Approve, By: "dana"})
	if err != nil {
		fmt.Println(err)
	}
	_, err = substitutes.Name(ctx, led, deciders.Substitution{By: "alice", To: "dana", Until: time.Now().Add(time.Hour)})
	if err != nil {
		fmt.Println(err)
	}
	found, err := people.Of(ctx, led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range found.People {
		fmt.Println(p.Name, p.Known)
	}
	// Output:
	// alice [asked]
	// carol [delegate]
	// dana [decided substitute]
}
