package conversation

import (
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/internal/stream"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// Sockets are /agent/{agent} and /atmosphere/agent/{agent}: conversations over WebSockets.
type Sockets struct {
	Calls     *agentcall.Calls
	Sessions  *session.Sessions
	Tools     *ToolApprovals
	Auth      *auth.Authenticator
	Streams   *stream.Streams
	TokenWait time.Duration // how long a client may take to send its token in a message
	Now       func() time.Time
}

// Routes are the routes of conversations.
func (sk *Sockets) Routes() (rs []*api.Route) {
	for _, path := range []string{"/agent/{agent}", "/atmosphere/agent/{agent}"} {
		rs = append(rs, &api.Route{
			Method: http.MethodGet, Path: path, Role: tokens.Operator, Summary: "Talk to an agent over a WebSocket", Handle: sk.connect, Style: api.Socket,
			Notes: "Each text message is a request. Frames are JSON: {\"type\":\"text\",\"text\"}, {\"type\":\"event\",\"event\"}, {\"type\":\"reply\",\"reply\"} and {\"type\":\"error\",\"error\": a problem}. " +
				"A tool that needs an approval asks by the event {\"type\":\"approval_required\",\"id\",\"tool\",\"arguments\",\"message\",\"expiresInSeconds\"}; the message /__approval/{id}/approve, deny or respond answers it. Closing denies it. " +
				"With a session, the first frame is {\"type\":\"session\",\"event\": as GET /api/session answers}. " +
				"Frames of a request have an id. A client that connects again with the header " + agentcall.RunHeader + ", also " + agentcall.AtmosphereRunHeader + ", or with run, and with after, the last id it has, gets the rest of that request first, behind {\"type\":\"gap\",\"event\":{\"missed\": n}} if some is not kept. " +
				"The token comes as the subprotocol posthouse.bearer.TOKEN beside posthouse, in the header Authorization, or in the first message: {\"token\":\"...\"}. " +
				"With frames=text messages are texts: the agent's as it comes, its reply where there was none, a tool's question with what answers it, and errors.",
			Query: slices.Concat([]api.Param{
				{Name: "frames", Kind: api.EnumParam, Values: []string{"json", "text"}, Def: "json", Help: "what messages to the client are: frames as JSON, or text alone"},
				{Name: "thread", Kind: api.NameParam, Help: "work on this thread; each request has its own unless given"},
				{Name: "withdraw", Kind: api.BoolParam, Def: "false", Help: "requests may withdraw a question that people are asked on the thread; without it they are refused there"},
			}, agentcall.PositionParams(), session.Params()),
			Answers: []api.Answer{{Status: http.StatusSwitchingProtocols, Help: "a WebSocket", Body: nil, Media: "application/octet-stream"}},
		})
	}
	return rs
}

func (sk *Sockets) connect(w http.ResponseWriter, r *api.Request) error {
	if !api.IsUpgrade(r.Request) {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		return &posthouse.Error{
			Code: problem.CodeUpgrade, Message: "this path speaks WebSocket only", Hint: "POST /api/agents/{agent} takes a request by plain HTTP",
		}
	}
	agent := r.Name("agent")
	if _, ok := sk.Calls.Agents[agent]; !ok && r.Actor.Name != "" {
		return sk.Calls.Unknown(agent)
	}
	c := &conversation{of: sk, w: w, r: r, agent: agent, lost: make(chan struct{}), known: make(chan struct{})}
	var err error
	if r.Actor.Name == "" {
		var end func()
		c.leave, end, err = sk.Streams.Unauthenticated.Take(func() { close(c.lost) })
		if err == nil {
			defer end()
		}
	} else {
		c.leave, err = sk.Streams.Quota.Take(r.Actor.Name)
	}
	if err != nil {
		return err
	}
	defer func() { c.leave() }()
	if r.Actor.Name != "" {
		close(c.known)
		c.admit(r.Actor)
		c.client, err = sk.Sessions.Open(r.Context(), r, r.Actor.Name)
		if err != nil {
			return err
		}
		if c.client != nil {
			w.Header().Set(session.Header, c.client.Token)
		}
	}
	defer func() {
		if c.tools != nil {
			sk.Tools.closeSession(c.tools)
		}
	}()
	// The origin was checked before; Accept checks it again.
	c.conn, err = websocket.Accept(w, r.Request, &websocket.AcceptOptions{Subprotocols: []string{api.SocketProtocol}})
	if err != nil {
		api.NoteError(w, err) // Accept has answered
		return nil
	}
	c.conn.SetReadLimit(MaxFirst)
	c.talk()
	return nil
}
