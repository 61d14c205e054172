package retain_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// Deleting asks what becomes of children, and is on record. The checkpoints that
// a kept one is rebuilt from stay until that one goes.
func ExampleDelete() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	save := func(c *posthouse.Checkpoint) *posthouse.Checkpoint {
		c, err = led.Save(ctx, c, nil)
		if err != nil {
			panic(err)
		}
		return c
	}
	draft := save(posthouse.Root("letter", posthouse.State{"text": {Codec: "raw", Data: []byte("Dear")}}))
	sent := save(draft.Derive(posthouse.State{"text": {Codec: "raw", Data: []byte("Dear Bob")}}))

	_, err = retain.Delete(ctx, led, draft.ID, nil)
	fmt.Println(errors.Is(err, posthouse.ErrConflict))
	done, err := retain.Delete(ctx, led, draft.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan, By: "alice", Reason: "wrong name"})
	fmt.Println(done.Checkpoints, err)
	sent, err = led.Get(ctx, sent.ID)
	fmt.Printf("%s %v\n", sent.State["text"].Data, err)
	done, err = retain.DeleteThread(ctx, led, "letter", nil)
	fmt.Println(done.Checkpoints, err)
	// Output:
	// true
	// 1 <nil>
	// Dear Bob <nil>
	// 1 <nil>
}
