package ledger_test

import (
	"context"
	"fmt"
	"log"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A workflow that keeps its own opaque state: save a root, derive a child on
// each step, resume from the newest, fork to explore another way.
func Example() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	type order struct{ Item, Step string }
	state := func(step string) posthouse.State {
		s, err := posthouse.Opaque(nil, order{"tea", step})
		if err != nil {
			log.Fatal(err)
		}
		return s
	}

	root, err := led.Save(ctx, posthouse.Root("coord-42", state("received")), nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = led.Save(ctx, root.Derive(state("packed")), nil)
	if err != nil {
		log.Fatal(err)
	}

	latest, err := led.Latest(ctx, ledger.LatestQuery{Coordination: "coord-42"})
	if err != nil {
		log.Fatal(err)
	}
	o, err := posthouse.Decode[order](latest.State[posthouse.OpaquePart])
	if err != nil {
		log.Fatal(err)
	}
	branch, err := led.Fork(ctx, latest.ID, &ledger.ForkOptions{Replace: state("returned")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(o.Step, latest.Parent == root.ID)
	fmt.Println(branch.Branch, branch.Parent == latest.ID)
	// Output:
	// packed true
	// fork-1 true
}

func ExampleLedger_Decide() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	// A workflow commits its question together with the checkpoint that waits.
	asked, err := led.Commit(ctx, &ledger.Draft{
		Thread: "order-1234",
		Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Node: "approve", Next: []string{"approve"},
		},
		Gates: []posthouse.Gate{{Name: "refund", Text: "Refund order 1234?"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	// Days later, anywhere.
	gate, err := led.Decide(ctx, asked.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	if err != nil {
		log.Fatal(err)
	}
	_, again := led.Decide(ctx, gate.ID, posthouse.Decision{Verdict: posthouse.Reject, By: "bob"})
	fmt.Println(gate.Decision.Verdict, "by", gate.Decision.By)
	fmt.Println(again != nil)
	// Output:
	// approve by alice
	// true
}

func ExampleObserver() {
	ctx := context.Background()
	saved := map[string]int{}
	led, err := ledger.Open(memstore.New(), &ledger.Options{Observer: func(op posthouse.Operation) {
		if op.Kind == posthouse.OpSaved {
			saved[op.Coordination]++
		}
	}})
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if _, err := led.Save(ctx, posthouse.Root("dispatch", nil), nil); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(saved)
	// Output: map[dispatch:3]
}

func ExampleLedger_Watch() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		if _, err := led.Save(ctx, posthouse.Root("dispatch", nil), nil); err != nil {
			log.Fatal(err)
		}
	}
	for e, err := range led.Watch(ctx, ledger.WatchQuery{}) { // blocks for more when it has told all
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Kind, e.Thread, e.Seq)
		if e.Seq == 2 {
			break
		}
	}
	// Output:
	// checkpoint dispatch 1
	// checkpoint dispatch 2
}

// A slow observer is told on a goroutine of its own, through a queue: it holds up
// no commit, and missed events are counted.
func ExampleAsync() {
	slow := ledger.Async(func(op posthouse.Operation) { fmt.Println(op.Kind, "in", op.Thread) }, 100)
	led, err := ledger.Open(memstore.New(), &ledger.Options{Observer: slow.Observe})
	if err != nil {
		panic(err)
	}
	if _, err := led.Save(context.Background(), posthouse.Root("order-1", nil), nil); err != nil {
		panic(err)
	}
	slow.Close() // tells what is queued
	fmt.Println(slow.Dropped())
	// Output:
	// saved in order-1
	// 0
}
