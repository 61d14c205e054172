package limit

import (
	"context"
	"sync"
)

// A room has a number of bytes for each party. Within a party those who wait are served in order.
type room struct {
	share int64

	mu      sync.Mutex
	parties map[string]*party // that have or want bytes
}

type party struct {
	room    *room
	name    string
	users   int
	taken   int64
	waiting []*waiter // the first is served next
}

type waiter struct {
	size  int64
	ready chan struct{} // closed when it has its bytes
}

func newRoom(share int64) *room { return &room{share: share, parties: map[string]*party{}} }

// of returns a party by its name, for one user, who must leave it.
func (r *room) of(name string) *party {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.parties[name]
	if p == nil {
		p = &party{room: r, name: name}
		r.parties[name] = p
	}
	p.users++
	return p
}

func (p *party) leave() {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(p.room.parties, p.name)
	}
}

// take waits for bytes until ctx ends, and reports whether it has them.
func (p *party) take(ctx context.Context, size int64) bool {
	r := p.room
	r.mu.Lock()
	if len(p.waiting) == 0 && p.fits(size) {
		p.taken += size
		r.mu.Unlock()
		return true
	}
	w := &waiter{size, make(chan struct{})}
	p.waiting = append(p.waiting, w)
	r.mu.Unlock()
	select {
	case <-w.ready:
		return true
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, x := range p.waiting {
		if x == w {
			p.waiting = append(p.waiting[:i:i], p.waiting[i+1:]...)
			p.serve() // those after it may fit
			return false
		}
	}
	return true // it was served as ctx ended
}

func (p *party) give(size int64) {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.taken -= size
	p.serve()
}

// serve serves who waits, in order. Callers hold the room's mu.
func (p *party) serve() {
	for len(p.waiting) > 0 && p.fits(p.waiting[0].size) {
		w := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.taken += w.size
		close(w.ready)
	}
}

// fits reports whether there is room for so many bytes. More than the share fits if nothing else is
// there.
func (p *party) fits(size int64) bool { return p.taken == 0 || p.taken+size <= p.room.share }
