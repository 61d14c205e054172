package limit

import (
	"context"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/problem"
)

// Turns bound how many answers are made at once, of one token and of all: each may take the
// memory of a page of states several times. Who finds no turn left waits for one. A token waits
// for its own first, so that it keeps no other waiting.
type Turns struct {
	share int
	all   chan struct{}

	mu sync.Mutex
	of map[string]*turns // by the token's name; those that have or want one
}

type turns struct {
	users int
	taken chan struct{}
}

// NewTurns returns so many turns, and how many of them one token may have.
func NewTurns(share, all int) *Turns {
	return &Turns{share: share, all: make(chan struct{}, all), of: map[string]*turns{}}
}

// Take waits for a turn of the named token. give gives it back; it may be called again. It fails
// with [problem.CodeTooMany] once ctx ends.
func (t *Turns) Take(ctx context.Context, name string) (give func(), err error) {
	t.mu.Lock()
	o := t.of[name]
	if o == nil {
		o = &turns{taken: make(chan struct{}, t.share)}
		t.of[name] = o
	}
	o.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if o.users--; o.users == 0 {
			delete(t.of, name)
		}
	}
	if !enter(ctx, o.taken) {
		leave()
		return nil, tooMany("the answers for the token " + name)
	}
	if !enter(ctx, t.all) {
		<-o.taken
		leave()
		return nil, tooMany("the answers for all tokens")
	}
	return sync.OnceFunc(func() {
		<-t.all
		<-o.taken
		leave()
	}), nil
}

// enter waits for room until ctx ends. Where there is room it does not look at ctx.
func enter(ctx context.Context, room chan struct{}) bool {
	select {
	case room <- struct{}{}:
		return true
	default:
	}
	select {
	case room <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func tooMany(what string) error {
	return &posthouse.Error{Code: problem.CodeTooMany, Message: what + " that are being made leave no room for one more", Hint: "ask for fewer at once, and try again in a moment"}
}
