package ledgertest

import (
	"fmt"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A page is a read that must not take longer as the store grows.
type page[B any] struct {
	name string
	run  func(B)
}

// fillHistory makes a thread of 100 checkpoints.
func fillHistory(b Stopwatch, l *ledger.Ledger, n int) {
	b.Helper()
	for range 100 {
		_, err := l.Commit(b.Context(), &ledger.Draft{Thread: historyOf(n), Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Next: []string{"n"},
			Parts: []posthouse.Part{{Name: posthouse.OpaquePart, Codec: "raw", Data: []byte("x")}},
		}})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// historyOf is the name of the thread in the middle of n others.
func historyOf(n int) string { return fmt.Sprintf("t%d-history", n/2) }

// pagesOf returns what is read of a store with n threads.
func pagesOf[B Stopwatch](b B, l *ledger.Ledger, n int) []page[B] {
	ctx := b.Context()
	inbox := func(q ledger.GateQuery) func(B) {
		q.Limit = 50
		return func(b B) { readPage(b, func() iter.Seq2[*posthouse.Gate, error] { return l.Gates(ctx, q) }) }
	}
	list := func(q posthouse.Query) func(B) {
		q.Limit = 50
		return func(b B) { readPage(b, func() iter.Seq2[*posthouse.Header, error] { return l.List(ctx, q) }) }
	}
	return []page[B]{
		{"latest", func(b B) {
			for b.Loop() {
				if _, err := l.Latest(ctx, ledger.LatestQuery{Thread: historyOf(n)}); err != nil {
					b.Fatal(err)
				}
			}
		}},
		{"history", list(posthouse.Query{Thread: historyOf(n)})},
		{"label", list(posthouse.Query{Label: "customer", LabelValue: "7", Descending: true})},
		{"inbox", inbox(ledger.GateQuery{Newest: true})},
		{"inbox of alice", inbox(ledger.GateQuery{Assignee: "alice"})},
		{"inbox of bob", inbox(ledger.GateQuery{Assignee: "bob", Newest: true})},
	}
}

// readPage reads a page again and again.
func readPage[T any](b Stopwatch, read func() iter.Seq2[T, error]) {
	for b.Loop() {
		found := 0
		for _, err := range read() {
			if err != nil {
				b.Fatal(err)
			}
			found++
		}
		if found == 0 {
			b.Fatal("the page is empty")
		}
	}
}
