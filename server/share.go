package server

import (
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/problem"
)

// beginStream takes a place among the streams for the named token. Without a name
// it takes one for a WebSocket that sends its token later. It fails once the
// token has its share, so one client cannot keep out the others.
func (s *Server) beginStream(name string) (func(), error) {
	if name == "" {
		return s.acquire(s.anonymous, "streams")
	}
	s.mu.Lock()
	full := s.shares[name] >= s.limits.TokenStreams
	if !full {
		s.shares[name]++
	}
	s.mu.Unlock()
	if full {
		return nil, &posthouse.Error{
			Code: problem.CodeTooMany, Message: fmt.Sprintf("the token %s has %d streams open; that is its share", name, s.limits.TokenStreams),
			Hint: "close one of them, or use a token of its own for each client",
		}
	}
	give := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.shares[name]--; s.shares[name] == 0 {
			delete(s.shares, name)
		}
	}
	leave, err := s.acquire(s.streams, "streams")
	if err != nil {
		give()
		return nil, err
	}
	return func() { leave(); give() }, nil
}
