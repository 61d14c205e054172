package server

import (
	"fmt"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/problem"
)

// shares count what tokens hold, by name, so that no client takes what others need.
type shares struct {
	streams, calls map[string]int // guarded by the server's mutex
}

// take takes one of a token's share, or says that it has all of it. give gives it back.
func (s *Server) take(held map[string]int, name string, share int, what string) (give func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held[name] >= share {
		return nil, &posthouse.Error{
			Code: problem.CodeTooMany, Message: fmt.Sprintf("the token %s has %d %s; that is its share", name, share, what),
			Hint: "close one of them, or use a token of its own for each client",
		}
	}
	held[name]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if held[name]--; held[name] == 0 {
			delete(held, name)
		}
	}, nil
}

// acquireShare takes one of the slots for the named token. It fails once the token has its
// share, so one client cannot keep out the others.
func (s *Server) acquireShare(slots chan struct{}, held map[string]int, name string, share int, slot, what string) (func(), error) {
	give, err := s.take(held, name, share, what)
	if err != nil {
		return nil, err
	}
	leave, err := s.acquire(slots, slot)
	if err != nil {
		give()
		return nil, err
	}
	return func() { leave(); give() }, nil
}

// beginStream takes a place among the streams for the named token.
func (s *Server) beginStream(name string) (func(), error) {
	return s.acquireShare(s.streams, s.shares.streams, name, s.limits.TokenStreams, "streams", "streams open")
}

// beginCall takes a place among the requests that agents work on for the named token.
func (s *Server) beginCall(name string) (func(), error) {
	return s.acquireShare(s.calls, s.shares.calls, name, s.limits.TokenCalls, "requests", "requests that are worked on")
}

// anonymous are the WebSockets that have not sent their token yet. Who comes gets a place:
// where all are taken, the one that has waited longest loses its own. A client with a token
// needs its place for the time of a message.
type anonymous struct {
	places int

	mu      sync.Mutex
	waiting []*stranger // the oldest first
}

// beginStranger takes a place for a WebSocket that sends its token later. place gives it
// back; end says that the connection is over, which Close waits for.
func (s *Server) beginStranger(lose func()) (place, end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, &posthouse.Error{Code: posthouse.CodeClosed, Message: "the server is shutting down", Hint: "try again in a moment"}
	}
	s.running.Add(1)
	return s.anonymous.come(lose), s.running.Done, nil
}

// A stranger is a WebSocket without a token yet.
type stranger struct{ lose func() }

// come gives a place. lose is called if it is lost to another; it must not wait.
func (a *anonymous) come(lose func()) (leave func()) {
	x := &stranger{lose}
	a.mu.Lock()
	var out *stranger
	if len(a.waiting) >= a.places {
		out = a.waiting[0]
		a.waiting = append([]*stranger{}, a.waiting[1:]...)
	}
	a.waiting = append(a.waiting, x)
	a.mu.Unlock()
	if out != nil {
		out.lose()
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		for i, y := range a.waiting {
			if y == x {
				a.waiting = append(a.waiting[:i:i], a.waiting[i+1:]...)
			}
		}
	}
}
