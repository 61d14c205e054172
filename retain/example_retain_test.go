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

// A policy takes threads as a whole that ended long ago, and leaves those that may go on.
func ExamplePolicy_finished() {
	ctx, now := context.Background(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	led, err := ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return now }})
	if err != nil {
		panic(err)
	}
	for thread, status := range map[string]posthouse.Status{"order-1": posthouse.StatusDone, "order-2": posthouse.StatusRunning} {
		change := &posthouse.Change{Kind: posthouse.KindNode, Status: status}
		if status == posthouse.StatusRunning {
			change.Next = []string{"pay"}
		}
		if _, err := led.Commit(ctx, &ledger.Draft{Thread: thread, Checkpoint: change}); err != nil {
			panic(err)
		}
	}
	now = now.AddDate(0, 0, 91)
	done, err := retain.Run(ctx, led, retain.Policy{Finished: 90 * 24 * time.Hour}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("threads that went:", done.FinishedThreads)
	// Output:
	// threads that went: [order-1]
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
