package transfer_test

import (
	"context"
	"fmt"
	"log"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// Try something on a copy of a thread; the original stays as it is.
func ExampleCopyThread() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	first, err := led.Save(ctx, posthouse.Root("order-1234", posthouse.State{"amount": {Codec: "json", Data: []byte("12")}}), nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := transfer.CopyThread(ctx, led, "order-1234", "trial", nil); err != nil {
		log.Fatal(err)
	}
	c, err := led.Latest(ctx, ledger.LatestQuery{Thread: "trial"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, as in the original: %v\n", c.State["amount"].Data, c.Source.ID == first.ID)
	// Output: 12, as in the original: true
}
