package limit

import "sync"

// Unauthenticated are the connections that have not sent their token yet. They have places of
// their own, so that they cannot keep others out. A new one always gets a place: if all are
// taken, the one that has waited longest loses its own. A client with a token needs its place
// for the time of a message.
type Unauthenticated struct {
	life   *Lifetime
	places int

	mu      sync.Mutex
	waiting []*connection // the oldest first
}

// A connection is one that has sent no token yet.
type connection struct{ lose func() }

// NewUnauthenticated returns so many places.
func NewUnauthenticated(life *Lifetime, places int) *Unauthenticated {
	return &Unauthenticated{life: life, places: places}
}

// Take takes a place. lose is called if it is lost to another; it must not wait. leave gives
// the place back; end says that the connection is over, which Close of the lifetime waits for.
// It fails once the server is closed.
func (u *Unauthenticated) Take(lose func()) (leave, end func(), err error) {
	end, err = u.life.Enter()
	if err != nil {
		return nil, nil, err
	}
	return u.add(lose), end, nil
}

// Len returns how many places are taken.
func (u *Unauthenticated) Len() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.waiting)
}

func (u *Unauthenticated) add(lose func()) (leave func()) {
	x := &connection{lose}
	u.mu.Lock()
	var out *connection
	if len(u.waiting) >= u.places {
		out = u.waiting[0]
		u.waiting = append([]*connection{}, u.waiting[1:]...)
	}
	u.waiting = append(u.waiting, x)
	u.mu.Unlock()
	if out != nil {
		out.lose()
	}
	return func() { u.remove(x) }
}

func (u *Unauthenticated) remove(x *connection) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, y := range u.waiting {
		if y == x {
			u.waiting = append(u.waiting[:i:i], u.waiting[i+1:]...)
		}
	}
}
