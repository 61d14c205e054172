package engine

import (
	"context"
	"sync"

	"github.com/posthouse/posthouse"
)

// A horizon is how far a select sees what is on record: a wait that was over in a later entry waits
// on. So the select finds the case that was over first, and the others are given nothing.
type horizon struct {
	outer *horizon // of the select around it

	mu    sync.Mutex
	limit uint64                // the last entry that is seen
	next  uint64                // the first entry after it that a wait of this case was over in; 0: there is no such entry
	read  bool                  // this case was given something that is on record
	given map[posthouse.ID]bool // waits and questions whose end the program was given
}

func horizonOf(ctx context.Context) *horizon {
	h, _ := ctx.Value(keyHorizon).(*horizon)
	return h
}

// newHorizon returns a horizon that sees nothing yet, and a context with it.
func newHorizon(ctx context.Context) (*horizon, context.Context) {
	h := &horizon{outer: horizonOf(ctx), given: map[posthouse.ID]bool{}}
	return h, context.WithValue(ctx, keyHorizon, h)
}

// begin begins a case, with what it asks for counted from here on.
func (h *horizon) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next, h.read = 0, false
}

// sees reports whether something in an entry may be given to the program. If not, it is noted.
func (h *horizon) sees(seq uint64) bool {
	if h == nil {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case seq <= h.limit:
		h.read = true
		return true
	case h.next == 0 || seq < h.next:
		h.next = seq
	}
	return false
}

// found notes that the case found something on record that it was given before.
func (h *horizon) found() {
	if h != nil {
		h.sees(0)
	}
}

// give is sees for a gate that is decided. It returns [posthouse.ErrWaiting] for one that is not
// seen.
func (h *horizon) give(g *posthouse.Gate) error {
	if h == nil {
		return nil
	}
	if !h.sees(g.Decision.Seq) {
		return posthouse.ErrWaiting
	}
	for ; h != nil; h = h.outer {
		h.mu.Lock()
		h.given[g.ID] = true
		h.mu.Unlock()
	}
	return nil
}

// state returns what the case asked for in vain, and whether it was given anything.
func (h *horizon) state() (next uint64, read bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next, h.read
}

// move moves the horizon to an entry, unless the select around it does not see that far.
func (h *horizon) move(to uint64) bool {
	if !h.outer.sees(to) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limit = to
	return true
}

// wasGiven reports whether the program was given the end of a wait.
func (h *horizon) wasGiven(id posthouse.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.given[id]
}
