package statement_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
	"github.com/posthouse/posthouse/store/memstore"
)

// One thread's audit trail goes to somebody who has the public key and nothing
// else.
func ExampleExport() {
	ctx := context.Background()
	key, err := sign.Generate()
	if err != nil {
		fmt.Println(err)
		return
	}
	store := memstore.New()
	led, err := ledger.Open(store, &ledger.Options{Signer: key})
	if err != nil {
		fmt.Println(err)
		return
	}
	saved, err := led.Commit(ctx, &ledger.Draft{
		Thread: "order-1234", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting},
		Gates: []posthouse.Gate{{Name: "refund", Text: "Refund order 1234?"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := led.Decide(ctx, saved.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		fmt.Println(err)
		return
	}

	var file bytes.Buffer
	if err := statement.Export(ctx, store, "order-1234", key, &file, nil); err != nil {
		fmt.Println(err)
		return
	}
	ring, err := sign.NewRing(key.Public())
	if err != nil {
		fmt.Println(err)
		return
	}
	trail, err := statement.OpenExport(&file, ring)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range trail.Entries {
		records, err := e.Records()
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, r := range records {
			if r.Decision != nil {
				fmt.Println(e.Seq, r.Kind, r.Decision.Verdict, "by", r.Decision.By)
			}
		}
	}
	// Output:
	// 2 decision approve by alice
}
