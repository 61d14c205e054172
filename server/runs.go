package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// Headers that name a request to an agent. Atmosphere's clients send the second.
const (
	runHeader   = "X-Posthouse-Run"
	runHeaderOf = "X-Atmosphere-Run-Id"
)

var (
	runParam   = api.Param{Name: "run", Kind: api.NameParam, Help: "the request to take up again, as the header " + runHeader + " of its answer names it, or the thread it works on"}
	runParamOf = api.Param{Name: runHeaderOf, Kind: api.NameParam, Help: "the same, for clients that cannot set headers"}
	runAfter   = api.Param{Name: "after", Kind: api.TextParam, Help: "the id of the last event that was seen, as in the header Last-Event-ID, which goes before it; default: from the first that is kept"}
)

// keepEnded is how long a request that has ended can be taken up again.
const keepEnded = 5 * time.Minute

// runs are the requests that agents work on and those that ended lately, for
// clients that return. They are kept in memory: a restart forgets them.
type runs struct {
	now   func() time.Time
	limit int // of those that ended

	mu    sync.Mutex
	of    map[string]*call
	ended []*call // the oldest first
	begun uint64
}

func (rs *runs) add(c *call) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.begun++
	c.number = rs.begun
	rs.of[c.feed.Run] = c
	rs.sweep()
}

func (rs *runs) remove(c *call) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	c.endedAt = rs.now()
	rs.ended = append(rs.ended, c)
	rs.sweep()
}

// sweep forgets calls that ended long ago, and of too many the oldest of the token that
// has most. Callers hold rs.mu.
func (rs *runs) sweep() {
	for len(rs.ended) > 0 && rs.now().Sub(rs.ended[0].endedAt) >= keepEnded {
		rs.forget(0)
	}
	for len(rs.ended) > rs.limit {
		have := map[string]int{}
		for _, c := range rs.ended {
			have[c.by]++
		}
		oldest := 0 // of the token that has most, and of two the one with the oldest
		for i, c := range rs.ended {
			if have[c.by] > have[rs.ended[oldest].by] {
				oldest = i
			}
		}
		rs.forget(oldest)
	}
}

func (rs *runs) forget(i int) {
	delete(rs.of, rs.ended[i].feed.Run)
	rs.ended = slices.Delete(rs.ended, i, i+1)
}

// find returns the principal's call by its id, or the newest on the thread of
// that name. It returns nil for any other.
func (rs *runs) find(id, principal string) *call {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.sweep()
	if c := rs.of[id]; c != nil && c.by == principal {
		return c
	}
	var newest *call
	for _, c := range rs.of {
		if c.thread == id && c.by == principal && (newest == nil || c.number > newest.number) {
			newest = c
		}
	}
	return newest
}

// working returns the id of the principal's request that runs on the thread now,
// or "".
func (rs *runs) working(thread, principal string) string {
	c := rs.find(thread, principal)
	if c == nil || c.thread != thread {
		return ""
	}
	select {
	case <-c.done:
		return ""
	default:
		return c.feed.Run
	}
}

// A position is where in a request a client was.
type position struct {
	run   string // the request, or its thread; "" if the client does not say
	event string // the request that the last event belongs to
	after uint64 // that event's number
}

// positionOf reads the position that a client sends.
func positionOf(r *api.Request) (p position, err error) {
	p.run = r.Query[runParam.Name]
	if r.Has(runHeaderOf) {
		p.run = r.Query[runHeaderOf]
	}
	for _, name := range []string{runHeaderOf, runHeader} {
		if vs := r.Header.Values(name); len(vs) > 0 {
			p.run = vs[0]
			if err := runParam.Check(p.run); err != nil {
				return p, posthouse.Invalid(name, "%.80q is no id", p.run)
			}
		}
	}
	field, at := "Last-Event-ID", r.Header.Get("Last-Event-ID")
	if at == "" {
		field, at = runAfter.Name, r.Query[runAfter.Name]
	}
	if at == "" {
		return p, nil
	}
	run, n, ok := strings.Cut(at, "/")
	p.after, err = strconv.ParseUint(n, 10, 64)
	if !ok || err != nil || posthouse.ID(run).Validate() != nil {
		return p, posthouse.Invalid(field, "%.80q is not the id of an event of a request: RUN/NUMBER", at)
	}
	p.event = run
	return p, nil
}

