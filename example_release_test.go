package posthouse_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/memstore"
)

// Close what a thread has as a version, and begin anew under its name.
func ExampleLedger_Release() {
	ctx := context.Background()
	ledger, err := posthouse.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	text := func(s string) posthouse.State {
		return posthouse.State{"text": {Codec: "json", Data: []byte(`"` + s + `"`)}}
	}
	draft, err := ledger.Save(ctx, posthouse.Root("report", text("a draft")), nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := ledger.Save(ctx, draft.Derive(text("the report for May")), nil); err != nil {
		log.Fatal(err)
	}
	version, err := ledger.Release(ctx, "report", &posthouse.ReleaseOptions{Tags: []string{"may"}, By: "alice"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("version", version.Version, "has", version.Checkpoints, "checkpoints")
	_, err = ledger.Latest(ctx, posthouse.LatestQuery{Thread: "report"})
	fmt.Println("the name is free:", errors.Is(err, posthouse.ErrNotFound))
	if _, err := ledger.Save(ctx, posthouse.Root("report", text("a draft for June")), nil); err != nil {
		log.Fatal(err)
	}

	// Later: the state that version ended with, and its history.
	may, err := ledger.ReleaseOf(ctx, "report", "may")
	if err != nil {
		log.Fatal(err)
	}
	end, _ := may.Head("")
	last, err := ledger.Get(ctx, end.Head)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", last.State["text"].Data)
	for c, err := range ledger.ListStates(ctx, posthouse.Query{Thread: "report", Generation: may.Version}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("- %s\n", c.State["text"].Data)
	}
	// Output:
	// version 1 has 2 checkpoints
	// the name is free: true
	// "the report for May"
	// - "a draft"
	// - "the report for May"
}

// Try something on a copy of a thread; the original stays as it is.
func ExampleLedger_CopyThread() {
	ctx := context.Background()
	ledger, err := posthouse.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	first, err := ledger.Save(ctx, posthouse.Root("order-1234", posthouse.State{"amount": {Codec: "json", Data: []byte("12")}}), nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := ledger.CopyThread(ctx, "order-1234", "trial", nil); err != nil {
		log.Fatal(err)
	}
	c, err := ledger.Latest(ctx, posthouse.LatestQuery{Thread: "trial"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, as in the original: %v\n", c.State["amount"].Data, c.Source.ID == first.ID)
	// Output: 12, as in the original: true
}

// See what two checkpoints have in common and what not.
func ExampleLedger_Compare() {
	ctx := context.Background()
	ledger, err := posthouse.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	first, err := ledger.Save(ctx, posthouse.Root("order-1234", posthouse.State{
		"order": {Codec: "json", Data: []byte(`{"amount":12,"items":["lamp"]}`)},
	}), nil)
	if err != nil {
		log.Fatal(err)
	}
	fork, err := ledger.Fork(ctx, first.ID, &posthouse.ForkOptions{Merge: posthouse.State{
		"order": {Codec: "json", Data: []byte(`{"items":["lamp","rug"]}`)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	diff, err := ledger.Compare(ctx, first.ID, fork.ID)
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
