package pgstore_test

import (
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/pgtest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/pgstore"
)

// TestDrop: a dropped store is gone, and its neighbour in another schema is not.
func TestDrop(t *testing.T) {
	open := func(o pgstore.Options) *pgstore.Store {
		s, err := pgstore.Open(t.Context(), pgtest.URL(t), &o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	gone, kept := open(pgstore.Options{Schema: "drop_gone"}), open(pgstore.Options{Schema: "drop_kept"})
	for _, s := range []*pgstore.Store{gone, kept} {
		led, err := ledger.Open(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := led.Save(t.Context(), &posthouse.Checkpoint{Header: posthouse.Header{Thread: "t"}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := gone.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := pgstore.Open(t.Context(), pgtest.URL(t), &pgstore.Options{Schema: "drop_gone", ReadOnly: true}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("the dropped store: %v", err)
	}
	n := 0
	for _, err := range kept.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 1 {
		t.Errorf("its neighbour has %d threads", n)
	}
	if err := open(pgstore.Options{Schema: "drop_kept", ReadOnly: true}).Drop(t.Context()); !errors.Is(err, posthouse.ErrReadOnly) {
		t.Errorf("dropped by a reader: %v", err)
	}
}
