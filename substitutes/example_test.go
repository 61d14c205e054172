package substitutes_test

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/substitutes"
)

// Bob decides what is assigned to Alice while she is away.
func ExampleName() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	asked, err := led.Commit(ctx, &ledger.Draft{
		Thread: "order-1", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		Gates: []posthouse.Gate{{Name: "refund", Assignees: []string{"alice"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	yes := posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}
	_, err = led.Decide(ctx, asked.Gates[0].ID, yes)
	fmt.Println(err)
	_, err = substitutes.Name(ctx, led, deciders.Substitution{By: "alice", To: "bob", Until: led.Now().Add(7 * 24 * time.Hour), Reason: "on leave"})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := led.Decide(ctx, asked.Gates[0].ID, yes)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Decision.By, "for", g.Decision.For)
	// Output:
	// posthouse: bob is not among those this gate is assigned to (ask one of its assignees)
	// bob for alice
}
