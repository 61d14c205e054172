package stream

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/internal/authlog"
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
			Method: http.MethodGet, Path: "/api/events", Role: tokens.Viewer, Summary: "Follow what happens", Handle: ev.follow, Style: api.Stream,
			Notes: "Server-sent events, of one thread or of all: each has an Event as its data, its kind as the event, and its cursor as the id to go on from. " +
				"What programs and handlers report while they work is not on record: it has no id, and is not told again. " +
				"A stream from now begins with an id alone, of that time: a client that goes on from it misses nothing, though it has seen no event. " +
				"An error event ends the stream, unless it has an id: then it is about that entry, and others follow. A comment comes every 15 seconds. " +
				"With a session, the first event is session, and events go on behind the last one it saw.",
			Query:   params(),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "events, each with this as its data", Body: Event{}, Media: "text/event-stream"}},
		},
		{
			Method: http.MethodGet, Path: "/api/events/socket", Role: tokens.Viewer, Summary: "Follow what happens over a WebSocket", Handle: ev.socket, Style: api.Socket,
			Notes: "The same, each Event a text message. With frames=text a message is the text of an event of kind message, and nothing else is sent but, before a close, why. The first Event of a stream from now has the kind begin and the cursor of that time. " +
				"A client that lost its connection goes on with after, the last cursor it has. What it sends is not read. " +
				"The token comes as the subprotocol posthouse.bearer.TOKEN beside posthouse, or in the header Authorization.",
			Query:   append(params(), api.Param{Name: "frames", Kind: api.EnumParam, Values: []string{"json", "text"}, Def: "json", Help: "what messages are: events as JSON, or text alone"}),
			Answers: []api.Answer{{Status: http.StatusSwitchingProtocols, Help: "a WebSocket", Body: nil, Media: "application/octet-stream"}},
		},
	}
}

func params() []api.Param {
	return slices.Concat([]api.Param{
		{Name: "thread", Kind: api.NameParam, Help: "of this thread"},
		modesParam,
		{Name: "after", Kind: api.TextParam, Def: "now", Help: "a cursor, now, or start; the header Last-Event-ID goes before it"},
	}, session.Params())
}

// A sink is how events go to a client.
type sink interface {
	begin(cursor string) error // says from where on the client follows
	send(e *Event) error
	heartbeat() error
}

// sseSink sends server-sent events.
type sseSink struct{ es *api.EventStream }

func (s sseSink) begin(cursor string) error { return s.es.ID(cursor) }
func (s sseSink) send(e *Event) error       { return s.es.Send(e.Cursor, e.Kind, e) }
func (s sseSink) heartbeat() error          { return s.es.Heartbeat() }

func (ev *Events) follow(w http.ResponseWriter, r *api.Request) error {
	f, ctx, end, err := ev.begin(w, r)
	if err != nil {
		return err
	}
	defer end()
	es, err := ev.Streams.Open(w)
	if err != nil {
		return nil // the client is gone
	}
	f.to = sseSink{es}
	ev.relay(ctx, f)
	return nil
}

// begin takes a place for a client and begins to watch for it. The watch begins before the headers go
// out, so a client that has them misses nothing.
func (ev *Events) begin(w http.ResponseWriter, r *api.Request) (f *follower, ctx context.Context, end func(), err error) {
	cursor, err := eventCursor(r)
	if err != nil {
		return nil, nil, nil, err
	}
	chosen, err := modesOf(r)
	if err != nil {
		return nil, nil, nil, err
	}
	who, restored, err := ev.Sessions.Restore(w, r)
	if err != nil {
		return nil, nil, nil, err
	}
	if who != nil && who.Cursor != "" && r.Header.Get("Last-Event-ID") == "" && !r.Has("after") {
		cursor = who.Cursor
	}
	since, timed, err := sinceOf(cursor)
	if err != nil {
		return nil, nil, nil, err
	}
	begun := ""
	switch {
	case timed:
		cursor = "" // what is older is passed over
	case cursor == "now":
		begun = timeCursor(ev.Sessions.Now())
	}
	done, err := ev.Streams.Quota.Take(r.Actor.Name)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := ev.Streams.Life.Bound(r.Context())
	f = &follower{w: w, who: who, restored: restored, actor: r.Actor, access: authlog.Private(r.Query["thread"]), tells: teller{ledger: ev.Ledger, modes: chosen}}
	found, stop := ev.watch(ctx, ledger.WatchQuery{Thread: r.Query["thread"], Cursor: cursor})
	streamed, leave := ev.chunks.follow(r.Query["thread"])
	f.found, f.streamed = found, streamed
	f.begun, f.since = begun, since
	return f, ctx, func() { leave(); stop(); cancel(); done() }, nil
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
	to       sink
	w        http.ResponseWriter // for the log line and the request's id
	who      *session.Client
	restored *session.SessionInfo
	actor    tokens.Token
	tells    teller
	access   bool // it asked for the thread of logins and refused credentials, which operators see alone
	found    <-chan watched
	streamed <-chan task.Chunk
	begun    string    // the cursor of the time from which on it follows; "" has another one
	since    time.Time // events before it are passed over; zero: all count
	last     string    // the cursor of the last event that was sent
	noted    string    // the cursor that its session has on record
}

