package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// Close what a thread has as a version, and start over under its name.
func ExampleLedger_Release() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	text := func(s string) posthouse.State {
		return posthouse.State{"text": {Codec: "json", Data: []byte(`"` + s + `"`)}}
	}
	draft, err := led.Save(ctx, posthouse.Root("report", text("a draft")), nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := led.Save(ctx, draft.Derive(text("the report for May")), nil); err != nil {
		log.Fatal(err)
	}
	version, err := led.Release(ctx, "report", &ledger.ReleaseOptions{Tags: []string{"may"}, By: "alice"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("version", version.Version, "has", version.Checkpoints, "checkpoints")
	_, err = led.Latest(ctx, ledger.LatestQuery{Thread: "report"})
	fmt.Println("the name is free:", errors.Is(err, posthouse.ErrNotFound))
	if _, err := led.Save(ctx, posthouse.Root("report", text("a draft for June")), nil); err != nil {
		log.Fatal(err)
	}

	// Later: the state that version ended with, and its history.
	may, err := ledger.FindRelease(ctx, led, "report", "may")
	if err != nil {
		log.Fatal(err)
	}
	end, _ := may.Head("")
	last, err := led.Get(ctx, end.Head)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", last.State["text"].Data)
	for c, err := range led.ListStates(ctx, posthouse.Query{Thread: "report", Generation: may.Version}) {
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
