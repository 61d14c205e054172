package sqlitestore_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// BenchmarkListRare lists a thread of 20,000 checkpoints by a node that does not
// occur, and by one that only the first has.
func BenchmarkListRare(b *testing.B) {
	s := open(b, b.TempDir()+"/posthouse.db", &sqlitestore.Options{Sync: sqlitestore.SyncNormal})
	l := newLine("t", idSource())
	for i := range 20_000 {
		node := "common"
		if i == 0 {
			node = "rare"
		}
		if err := s.Append(b.Context(), l.marked(func(h *posthouse.Header) { h.Node = node })); err != nil {
			b.Fatal(err)
		}
	}
	for _, node := range []string{"nobody", "rare", "common"} {
		b.Run(node, func(b *testing.B) {
			for b.Loop() {
				for _, err := range s.List(b.Context(), posthouse.Query{Thread: "t", Node: node}) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}
