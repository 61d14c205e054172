package ledger_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// Threads by activity, page by page: the one with the newest entry first.
func ExampleLedger_Threads() {
	ctx := context.Background()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l, err := ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return now }})
	if err != nil {
		log.Fatal(err)
	}
	for _, thread := range []string{"order-1", "order-2", "order-3"} {
		state := posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte("{}")}}
		if _, err := l.Save(ctx, posthouse.Root(thread, state), nil); err != nil {
			log.Fatal(err)
		}
		now = now.Add(time.Minute)
	}
	if _, err := l.Signal(ctx, "order-1", posthouse.Signal{Name: "paid"}); err != nil {
		log.Fatal(err)
	}
	for q := (posthouse.ThreadQuery{Newest: true, Limit: 2}); ; {
		var page []string
		for t, err := range l.Threads(ctx, q) {
			if err != nil {
				log.Fatal(err)
			}
			page, q.After = append(page, t.Thread), t.ActivityCursor()
		}
		if fmt.Println(page); len(page) < q.Limit {
			break
		}
	}
	// Output:
	// [order-1 order-3]
	// [order-2]
}
