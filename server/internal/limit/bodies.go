package limit

import (
	"context"
	"io"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/problem"
)

// Bodies bound the bytes of request bodies that are in memory: of one token, of one address, and of
// all clients without a token. A client with a token waits for room before its body is read. A
// client without one always has room: if there is too much, the body that has been read for
// longest is given up, first of the same address, then of the address that has most.
type Bodies struct {
	tokens, addresses *room
	anonymous         *Unread
}

// BodyBounds are the bytes that a Bodies has room for. One body may have more than a share: then it
// is alone.
type BodyBounds struct {
	Token     int64 // of one token
	Address   int64 // of one address, with all its tokens
	Anonymous int64 // of all clients without a token; one address has an eighth
}

// NewBodies returns a Bodies without a body.
func NewBodies(b BodyBounds) *Bodies {
	anonymous := NewUnread(int(b.Anonymous/8), int(b.Anonymous))
	anonymous.free = true
	return &Bodies{tokens: newRoom(b.Token), addresses: newRoom(b.Address), anonymous: anonymous}
}

// Hold waits until there is room for a body of at most size bytes, of the named token at an
// address; the address "" has no bound of its own. The result releases the room and may be called
// again. It fails with [problem.CodeTooMany] once ctx ends.
func (b *Bodies) Hold(ctx context.Context, token, address string, size int64) (*Hold, error) {
	h := &Hold{token: b.tokens.of(token), size: size}
	if !h.token.take(ctx, size) {
		h.token.leave()
		return nil, tooManyBytes("the token " + token)
	}
	if address == "" {
		return h, nil
	}
	h.address = b.addresses.of(address)
	if !h.address.take(ctx, size) {
		h.address.leave()
		h.address = nil
		h.Release()
		return nil, tooManyBytes("this address")
	}
	return h, nil
}

// Anonymous returns a body of a client without a token; its bytes count as they are read. stop
// ends a read that waits for the client; it must not wait. A body that was given up fails with
// [problem.CodeTooMany]. The address "" has no bound of its own. Call end once the bytes are not
// needed any more.
func (b *Bodies) Anonymous(address string, body io.Reader, stop func()) (counted io.Reader, end func()) {
	a := &anonymous{body: body, of: b.anonymous, stop: stop}
	a.entry = b.anonymous.open(address, a.lose)
	return a, func() { b.anonymous.end(a.entry) }
}

// An anonymous body counts what is read of it.
type anonymous struct {
	body  io.Reader
	of    *Unread
	entry *write
	stop  func()

	mu   sync.Mutex
	lost bool
}

func (a *anonymous) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	a.of.grow(a.entry, n)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost {
		return 0, &posthouse.Error{
			Code: problem.CodeTooMany, Message: "requests without a token leave no room for the rest of this body", Hint: "send it again, faster",
		}
	}
	return n, err
}

func (a *anonymous) lose() {
	a.mu.Lock()
	a.lost = true
	a.mu.Unlock()
	a.stop()
}

func tooManyBytes(who string) error {
	return &posthouse.Error{
		Code: problem.CodeTooMany, Message: "the requests of " + who + " that are being read leave no room for one more", Hint: "send fewer at a time, and try again in a moment",
	}
}

// A Hold is the room of one body.
type Hold struct {
	token, address *party // address is nil for one without a bound

	mu   sync.Mutex
	size int64
}

// Shrink releases what a body turned out not to need: it has size bytes.
func (h *Hold) Shrink(size int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.give(h.size - size)
}

// Release releases the rest.
func (h *Hold) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.give(h.size)
	for _, p := range []**party{&h.token, &h.address} {
		if *p != nil {
			(*p).leave()
			*p = nil
		}
	}
}

func (h *Hold) give(n int64) {
	if n <= 0 {
		return
	}
	h.size -= n
	for _, p := range []*party{h.token, h.address} {
		if p != nil {
			p.give(n)
		}
	}
}
