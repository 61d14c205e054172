package redisstore_test

import (
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/redistest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/redisstore"
)

// TestDrop: a dropped store is gone, and its neighbour in another prefix is not.
func TestDrop(t *testing.T) {
	open := func(o redisstore.Options) *redisstore.Store {
		s, err := redisstore.Open(t.Context(), redistest.URL(t), &o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	gone, kept := open(redisstore.Options{Prefix: "drop"}), open(redisstore.Options{Prefix: "drop:kept"})
	for _, s := range []*redisstore.Store{gone, kept} {
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
	if _, err := redisstore.Open(t.Context(), redistest.URL(t), &redisstore.Options{Prefix: "drop", ReadOnly: true}); !errors.Is(err, posthouse.ErrNotFound) {
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
	if err := open(redisstore.Options{Prefix: "drop:kept", ReadOnly: true}).Drop(t.Context()); !errors.Is(err, posthouse.ErrReadOnly) {
		t.Errorf("dropped by a reader: %v", err)
	}
}
