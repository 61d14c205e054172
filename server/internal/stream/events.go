package stream

import (
	"context"
	"net/http"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
)

// MaxCursor bounds the cursor a client sends back, in bytes. Those over a store
// that is no Watcher have some 20 for each thread.
const MaxCursor = 8 << 10

// Events are /api/events: what is recorded, as it happens.
type Events struct {
	Ledger   *ledger.Ledger
	Sessions *session.Sessions
	Streams  *Streams
	Auth     *auth.Authenticator

	chunks chunks // what handlers stream
}

// Chunk sends what a handler streams to the clients that follow its thread now. It does not
// wait for them.
func (ev *Events) Chunk(c task.Chunk) { ev.chunks.send(c) }

// Routes are the routes of events.
func (ev *Events) Routes() []*api.Route {
	return []*api.Route{
		{
			Method: http.MethodGet, Path: "/api/events", Role: tokens.Viewer, Summary: "Follow what is recorded", Handle: ev.follow, Style: api.Stream,
			Notes: "Server-sent events: the event is the record's kind, its id the cursor to go on from, its data the event as JSON. " +
				"A chunk event without an id is what a worker's handler streams at that time; it is not recorded. " +
				"An error event with a problem ends the stream, unless it has an id: then it is about that entry, and others follow. A comment comes every 15 seconds. " +
				"With a session, the first event is session, and events go on behind the last one it saw.",
			Query: slices.Concat([]api.Param{
				{Name: "thread", Kind: api.NameParam, Help: "of this thread"},
				{Name: "after", Kind: api.TextParam, Def: "now", Help: "a cursor, now, or start; the header Last-Event-ID goes before it"},
			}, session.Params()),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "events, each with this as its data", Body: posthouse.Event{}, Media: "text/event-stream"}},
		},
	}
}

func (ev *Events) follow(w http.ResponseWriter, r *api.Request) error {
	cursor, err := eventCursor(r)
	if err != nil {
		return err
	}
	who, restored, err := ev.Sessions.Restore(w, r)
	if err != nil {
		return err
	}
	if who != nil && who.Cursor != "" && r.Header.Get("Last-Event-ID") == "" && !r.Has("after") {
		cursor = who.Cursor
	}
	done, err := ev.Streams.Quota.Take(r.Actor.Name)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := ev.Streams.Life.Bound(r.Context())
	defer cancel()

	// The watch begins before the headers go out, so a client that has them misses nothing.
	found, stop := ev.watch(ctx, ledger.WatchQuery{Thread: r.Query["thread"], Cursor: cursor})
	defer stop()
	streamed, leave := ev.chunks.follow(r.Query["thread"])
	defer leave()
	es, err := ev.Streams.Open(w)
	if err != nil {
		return nil // the client is gone
	}
	if restored != nil && es.Send("", "session", restored) != nil {
		return nil
	}
	ev.relay(&follower{es: es, w: w, who: who, actor: r.Actor}, found, streamed)
	return nil
}

// A watched is an event of a watch, or why it ended.
type watched struct {
	event *posthouse.Event
	err   error
}

// watch runs a watch in a goroutine until ctx ends or stop is called. stop waits for
// the goroutine's end.
func (ev *Events) watch(ctx context.Context, q ledger.WatchQuery) (found <-chan watched, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	watch := ev.Ledger.Watch(ctx, q)
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

// A follower is the client of an event stream.
type follower struct {
	es    *api.EventStream
	w     http.ResponseWriter // for the log line and the request's id
	who   *session.Client
	actor tokens.Token
	last  string // the cursor of the last event that was sent
	noted string // the cursor that its session has on record
}

// relay sends what a watch finds and what handlers stream. It ends with the
// watch, the client or the validity of its token.
func (ev *Events) relay(c *follower, found <-chan watched, chunks <-chan task.Chunk) {
	tick, stop := ev.Streams.Heartbeat()
	defer stop()
	defer c.savePlace()
	for {
		select {
		case x, ok := <-found:
			if !ok || !c.send(x) {
				return
			}
		case chunk := <-chunks: // without an id: no client can go on from it
			if c.es.Send("", "chunk", chunk) != nil {
				return
			}
		case <-tick:
			if !ev.Auth.Valid(c.actor) || c.es.Heartbeat() != nil {
				return // revoked, expired, or gone
			}
			c.savePlace()
			c.who.KeepAlive()
		}
	}
}

// send writes an event and reports whether to go on. An entry that cannot be read is
// an event of its own; a client that returns goes on after it.
func (c *follower) send(x watched) bool {
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
func (c *follower) savePlace() {
	if c.last != c.noted {
		c.who.Saw(c.last)
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
	if len(c) > MaxCursor {
		return "", posthouse.Invalid(field, "is longer than %d bytes", MaxCursor)
	}
	for i := range len(c) {
		if c[i] <= ' ' || c[i] >= 0x7f {
			return "", posthouse.Invalid(field, "has the byte %#x, which no cursor has", c[i])
		}
	}
	return c, nil
}
