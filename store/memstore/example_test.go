package memstore_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/memstore"
)

func Example() {
	ctx := context.Background()
	store := memstore.New()
	defer store.Close()
	key := posthouse.SlotKey{Thread: "order-1234", Step: "upload"}
	_, err := store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("part 7 of 9")})
	if err != nil {
		fmt.Println(err)
		return
	}
	slot, err := store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
	fmt.Printf("%s, revision %d, %v\n", slot.Value, slot.Revision, err)
	// Output: part 7 of 9, revision 1, <nil>
}
