package server

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
)

// maxCursor bounds the cursor a client sends back, in bytes. Those over a store
// that is no Watcher have some 20 for each thread.
const maxCursor = 8 << 10

func (s *Server) events(w http.ResponseWriter, r *api.Request) error {
	cursor, err := eventCursor(r)
	if err != nil {
		return err
	}
	who, session, err := s.restoreSession(w, r)
	if err != nil {
		return err
	}
	if who != nil && who.Cursor != "" && r.Header.Get("Last-Event-ID") == "" && !r.Has("after") {
		cursor = who.Cursor
	}
	done, err := s.beginStream(r.Actor.Name)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()

	// The watch begins before the headers go out, so a client that has them misses nothing.
	found, stop := s.watch(ctx, ledger.WatchQuery{Thread: r.Query["thread"], Cursor: cursor})
	defer stop()
	chunks, leave := s.chunks.follow(r.Query["thread"])
	defer leave()
	es, err := api.NewEventStream(w, s.wall, s.unread)
	if err != nil {
		return nil // the client is gone
	}
	if session != nil && es.Send("", "session", session) != nil {
		return nil
	}
	s.relay(&watcher{es: es, w: w, who: who, actor: r.Actor}, found, chunks)
	return nil
}

// A watched is an event of a watch, or why it ended.
type watched struct {
	event *posthouse.Event
	err   error
}

// watch runs a watch in a goroutine until ctx ends or stop is called. stop waits for
// the goroutine's end.
func (s *Server) watch(ctx context.Context, q ledger.WatchQuery) (found <-chan watched, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	watch := s.ledger.Watch(ctx, q)
	items, ended := make(chan watched), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(items)
		for e, err := range watch {
			select {
			case items <- watched{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return items, func() { cancel(); <-ended }
}

// A watcher is the client of an event stream.
type watcher struct {
	es    *api.EventStream
	w     http.ResponseWriter // for the log line and the request's id
	who   *client
	actor tokens.Token
	last  string // the cursor of the last event that was sent
	noted string // the cursor that its session has on record
}

// relay sends what a watch finds, and what handlers stream meanwhile. It ends with the
// watch, the client or the validity of its token.
func (s *Server) relay(c *watcher, found <-chan watched, chunks <-chan task.Chunk) {
	tick, stop := s.tick(api.HeartbeatInterval)
	defer stop()
	defer c.savePlace()
	for {
		select {
		case x, ok := <-found:
			if !ok || !c.send(x) {
				return
			}
		case chunk := <-chunks: // without an id: nobody can go on from it
			if c.es.Send("", "chunk", chunk) != nil {
				return
			}
		case <-tick:
			if !s.tokenValid(c.actor) || c.es.Heartbeat() != nil {
				return // revoked, expired, or gone
			}
			c.savePlace()
			c.who.keepAlive()
		}
	}
}

// send writes an event and reports whether to go on. An entry that cannot be read is
// an event of its own; a client that returns goes on behind it.
func (c *watcher) send(x watched) bool {
	var data any = x.event
	kind, cursor := "error", ""
	if x.event != nil {
		cursor = x.event.Cursor
	}
	if x.err == nil {
		kind = x.event.Kind.String()
	} else {
		api.NoteError(c.w, x.err)
		data = problem.Of(x.err, c.w.Header().Get(problem.RequestIDHeader))
	}
	if c.es.Send(cursor, kind, data) != nil || x.event == nil {
		return false
	}
	c.last = cursor
	return true
}

// savePlace records the last event in the client's session.
func (c *watcher) savePlace() {
	if c.last != c.noted {
		c.who.saw(c.last)
		c.noted = c.last
	}
}

// eventCursor returns where a client wants to go on. Last-Event-ID, which
// browsers send by themselves, goes before the parameter.
func eventCursor(r *api.Request) (string, error) {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return checkCursor("Last-Event-ID", id)
	}
	if r.Has("after") {
		return checkCursor("after", r.Query["after"])
	}
	return "now", nil
}

// checkCursor accepts what could be a cursor; the store checks whether it is one.
// "start" stands for the beginning, which the Ledger writes as "".
func checkCursor(field, c string) (string, error) {
	if c == "start" {
		return "", nil
	}
	if len(c) > maxCursor {
		return "", posthouse.Invalid(field, "is longer than %d bytes", maxCursor)
	}
	for i := range len(c) {
		if c[i] <= ' ' || c[i] >= 0x7f {
			return "", posthouse.Invalid(field, "has the byte %#x, which no cursor has", c[i])
		}
	}
	return c, nil
}