// relay sends what a watch finds and what is reported. It ends with the
// watch, the client or the validity of its token.
func (ev *Events) relay(ctx context.Context, c *follower) {
	if c.restored != nil && c.to.send(&Event{Kind: "session", Session: c.restored}) != nil {
		return
	}
	if c.begun != "" && c.to.begin(c.begun) != nil {
		return
	}
	tick, stop := ev.Streams.Heartbeat()
	defer stop()
	defer c.savePlace()
	for {
		select {
		case x, ok := <-c.found:
			if ok && (c.old(x) || !c.access && x.event != nil && authlog.Private(x.event.Thread)) {
				continue
			}
			if !ok || !c.send(ctx, x) {
				return
			}
		case chunk := <-c.streamed: // without an id: no client can go on from it
			if e := emitted(&chunk); c.tells.modes.hears(e) && c.to.send(e) != nil {
				return
			}
		case <-tick:
			if !ev.Auth.Valid(c.actor) || c.to.heartbeat() != nil {
				return // revoked, expired, or gone
			}
			c.savePlace()
			c.who.KeepAlive()
		case <-ctx.Done():
			return
		}
	}
}

// send writes the events of a record and reports whether to go on. An entry that cannot be read is
// an event of its own; a client that returns goes on after it.
func (c *follower) send(ctx context.Context, x watched) bool {
	var events []*Event
	err := x.err
	if err == nil {
		events, err = c.tells.tell(ctx, x.event)
	}
	if err != nil {
		if ctx.Err() != nil {
			return false
		}
		api.NoteError(c.w, err)
		e := &Event{Kind: "error", Error: problem.Of(err, c.w.Header().Get(problem.RequestIDHeader))}
		if x.event != nil {
			e.Cursor, e.Thread, e.Seq = x.event.Cursor, x.event.Thread, x.event.Seq
		}
		events = []*Event{e}
	}
	for _, e := range events {
		if c.to.send(e) != nil {
			return false
		}
	}
	if x.event == nil {
		return false
	}
	c.last = x.event.Cursor
	return true
}

// old reports whether an event was recorded before what the client asked for. Of an entry that cannot be
// read the time is not known: it is as old as the events around it.
func (c *follower) old(x watched) bool {
	switch {
	case c.since.IsZero(), x.event == nil:
		return false
	case x.err != nil, x.event.At.Before(c.since):
		return true
	}
	c.since = time.Time{}
	return false
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

// timeMark begins a cursor that is a time. Stores do not use the byte.
const timeMark = "@"

// timeCursor returns the cursor of a time, for a stream that has no event yet to go on from. It is a
// moment earlier, as the clocks of the hosts over a store differ.
func timeCursor(now time.Time) string {
	const leeway = time.Second
	return timeMark + strconv.FormatInt(now.Add(-leeway).UnixMilli(), 10)
}

// sinceOf returns the time that a cursor is, if it is one.
func sinceOf(cursor string) (since time.Time, ok bool, err error) {
	text, ok := strings.CutPrefix(cursor, timeMark)
	if !ok {
		return since, false, nil
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms <= 0 {
		return since, false, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "cursor", Message: "is none that a stream has sent", Hint: "use now or start"}
	}
	return time.UnixMilli(ms), true, nil
}