// findCall returns the call that a client was on, and how far it was.
func (s *Server) findCall(p position, principal string) (*call, uint64, error) {
	if p.event != "" {
		c := s.runs.find(p.event, principal)
		if c != nil && c.feed.Run == p.event && (p.run == "" || p.run == p.event || p.run == c.thread) {
			return c, p.after, nil
		}
	}
	id := cmp.Or(p.run, p.event)
	if c := s.runs.find(id, principal); c != nil {
		return c, 0, nil
	}
	e := problem.NotFound("request", id)
	e.Hint = "it ended some time ago, or before the server was started; what it recorded is in GET /api/events of its thread"
	return nil, 0, e
}

func (s *Server) runRoutes() []*api.Route {
	return []*api.Route{{
		Method: http.MethodGet, Path: "/api/run", Role: tokens.Operator, Summary: "Take up a request again", Handle: s.followRun, Style: api.Stream,
		Notes: "For a client that lost the answer of POST /api/agents/{agent} or its WebSocket: the events of the request from where it was, while an agent works on it and for five minutes after. " +
			"The request is named by the header " + runHeader + ", also " + runHeaderOf + ", or by Last-Event-ID alone; unless given it is that of the session's thread. " +
			"Only its sender finds it. The event gap says how many events are not kept any more.",
		Query: []api.Param{runParam, runParamOf, runAfter, sessionParam, sessionParamOf},
		Answers: []api.Answer{
			{Status: http.StatusOK, Help: "the events text, event, and at last done (the reply) or error (a problem)", Body: nil, Media: "text/event-stream"},
		},
	}}
}

// followRun answers with a call's events, behind the last one that the client has.
func (s *Server) followRun(w http.ResponseWriter, r *api.Request) error {
	p, err := positionOf(r)
	if err != nil {
		return err
	}
	who, session, err := s.restoreSession(w, r)
	if err != nil {
		return err
	}
	if p == (position{}) && who != nil {
		p.run = who.Thread
	}
	if p == (position{}) {
		return posthouse.Invalid(runParam.Name, "is required: the request, its thread, or a session that has one")
	}
	c, after, err := s.findCall(p, r.Actor.Name)
	if err != nil {
		return err
	}
	done, err := s.beginStream(r.Actor.Name)
	if err != nil {
		return err
	}
	defer done()
	w.Header().Set(runHeader, c.feed.Run)
	return s.streamFeed(w, r, c.feed.Listen(after), who, session)
}

// streamFeed answers with a stream of a call's events.
func (s *Server) streamFeed(w http.ResponseWriter, r *api.Request, l *feed.Listener, who *client, session *SessionInfo) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	es, err := api.NewEventStream(w, s.wall, s.unread)
	if err != nil {
		return nil // the client is gone
	}
	if session != nil && es.Send("", "session", session) != nil {
		return nil
	}
	s.pump(ctx, l, func(f feed.Frame) error {
		id := ""
		if f.N > 0 {
			id = l.Feed.ID(f.N)
		}
		switch f.Kind {
		case "reply":
			if r, ok := f.Data.(*Reply); ok {
				who.replied(r)
			}
			return es.Send(id, "done", f.Data)
		case "error":
			err, _ := f.Data.(error) // an error frame holds one
			api.NoteError(w, err)
			return es.Send(id, "error", problem.Of(err, w.Header().Get(problem.RequestIDHeader)))
		}
		return es.Send(id, f.Kind, f.Data)
	}, func() error {
		if !s.tokenValid(r.Actor) {
			return errGone // revoked, or expired
		}
		if err := es.Heartbeat(); err != nil {
			return err
		}
		who.keepAlive()
		return nil
	})
	return nil
}
