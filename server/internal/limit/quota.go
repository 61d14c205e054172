package limit

import (
	"fmt"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/problem"
)

// A Quota is a number of places. Each token has a share of them, so that one client cannot
// keep out the others.
type Quota struct {
	life   *Lifetime
	bounds Bounds
	places chan struct{}

	mu   sync.Mutex
	held map[string]int // by the token's name
}

// Bounds say how many places a Quota has and what they are for.
type Bounds struct {
	All   int    // places
	Token int    // of them for each token
	Noun  string // what takes a place, as in "streams"
	Held  string // what a token has then, as in "streams open"
}

// NewQuota returns a quota with all its places free.
func NewQuota(life *Lifetime, b Bounds) *Quota {
	return &Quota{life: life, bounds: b, places: make(chan struct{}, b.All), held: map[string]int{}}
}

// Take takes a place for the named token, which Close of the lifetime waits for. leave gives
// it back. It fails with [problem.CodeTooMany] if the token has its share or no place is free,
// and once the server is closed: [posthouse.ErrClosed].
func (q *Quota) Take(name string) (leave func(), err error) {
	if err := q.takeShare(name); err != nil {
		return nil, err
	}
	done, err := q.life.Enter()
	if err != nil {
		q.giveShare(name)
		return nil, err
	}
	select {
	case q.places <- struct{}{}:
	default:
		done()
		q.giveShare(name)
		return nil, &posthouse.Error{Code: problem.CodeTooMany, Message: "too many " + q.bounds.Noun + " at once", Hint: "try again in a moment"}
	}
	return func() {
		<-q.places
		done()
		q.giveShare(name)
	}, nil
}

// Held returns how many places are taken.
func (q *Quota) Held() int { return len(q.places) }

func (q *Quota) takeShare(name string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if share := q.bounds.Token; q.held[name] >= share {
		return &posthouse.Error{
			Code: problem.CodeTooMany, Message: fmt.Sprintf("the token %s has %d %s; that is its share", name, share, q.bounds.Held),
			Hint: "close one of them, or use a token of its own for each client",
		}
	}
	q.held[name]++
	return nil
}

func (q *Quota) giveShare(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[name]--; q.held[name] == 0 {
		delete(q.held, name)
	}
}
