package server

import (
	"errors"
	"net/http"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

func (as *agents) runRoute() *api.Route {
	return &api.Route{
		Method: http.MethodGet, Path: "/api/run", Role: tokens.Operator, Summary: "Take up a request again", Handle: as.followRun, Style: api.Stream,
		Notes: "For a client that lost the answer of POST /api/agents/{agent} or its WebSocket: the events of the request from where it was, while an agent works on it and for five minutes after. " +
			"The request is named by the header " + agentcall.RunHeader + ", also " + agentcall.AtmosphereRunHeader + ", or by Last-Event-ID alone; unless given it is that of the session's thread. " +
			"Only its sender finds it. The event gap says how many events are not kept any more.",
		Query: slices.Concat(agentcall.PositionParams(), session.Params()),
		Answers: []api.Answer{
			{Status: http.StatusOK, Help: "the events text, event, and at last done (the reply) or error (a problem)", Body: nil, Media: "text/event-stream"},
		},
	}
}

// followRun answers with a call's events, after the last one that the client has.
func (as *agents) followRun(w http.ResponseWriter, r *api.Request) error {
	p, err := agentcall.PositionOf(r)
	if err != nil {
		return err
	}
	who, restored, err := as.sessions.Restore(w, r)
	if err != nil {
		return err
	}
	if p == (agentcall.Position{}) && who != nil {
		p.Run = who.Thread
	}
	if p == (agentcall.Position{}) {
		return posthouse.Invalid(agentcall.RunParam, "is required: the request, its thread, or a session that has one")
	}
	c, after, err := as.calls.Known.FindAt(p, r.Actor.Name)
	if err != nil {
		return err
	}
	done, err := as.streams.Quota.Take(r.Actor.Name)
	if err != nil {
		return err
	}
	defer done()
	w.Header().Set(agentcall.RunHeader, c.Feed.Run)
	return as.streamFeed(w, r, c.Feed.Listen(after), who, restored)
}

// streamFeed answers with a stream of a call's events.
func (as *agents) streamFeed(w http.ResponseWriter, r *api.Request, l *feed.Listener, who *session.Client, restored *session.SessionInfo) error {
	ctx, cancel := as.streams.Life.Bound(r.Context())
	defer cancel()
	es, err := as.streams.Open(w)
	if err != nil {
		return nil // the client is gone
	}
	if restored != nil && es.Send("", "session", restored) != nil {
		return nil
	}
	as.streams.Pump(ctx, l, func(f feed.Frame) error {
		id := ""
		if f.N > 0 {
			id = l.Feed.ID(f.N)
		}
		switch f.Kind {
		case "reply":
			if reply, ok := f.Data.(*agentcall.Reply); ok {
				noteReply(who, reply)
			}
			return es.Send(id, "done", f.Data)
		case "error":
			err, _ := f.Data.(error) // an error frame holds one
			api.NoteError(w, err)
			return es.Send(id, "error", problem.Of(err, w.Header().Get(problem.RequestIDHeader)))
		}
		return es.Send(id, f.Kind, f.Data)
	}, func() error {
		if !as.auth.Valid(r.Actor) {
			return errNotValid // revoked, or expired
		}
		if err := es.Heartbeat(); err != nil {
			return err
		}
		who.KeepAlive()
		return nil
	})
	return nil
}

var errNotValid = errors.New("server: the token is not valid any more")
