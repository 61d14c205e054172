package retain_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// A policy lets old checkpoints go; a dry run says beforehand what. A thread
// under legal hold is passed over, and cannot be deleted.
func ExampleRun() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	for _, thread := range []string{"order-1", "order-2"} {
		for i := range 5 {
			state, _ := posthouse.Opaque(nil, i)
			if _, err := led.Save(ctx, posthouse.Root(thread, state), nil); err != nil {
				panic(err)
			}
		}
	}
	if _, err := retain.Hold(ctx, led, "order-2", retain.HoldOptions{By: "legal", Reason: "case 7"}); err != nil {
		panic(err)
	}
	policy := retain.Policy{MaxPerThread: 2}
	dry, err := retain.Run(ctx, led, policy, &retain.Options{DryRun: true})
	if err != nil {
		panic(err)
	}
	fmt.Println("would go:", dry.Checkpoints, "held:", dry.Held)
	done, err := retain.Run(ctx, led, policy, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("went:", done.Checkpoints, done.Bytes == dry.Bytes)
	_, err = retain.DeleteThread(ctx, led, "order-2", nil)
	fmt.Println(errors.Is(err, posthouse.ErrForbidden))
	// Output:
	// would go: 3 held: 1
	// went: 3 true
	// true
}

// A policy takes what handlers saved for tasks that have been complete for a week, also in
// threads that stay. Those of tasks that failed stay for a retry.
func ExamplePolicy_slots() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	done, err := retain.Run(context.Background(), led, retain.Policy{Slots: 7 * 24 * time.Hour}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("slots that went:", done.Slots)
	// Output:
	// slots that went: 0
}
