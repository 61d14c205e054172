package server

import (
	"fmt"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/problem"
)

// shares count the open streams of each token.
type shares struct {
	mu sync.Mutex
	of map[string]int // by the token's name; no entry: none
}

// take counts one more stream of a token, unless it has limit streams.
func (x *shares) take(name string, limit int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.of[name] >= limit {
		return false
	}
	x.of[name]++
	return true
}

func (x *shares) give(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.of[name]--; x.of[name] == 0 {
		delete(x.of, name)
	}
}

// beginStream takes a place among the streams for the named token. Without a name
// it takes one for a WebSocket that sends its token later. It fails once the
// token has its share, so one client cannot keep out the others.
func (s *Server) beginStream(name string) (func(), error) {
	if name == "" {
		return s.acquire(s.anonymous, "streams")
	}
	if !s.shares.take(name, s.limits.TokenStreams) {
		return nil, &posthouse.Error{
			Code: problem.CodeTooMany, Message: fmt.Sprintf("the token %s has %d streams open; that is its share", name, s.limits.TokenStreams),
			Hint: "close one of them, or use a token of its own for each client",
		}
	}
	leave, err := s.acquire(s.streams, "streams")
	if err != nil {
		s.shares.give(name)
		return nil, err
	}
	return func() { leave(); s.shares.give(name) }, nil
}
