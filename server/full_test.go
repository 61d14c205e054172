package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// A fullStore has no room for entries while it is told so.
type fullStore struct {
	posthouse.Store
	full atomic.Bool
}

func (s *fullStore) Append(ctx context.Context, b *posthouse.Batch) error {
	if s.full.Load() {
		return &posthouse.Error{Code: posthouse.CodeFull, Message: "no space left"}
	}
	return s.Store.Append(ctx, b)
}

// TestFullStore has no room for a decision: the answer is 507, nothing is decided, and all that
// reads is served. Once there is room the same request is taken.
func TestFullStore(t *testing.T) {
	store := &fullStore{}
	var full *ledger.Ledger
	h := open(t, func(o *Options) {
		var err error
		store.Store = o.Ledger.Store()
		full, err = ledger.Open(store, nil)
		must.Do(t, err)
		o.Ledger = full
	})
	t.Cleanup(func() { must.Do(t, full.Close()) })
	cp, g := h.waiting("t1")
	store.full.Store(true)
	approve := "/api/gates/" + string(g.ID) + "/approve"
	for range 2 {
		if a := h.post(approve, ""); a.status != http.StatusInsufficientStorage {
			t.Errorf("status %d: %s", a.status, a.body)
		} else {
			a.refused(posthouse.CodeFull)
		}
	}
	if g, err := h.ledger.Gate(t.Context(), g.ID); err != nil || g.Decision != nil {
		t.Errorf("it was decided: %+v, %v", g, err)
	}
	h.get("/api/checkpoints/" + string(cp)).want(http.StatusOK)
	h.send(ask{method: "GET", path: "/healthz", as: "-"}).want(http.StatusOK)
	store.full.Store(false)
	h.post(approve, "").want(http.StatusOK)
}
