package servertest

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// A Dropper is a store that can be deleted with all that it has.
type Dropper interface {
	posthouse.Store
	Drop(ctx context.Context) error
}

// Drop drops the store of one name, and wants it gone, and its neighbour of another name
// as it was. open opens a store by its name.
func Drop(t storetest.TB, gone, kept string, open func(name string, readOnly bool) (Dropper, error)) {
	t.Helper()
	opened := func(name string, readOnly bool) Dropper {
		t.Helper()
		s, err := open(name, readOnly)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	dropped, neighbour := opened(gone, false), opened(kept, false)
	b := storetest.NewBuilder()
	for _, s := range []Dropper{dropped, neighbour} {
		l := b.Log("t")
		Take(t, s, l, l.Checkpoint(posthouse.Header{}, "state"))
	}
	if err := dropped.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := open(gone, true); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("the dropped store opens with %v, want ErrNotFound", err)
	}
	n := 0
	for _, err := range neighbour.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 1 {
		t.Errorf("its neighbour has %d threads, want 1", n)
	}
	if err := opened(kept, true).Drop(t.Context()); !errors.Is(err, posthouse.ErrReadOnly) {
		t.Errorf("a store that was opened for reading only is dropped with %v, want ErrReadOnly", err)
	}
}
