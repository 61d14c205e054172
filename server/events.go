package server

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
)

// maxCursor bounds the cursor a client sends back, in bytes. Those over a store
// that is no Watcher have some 20 for each thread.
const maxCursor = 8 << 10

func (s *Server) events(w http.ResponseWriter, r *request) error {
	cursor, err := r.eventCursor()
	if err != nil {
		return err
	}
	who, err := s.client(r.Context(), r, r.actor.Name)
	if err != nil {
		return err
	}
	var session *SessionInfo
	if who != nil {
		if session, err = who.info(r.Context()); err != nil {
			return err
		}
		w.Header().Set(sessionHeader, who.token)
		if who.Cursor != "" && r.Header.Get("Last-Event-ID") == "" && !r.has("after") {
			cursor = who.Cursor
		}
	}
	done, err := s.begin(s.streams, "streams")
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()

	// The watch begins before the headers go out: who has seen them misses nothing.
	watch := s.ledger.Watch(ctx, posthouse.WatchQuery{Thread: r.query["thread"], Cursor: cursor})
	type item struct {
		event *posthouse.Event
		err   error
	}
	items, ended := make(chan item), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(items)
		for e, err := range watch {
			select {
			case items <- item{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { cancel(); <-ended }()

	tick, stop := s.tick(heartbeat)
	defer stop()
	es, err := s.openStream(w)
	if err != nil {
		return nil // the client is gone
	}
	if session != nil && es.send("", "session", session) != nil {
		return nil
	}
	last, noted := "", ""
	defer func() {
		if last != noted {
			who.saw(last)
		}
	}()
	for {
		select {
		case x, ok := <-items:
			switch {
			case !ok:
				return nil
			case x.err != nil:
				noteError(w, x.err)
				_ = es.send("", "error", problemOf(x.err, w.Header().Get(requestIDHeader))) // then the stream ends, heard or not
				return nil
			case es.send(x.event.Cursor, x.event.Kind.String(), x.event) != nil:
				return nil
			}
			last = x.event.Cursor
		case <-tick:
			if ok, err := s.tokens.current(r.actor); err != nil || !ok || es.beat() != nil {
				return nil // revoked, or gone
			}
			if last != noted {
				who.saw(last)
				noted = last
			}
		}
	}
}

// eventCursor returns where a client wants to go on: Last-Event-ID, which a
// browser sends by itself, before the parameter it once began with.
func (r *request) eventCursor() (string, error) {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return checkCursor("Last-Event-ID", id)
	}
	if r.has("after") {
		return checkCursor("after", r.query["after"])
	}
	return "now", nil
}

// checkCursor lets through what could be a cursor; whether it is one, the store
// knows. "start" stands for the beginning, which the Ledger writes as "".
func checkCursor(field, c string) (string, error) {
	if c == "start" {
		return "", nil
	}
	if len(c) > maxCursor {
		return "", invalid(field, "is longer than %d bytes", maxCursor)
	}
	for i := range len(c) {
		if c[i] <= ' ' || c[i] >= 0x7f {
			return "", invalid(field, "has the byte %#x, which no cursor has", c[i])
		}
	}
	return c, nil
}
