package ledger_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A run is asked to cancel; it stops and has the last word.
func ExampleLedger_Cancel() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	claim, err := led.Claim(ctx, "order-7", "run-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	step := func() error {
		_, err := led.Commit(ctx, &ledger.Draft{Thread: "order-7", Claim: claim, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Node: "pack",
		}})
		return err
	}
	fmt.Println(step())

	// Anybody, in any process:
	head, err := led.Cancel(ctx, "order-7", &ledger.CancelOptions{By: "alice", Reason: "called off"})
	fmt.Println(head.Status, err)

	// The run: a model does this for its programs.
	<-claim.Cancelled(posthouse.MainBranch)
	fmt.Println(errors.Is(step(), posthouse.ErrCancelled))
	head, err = led.Cancel(ctx, "order-7", &ledger.CancelOptions{Claim: claim})
	fmt.Println(head.Status, "by", head.By+":", head.Error, err)
	// Output:
	// <nil>
	// running <nil>
	// true
	// cancelled by alice: called off <nil>
}
