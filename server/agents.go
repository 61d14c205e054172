package server

import (
	"mime"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/internal/idempotency"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/internal/stream"
	"github.com/posthouse/posthouse/server/tokens"
)

// agents are /api/agents and /api/run: requests to agents, and taking them up again.
type agents struct {
	calls    *agentcall.Calls
	keys     *agentcall.Keys
	sessions *session.Sessions
	streams  *stream.Streams
	outcomes *outcomes
	auth     *auth.Authenticator
	timeout  *limit.AnswerTimeout
}

func (as *agents) Routes() []*api.Route {
	return []*api.Route{
		{
			Method: http.MethodPost, Path: "/api/agents/{agent}", Role: tokens.Operator, Summary: "Send a request to an agent", Handle: api.Take(as.post),
			Notes: "Answers when the agent waits for a decision or is done; 202 with where to look if that takes longer. The work goes on if the client leaves. " +
				"With Accept: text/event-stream the answer is a stream of the events text, event, and at last done (the reply) or error (a problem). " +
				"The header " + agentcall.RunHeader + " of the answer names the request: GET /api/run takes it up again. " +
				"With the header " + api.KeyHeader + " it is taken once: sent again while the agent works on it, it waits for the same answer.",
			Attach: true, Body: agentBody{}, Answers: []api.Answer{
				{Status: http.StatusOK, Help: "what the request came to", Body: Reply{}, Media: ""}, {Status: http.StatusOK, Help: "the same, as it happens", Body: nil, Media: "text/event-stream"},
				{Status: http.StatusAccepted, Help: "it is still running", Body: Accepted{}, Media: ""},
			},
		},
		as.runRoute(),
	}
}

type agentBody struct {
	Message string `json:"message" doc:"the request, for the agent"`
	Thread  string `json:"thread,omitempty" doc:"work on this thread; a new one unless given"`

	Withdraw bool `json:"withdraw,omitempty" doc:"withdraw a question that people are asked on the thread; without it the message is refused there: 409 with the gate"`
}

func (as *agents) post(w http.ResponseWriter, r *api.Request, b *agentBody) error {
	m := agentcall.Message{Agent: r.Name("agent"), Text: b.Message, Thread: b.Thread, By: r.Actor.Name, Withdraw: b.Withdraw}
	who, err := as.sessions.Open(r.Context(), r, r.Actor.Name)
	if err != nil {
		return err
	}
	if acceptsStream(r.Request) {
		return as.stream(w, r, m, who)
	}
	c, keep, err := as.begin(w, r, m)
	if err != nil || c == nil {
		return err
	}
	w.Header().Set(agentcall.RunHeader, c.Feed.Run)
	if who != nil {
		w.Header().Set(session.Header, who.Token)
		who.Working(c.Thread)
	}
	ctx, cancel := as.timeout.Bound(r.Context())
	defer cancel()
	if !c.Wait(ctx) {
		return as.outcomes.accepted(w, r, &pending{checkpoint: &posthouse.Header{Thread: c.Thread}})
	}
	reply, err := c.Outcome()
	if err != nil {
		return err
	}
	noteReply(who, reply)
	if keep == nil {
		return api.WriteJSON(w, http.StatusOK, reply)
	}
	held := api.HoldBack(w)
	err = api.WriteJSON(w, http.StatusOK, reply)
	if err == nil {
		_ = keep.Keep(r.Context(), idempotency.NewAnswer(held.Status, w.Header(), held.Body)) // without it, its thread says what came of it
	}
	held.Send(w)
	return err
}

// noteReply notes in a client's session where a reply left the thread.
func noteReply(who *session.Client, reply *agentcall.Reply) {
	if reply != nil {
		who.Replied(reply.Thread, reply.Checkpoint, reply.Gate)
	}
}

// stream answers with a stream of what the agent does.
func (as *agents) stream(w http.ResponseWriter, r *api.Request, m agentcall.Message, who *session.Client) error {
	done, err := as.streams.Quota.Take(r.Actor.Name)
	if err != nil {
		return err
	}
	defer done()
	var restored *session.SessionInfo
	if who != nil {
		restored, err = who.Info(r.Context())
		if err != nil {
			return err
		}
		w.Header().Set(session.Header, who.Token)
	}
	call, _, err := as.begin(w, r, m)
	if err != nil || call == nil {
		return err
	}
	w.Header().Set(agentcall.RunHeader, call.Feed.Run)
	who.Working(call.Thread)
	return as.streamFeed(w, r, call.Feed.Listen(0), who, restored)
}

// begin starts a request, with a key or without; keep has the answer of one with a key. Where it
// returns neither a call nor an error, the request was answered.
func (as *agents) begin(w http.ResponseWriter, r *api.Request, m agentcall.Message) (c *agentcall.Call, keep *idempotency.Request, err error) {
	key, err := idempotency.Key(r)
	if err != nil {
		return nil, nil, err
	}
	if key == "" {
		c, err = as.calls.Start(m)
		return c, nil, err
	}
	if err := as.calls.Validate(&m); err != nil {
		return nil, nil, err
	}
	n, err := as.keys.Start(r.Context(), key, m)
	if err != nil {
		return nil, nil, err
	}
	streams := acceptsStream(r.Request)
	if n.Answer != nil && (!streams || n.Call == nil) {
		w.Header().Set(agentcall.RunHeader, string(n.Request.ID))
		n.Answer.Write(w)
		return nil, nil, nil
	}
	if n.Request.Again {
		w.Header().Set(api.ReplayedHeader, "true")
	}
	if n.Call == nil {
		return nil, nil, as.outcomes.accepted(w, r, &pending{checkpoint: &posthouse.Header{Thread: n.Thread}})
	}
	return n.Call, n.Request, nil
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
