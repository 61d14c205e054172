package ledgertest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/memstore"
)

// The first answer to an append gets lost: the Ledger asks again, and the entry is
// there once.
func ExampleFaulty() {
	ctx := context.Background()
	store := ledgertest.Faulty(memstore.New(), &ledgertest.FaultOptions{Method: "Append", Fault: ledgertest.FaultLoseAnswer, Nth: 1})
	led, err := ledger.Open(store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	state := posthouse.State{posthouse.OpaquePart: {Codec: "raw", Data: []byte("refund order 1234")}}
	saved, err := led.Save(ctx, posthouse.Root("order-1234", state), nil)
	fmt.Println(saved.Thread, saved.Seq, err, "answers lost:", store.Fired())
	fmt.Println(errors.Join(led.Close(), store.Close()))
	// Output:
	// order-1234 1 <nil> answers lost: 1
	// <nil>
}
