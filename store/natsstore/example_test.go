package natsstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/natsstore"
)

// A server in this process keeps its files in a directory. Acknowledged writes are
// there when the directory is opened again.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "posthouse")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	key := posthouse.SlotKey{Thread: "order-1234", Step: "upload"}
	for _, op := range []posthouse.SlotOp{{Verb: posthouse.SlotPut, Value: []byte("part 7 of 9")}, {Verb: posthouse.SlotGet}} {
		store, err := natsstore.Open(ctx, "nats:"+dir, nil) // or nats://host:4222
		if err != nil {
			fmt.Println(err)
			return
		}
		slot, err := store.Slot(ctx, key, op)
		fmt.Printf("%s, revision %d, %v\n", slot.Value, slot.Revision, err)
		if err := store.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// part 7 of 9, revision 1, <nil>
	// part 7 of 9, revision 1, <nil>
}
