package inbox_test

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// Alice hides a question for an hour: it is missing in her inbox, and in no other.
func ExampleHide() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	asked, err := led.Commit(ctx, &ledger.Draft{
		Thread: "order-1", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "refund"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := inbox.Hide(ctx, led, asked.Gates[0].ID, inbox.Snooze{By: "alice", Until: led.Now().Add(time.Hour)}); err != nil {
		fmt.Println(err)
		return
	}
	for _, who := range []string{"alice", "bob"} {
		page, err := inbox.List(ctx, led, &inbox.Query{Assignee: who})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(who, len(page.Items))
	}
	// Output:
	// alice 0
	// bob 1
}

// Ann cancels the branch that asks: the question is withdrawn, and says by whom and why.
func ExampleWhy() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	asked, err := led.Commit(ctx, &ledger.Draft{
		Thread: "order-1", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "refund"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := led.Cancel(ctx, "order-1", &ledger.CancelOptions{By: "ann", Reason: "the order is closed"}); err != nil {
		fmt.Println(err)
		return
	}
	g, err := led.Gate(ctx, asked.Gates[0].ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(inbox.Why(ctx, led, g))
	// Output: the branch was cancelled by ann: the order is closed <nil>
}
