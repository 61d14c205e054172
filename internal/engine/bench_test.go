package engine_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

func BenchmarkTask(b *testing.B) {
	l := open(b, memstore.New(), nil)
	s := begin(b, l, "t1")
	input(b, s)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		tk, err := engine.TaskWithKey(ctx, s, s.Key("work"), false)
		if err != nil {
			b.Fatal(err)
		}
		if err := engine.Guard(func() error { tk.With(ctx); return nil }); err != nil || tk.Waiting() {
			b.Fatal(err)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	l := open(b, memstore.New(), nil)
	s := begin(b, l, "t1")
	input(b, s)
	ctx := context.Background()
	d := ledger.Draft{}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := engine.TaskWithKey(ctx, s, s.Key("work"), false); err != nil {
			b.Fatal(err)
		}
		d = ledger.Draft{Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Node: "work", Next: []string{"work"}}}
		if _, err := s.Commit(ctx, &d); err != nil {
			b.Fatal(err)
		}
	}
}
