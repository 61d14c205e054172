package posthouse_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/memstore"
)

// Deleting asks what becomes of children, and is on record. What a kept
// checkpoint is rebuilt from stays until that one goes.
func ExampleLedger_Delete() {
	ctx := context.Background()
	ledger, err := posthouse.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	save := func(c *posthouse.Checkpoint) *posthouse.Checkpoint {
		if c, err = ledger.Save(ctx, c, nil); err != nil {
			panic(err)
		}
		return c
	}
	draft := save(posthouse.Root("letter", posthouse.State{"text": {Codec: "raw", Data: []byte("Dear")}}))
	sent := save(draft.Derive(posthouse.State{"text": {Codec: "raw", Data: []byte("Dear Bob")}}))

	_, err = ledger.Delete(ctx, draft.ID, nil)
	fmt.Println(errors.Is(err, posthouse.ErrConflict))
	done, err := ledger.Delete(ctx, draft.ID, &posthouse.DeleteOptions{Mode: posthouse.DeleteOrphan, By: "alice", Reason: "wrong name"})
	fmt.Println(done.Checkpoints, err)
	sent, err = ledger.Get(ctx, sent.ID)
	fmt.Printf("%s %v\n", sent.State["text"].Data, err)
	done, err = ledger.DeleteThread(ctx, "letter", nil)
	fmt.Println(done.Checkpoints, err)
	// Output:
	// true
	// 1 <nil>
	// Dear Bob <nil>
	// 1 <nil>
}
