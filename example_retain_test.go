package posthouse_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/memstore"
)

// A policy lets old checkpoints go; a dry run says beforehand what. A thread
// under legal hold is passed over, and cannot be deleted.
func ExampleLedger_Retain() {
	ctx := context.Background()
	ledger, err := posthouse.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	for _, thread := range []string{"order-1", "order-2"} {
		for i := range 5 {
			state, _ := posthouse.Opaque(nil, i)
			if _, err := ledger.Save(ctx, posthouse.Root(thread, state), nil); err != nil {
				panic(err)
			}
		}
	}
	if _, err := ledger.Hold(ctx, "order-2", posthouse.HoldOptions{By: "legal", Reason: "case 7"}); err != nil {
		panic(err)
	}
	policy := posthouse.Retention{MaxPerThread: 2}
	dry, err := ledger.Retain(ctx, policy, &posthouse.RetainOptions{DryRun: true})
	if err != nil {
		panic(err)
	}
	fmt.Println("would go:", dry.Checkpoints, "held:", dry.Held)
	done, err := ledger.Retain(ctx, policy, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("went:", done.Checkpoints, done.Bytes == dry.Bytes)
	_, err = ledger.DeleteThread(ctx, "order-2", nil)
	fmt.Println(errors.Is(err, posthouse.ErrForbidden))
	// Output:
	// would go: 3 held: 1
	// went: 3 true
	// true
}
