package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// A keepingStore removes nothing while it is told so, as if its process had been
// killed between the record and the removal.
type keepingStore struct {
	*memstore.Store
	keep bool
}

func (s *keepingStore) Remove(ctx context.Context, r posthouse.Removal) (posthouse.Removed, error) {
	if s.keep {
		return posthouse.Removed{}, errors.New("killed")
	}
	return s.Store.Remove(ctx, r)
}

// TestCompactTakesWhatADropLeft: the next compaction, or the next call, takes the
// entries of a version with a recorded removal.
func TestCompactTakesWhatADropLeft(t *testing.T) {
	for name, mend := range map[string]func(*ledger.Ledger) error{
		"compact": func(l *ledger.Ledger) error {
			if _, err := retain.Compact(t.Context(), l); !errors.Is(err, posthouse.ErrUnsupported) {
				return fmt.Errorf("compaction: %w", err)
			}
			return nil
		},
		"again": func(l *ledger.Ledger) error { _, err := retain.DropRelease(t.Context(), l, "t", "1", nil); return err },
	} {
		store := &keepingStore{memstore.New(), true}
		l, err := ledger.Open(store, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			c, err := l.Save(t.Context(), posthouse.Root("t", jsonState("n", fmt.Sprint(i))), nil)
			if err == nil {
				_, err = l.Save(t.Context(), c.Derive(jsonState("n", "9")), nil)
			}
			if err == nil && i == 0 {
				_, err = l.Release(t.Context(), "t", nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := retain.DropRelease(t.Context(), l, "t", "1", nil); err == nil {
			t.Fatalf("%s: a removal that failed was not told of", name)
		}
		seqs := func() (out []uint64) {
			for e, err := range store.Read(t.Context(), "t", posthouse.Range{Headers: true}) {
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, e.Seq)
			}
			return out
		}
		if n := len(seqs()); n != 6 {
			t.Fatalf("%s: %d entries before", name, n)
		}
		store.keep = false
		if err := mend(l); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := seqs(); got[0] != 3 {
			t.Errorf("%s: entries %v are left, want none of version 1 but its release", name, got)
		}
		for err := range store.Check(t.Context()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
