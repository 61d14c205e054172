package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/posthouse/posthouse/server/internal/limit"
)

// Bodies make room for the bodies of requests.
type Bodies struct {
	Room *limit.Bodies
	Wait time.Duration // for room
}

// Take makes room for the body of a request, of at most size bytes, until end is called. Clients
// without a token have their room together.
func (b *Bodies) Take(w http.ResponseWriter, r *Request, size int64) (end func(), err error) {
	if r.ContentLength == 0 || r.Route.Body == nil && !r.Route.Form && !r.Route.Signed {
		return func() {}, nil
	}
	address := limit.Network(limit.Host(r.RemoteAddr))
	if limit.IsLoopback(limit.Host(r.RemoteAddr)) {
		address = ""
	}
	holder := r.Actor.Name
	if r.Route.Approval {
		holder, err = r.Route.Holder(r)
		if err != nil {
			return nil, err
		}
	}
	if holder == "" {
		rest, end := b.Room.Anonymous(address, r.Body, func() {
			_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // not supported by test recorders, which never block
		})
		r.Body = readCloser{rest, r.Body}
		return end, nil
	}
	if r.ContentLength > 0 {
		size = min(size, r.ContentLength)
	}
	ctx, cancel := context.WithTimeout(r.Context(), b.Wait)
	defer cancel()
	hold, err := b.Room.Hold(ctx, holder, address, size)
	if err != nil {
		return nil, err
	}
	if r.ContentLength < 0 {
		r.Body = readCloser{&measured{body: r.Body, whole: hold.Shrink}, r.Body}
	}
	return hold.Release, nil
}

// A readCloser is a body that is read another way.
type readCloser struct {
	io.Reader
	io.Closer
}

// A measured body of unknown length calls whole with its length at its end.
type measured struct {
	body  io.Reader
	whole func(int64)
	size  int64
}

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.body.Read(p)
	m.size += int64(n)
	if err == io.EOF {
		m.whole(m.size)
	}
	return n, err
}
