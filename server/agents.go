package server

import (
	"mime"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

func (s *Server) agentRoutes() []*api.Route {
	rs := []*api.Route{
		{
			Method: http.MethodPost, Path: "/api/agents/{agent}", Role: tokens.Operator, Summary: "Send a request to an agent", Handle: api.Take(s.postAgent),
			Notes: "Answers when the agent waits for a decision or is done; 202 with where to look if that takes longer. The work goes on if the client leaves. " +
				"With Accept: text/event-stream the answer is a stream of the events text, event, and at last done (the reply) or error (a problem). " +
				"The header " + runHeader + " of the answer names the request: GET /api/run takes it up again. " +
				"With the header " + keyHeader + " it is taken once: sent again by its sender within a day it is answered as it was, or with 202 and its thread where that is not known any more, " +
				"with the header " + replayed + "; another message under the key is 409. Other paths refuse the header.",
			Keyed: true, Body: agentBody{}, Answers: []api.Answer{
				{Status: http.StatusOK, Help: "what the request came to", Body: Reply{}, Media: ""}, {Status: http.StatusOK, Help: "the same, as it happens", Body: nil, Media: "text/event-stream"},
				{Status: http.StatusAccepted, Help: "it is still running", Body: Accepted{}, Media: ""},
			},
		},
		{
			Method: http.MethodGet, Path: "/api/events", Role: tokens.Viewer, Summary: "Follow what is recorded", Handle: s.events, Style: api.Stream,
			Notes: "Server-sent events: the event is the record's kind, its id the cursor to go on from, its data the event as JSON. " +
				"A chunk event without an id is what a worker's handler streams at that time; it is not recorded. " +
				"An error event with a problem ends the stream, unless it has an id: then it is about that entry, and others follow. A comment comes every 15 seconds. " +
				"With a session, the first event is session, and events go on behind the last one it saw.",
			Query: []api.Param{
				threadParam,
				{Name: "after", Kind: api.TextParam, Def: "now", Help: "a cursor, now, or start; the header Last-Event-ID goes before it"},
				sessionParam, sessionParamOf,
			},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "events", Body: nil, Media: "text/event-stream"}},
		},
		{
			Method: http.MethodGet, Path: "/api/diff", Role: tokens.Viewer, Summary: "Compare two checkpoints", Handle: api.Show(s.diff),
			Query: []api.Param{
				{Name: "a", Kind: api.IDParam, Help: "a checkpoint; required"}, {Name: "b", Kind: api.IDParam, Help: "another; required"},
			},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "what differs", Body: diff.Comparison{}, Media: ""}},
		},
	}
	for _, path := range []string{"/agent/{agent}", "/atmosphere/agent/{agent}"} {
		rs = append(rs, &api.Route{
			Method: http.MethodGet, Path: path, Role: tokens.Operator, Summary: "Talk to an agent over a WebSocket", Handle: s.socket, Style: api.Socket,
			Notes: "Each text message is a request. Frames are JSON: {\"type\":\"text\",\"text\"}, {\"type\":\"event\",\"event\"}, {\"type\":\"reply\",\"reply\"} and {\"type\":\"error\",\"error\": a problem}. " +
				"A tool that needs an approval asks by the event {\"type\":\"approval_required\",\"id\",\"tool\",\"arguments\",\"message\",\"expiresInSeconds\"}; the message /__approval/{id}/approve, deny or respond answers it. Closing denies it. " +
				"With a session, the first frame is {\"type\":\"session\",\"event\": as GET /api/session answers}. " +
				"Frames of a request have an id. A client that connects again with the header " + runHeader + ", also " + runHeaderOf + ", or with run, and with after, the last id it has, gets the rest of that request first, behind {\"type\":\"gap\",\"event\":{\"missed\": n}} if some is not kept. " +
				"The token comes as the subprotocol posthouse.bearer.TOKEN beside posthouse, in the header Authorization, or in the first message: {\"token\":\"...\"}.",
			Query:   []api.Param{{Name: "thread", Kind: api.NameParam, Help: "work on this thread; each request has its own unless given"}, withdrawParam, runParam, runParamOf, runAfter, sessionParam, sessionParamOf},
			Answers: []api.Answer{{Status: http.StatusSwitchingProtocols, Help: "a WebSocket", Body: nil, Media: "application/octet-stream"}},
		})
	}
	return rs
}

var withdrawParam = api.Param{Name: "withdraw", Kind: api.BoolParam, Def: "false", Help: "requests may withdraw a question that people are asked on the thread; without it they are refused there"}

type agentBody struct {
	Message string `json:"message" doc:"the request, for the agent"`
	Thread  string `json:"thread,omitempty" doc:"work on this thread; a new one unless given"`

	Withdraw bool `json:"withdraw,omitempty" doc:"withdraw a question that people are asked on the thread; without it the message is refused there: 409 with the gate"`
}

func (s *Server) postAgent(w http.ResponseWriter, r *api.Request, b *agentBody) error {
	m := message{agent: r.Name("agent"), text: b.Message, thread: b.Thread, by: r.Actor.Name, withdraw: b.Withdraw}
	who, err := s.client(r.Context(), r, r.Actor.Name)
	if err != nil {
		return err
	}
	if acceptsStream(r.Request) {
		return s.streamAgent(w, r, m, who)
	}
	c, err := s.beginAgent(w, r, m)
	if err != nil || c == nil {
		return err
	}
	w.Header().Set(runHeader, c.feed.Run)
	if who != nil {
		w.Header().Set(sessionHeader, who.token)
		who.working(c.thread)
	}
	if !s.waitForCall(r.Context(), c) {
		return s.accepted(w, r, &pending{checkpoint: &posthouse.Header{Thread: c.thread}})
	}
	if c.err != nil {
		return c.err
	}
	who.replied(c.reply)
	return api.WriteJSON(w, http.StatusOK, c.reply)
}

// streamAgent answers with a stream of what the agent does.
func (s *Server) streamAgent(w http.ResponseWriter, r *api.Request, m message, who *client) error {
	done, err := s.beginStream(r.Actor.Name)
	if err != nil {
		return err
	}
	defer done()
	var session *SessionInfo
	if who != nil {
		if session, err = who.info(r.Context()); err != nil {
			return err
		}
		w.Header().Set(sessionHeader, who.token)
	}
	call, err := s.beginAgent(w, r, m)
	if err != nil || call == nil {
		return err
	}
	w.Header().Set(runHeader, call.feed.Run)
	who.working(call.thread)
	return s.streamFeed(w, r, call.feed.Listen(0), who, session)
}

func acceptsStream(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept") {
		for _, m := range strings.Split(line, ",") {
			if t, _, err := mime.ParseMediaType(m); err == nil && t == "text/event-stream" {
				return true
			}
		}
	}
	return false
}
