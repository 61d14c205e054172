package dying_test

import (
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/dying"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestDie counts what is on record of four saves when the process is lost at the
// third, or not at all.
func TestDie(t *testing.T) {
	for _, c := range []struct {
		at, want int
		made     bool
	}{{3, 2, false}, {3, 3, true}, {0, 4, false}} {
		below := memstore.New()
		s := dying.New(below)
		s.Die(c.at, c.made)
		l, err := ledger.Open(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		var last error
		for _, name := range []string{"a", "b", "c", "d"} {
			_, last = l.Save(t.Context(), posthouse.Root(name, nil), nil)
		}
		if lost := c.at > 0; s.Dead() != lost || errors.Is(last, posthouse.ErrUnknown) != lost {
			t.Errorf("%+v: dead %v, the last save says %v", c, s.Dead(), last)
		}
		_ = l.Close() // of a process that is gone
		n := 0
		for _, err := range below.Threads(t.Context(), posthouse.ThreadQuery{}) {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if n != c.want {
			t.Errorf("%+v: %d threads are on record", c, n)
		}
	}
}
