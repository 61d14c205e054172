package diff_test

import (
	"context"
	"fmt"
	"log"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// See what two checkpoints have in common and what not.
func ExampleCompare() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	first, err := led.Save(ctx, posthouse.Root("order-1234", posthouse.State{
		"order": {Codec: "json", Data: []byte(`{"amount":12,"items":["lamp"]}`)},
	}), nil)
	if err != nil {
		log.Fatal(err)
	}
	fork, err := led.Fork(ctx, first.ID, &ledger.ForkOptions{Merge: posthouse.State{
		"order": {Codec: "json", Data: []byte(`{"items":["lamp","rug"]}`)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	diff, err := diff.Compare(ctx, led, first.ID, fork.ID)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range diff.Parts {
		for _, c := range p.Paths {
			fmt.Println(p.Name, c.Path, c.Change, string(c.B))
		}
	}
	fmt.Println("both derive from the first:", diff.Ancestor == first.ID)
	// Output:
	// order /items/1 added "rug"
	// both derive from the first: true
}
