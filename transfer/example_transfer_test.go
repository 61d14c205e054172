package transfer_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// A thread moves to another store as a file: ids, hashes and history stay.
func ExampleExport() {
	ctx := context.Background()
	here, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	state, _ := posthouse.Opaque(nil, "refund order 1234")
	c, err := here.Save(ctx, posthouse.Root("order-1234", state), nil)
	if err != nil {
		panic(err)
	}
	var file bytes.Buffer
	if _, err := transfer.Export(ctx, here, "order-1234", &file, nil); err != nil {
		panic(err)
	}

	there, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	done, err := transfer.Import(ctx, there, bytes.NewReader(file.Bytes()), nil)
	if err != nil {
		panic(err)
	}
	same, err := there.Get(ctx, c.ID)
	if err != nil {
		panic(err)
	}
	fmt.Println(done.Thread, done.Entries, same.Hash == c.Hash)
	_, err = transfer.Import(ctx, there, bytes.NewReader(file.Bytes()), nil)
	fmt.Println(err)
	// Output:
	// order-1234 1 true
	// posthouse: thread order-1234 exists (nothing was written; import into another store)
}

// A whole store is copied into another, of whatever kind, and read back;
// entries, hashes and signatures stay what they are.
func ExampleCopyStore() {
	ctx := context.Background()
	from, to := memstore.New(), memstore.New()
	led, err := ledger.Open(from, nil)
	if err != nil {
		panic(err)
	}
	for _, thread := range []string{"order-1", "order-2"} {
		if _, err := led.Save(ctx, posthouse.Root(thread, nil), nil); err != nil {
			panic(err)
		}
	}
	done, err := transfer.CopyStore(ctx, from, to, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(done.Threads, done.Entries, done.Verified)
	again, err := transfer.CopyStore(ctx, from, to, nil) // takes what is new
	if err != nil {
		panic(err)
	}
	fmt.Println(again.Entries)
	// Output:
	// 2 2 2
	// 0
}
