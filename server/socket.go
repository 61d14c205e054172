package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

const (
	socketProtocol = "posthouse"         // what the server answers a client that offers it
	bearerProtocol = "posthouse.bearer." // and the token; offered, never answered
)

// How many messages of one connection may wait for their turn, and of how many bytes.
const (
	maxQueued      = 16
	maxQueuedBytes = 1 << 20
)

// maxFirst bounds the message with a stranger's token, in bytes.
const maxFirst = 4 << 10

func isUpgrade(r *http.Request) bool {
	has := func(header, token string) bool {
		return slices.ContainsFunc(r.Header.Values(header), func(line string) bool {
			return slices.ContainsFunc(strings.Split(line, ","), func(t string) bool { return strings.EqualFold(strings.TrimSpace(t), token) })
		})
	}
	key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key"))
	return r.Method == http.MethodGet && has("Connection", "upgrade") && has("Upgrade", "websocket") &&
		r.Header.Get("Sec-WebSocket-Version") == "13" && err == nil && len(key) == 16
}

func subprotocols(r *http.Request) (ps []string) {
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for _, p := range strings.Split(line, ",") {
			ps = append(ps, strings.TrimSpace(p))
		}
	}
	return ps
}

// A conversation is one WebSocket and its client.
type conversation struct {
	s      *Server
	w      http.ResponseWriter // for the log line and the request's id
	r      *api.Request
	agent  string // that the client talks to
	conn   *websocket.Conn
	client *client       // the client's session, nil if it asked for none
	leave  func()        // gives the place among the streams back, or among the strangers
	lost   chan struct{} // closed when a stranger's place went to another
	known  chan struct{} // closed when the client is known
	queued atomic.Int64  // bytes of messages that wait for their turn

	mu       sync.Mutex
	actor    tokens.Token   // the client; zero until it is known
	tools    *gate.Session  // asks for approvals of tools; nil until the actor is known
	listener *feed.Listener // to the message that is worked on
}

// admit notes who the client is.
func (c *conversation) admit(t tokens.Token) {
	tools := c.s.approvals.openSession(&gate.SessionOptions{By: t.Name, Announce: c.announce, Decided: c.decided, Now: c.s.now})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.actor, c.tools = t, tools
}

// announce tells the client of an approval that it is asked for.
func (c *conversation) announce(g *posthouse.Gate) error {
	return c.sendApproval(approvalEvent{
		Type: "approval_required", ID: g.ID, Tool: g.Name, Arguments: g.Payload, Message: g.Text,
		Expires: int(g.ExpiresAt.Sub(g.CreatedAt).Seconds()),
	})
}

// decided tells the client of an approval's answer, before what follows from it.
func (c *conversation) decided(g *posthouse.Gate) {
	_ = c.sendApproval(approvalEvent{Type: "approval_resolved", ID: g.ID, Decision: g.Decision}) // the answer counts all the same
}

// sendApproval sends an event between the other frames of the message that is worked on.
func (c *conversation) sendApproval(e approvalEvent) error {
	c.mu.Lock()
	l := c.listener
	c.mu.Unlock()
	if l == nil {
		return errGone
	}
	if err := l.Feed.Event(e); err != nil {
		return err
	}
	select {
	case <-l.Gone:
		return errGone
	default:
		return nil
	}
}

var errGone = errors.New("server: the client is gone")

// answer takes a text that answers an approval, and reports whether it was one. The
// message whose tool asked is still worked on.
func (c *conversation) answer(ctx context.Context, text string) bool {
	m, ok := gate.ParseMessage(text)
	c.mu.Lock()
	actor := c.actor
	c.mu.Unlock()
	if !ok || actor.Name == "" {
		return false // the first message of an unknown client is its token
	}
	if ok, err := c.s.tokens.Current(actor); err != nil || !ok {
		return false // the next message ends the conversation
	}
	if _, err := c.s.resolve(ctx, m, actor); err != nil {
		e := approvalEvent{Type: "approval_refused", ID: m.ID, Error: problem.Of(err, c.w.Header().Get(problem.RequestIDHeader))}
		_ = c.write(ctx, feed.Frame{Kind: "event", Data: e}) // a client that is gone is noticed by the reader
	}
	return true
}

// socketFrame is a message to the client. The member named by Type is set.
type socketFrame struct {
	Type  string           `json:"type"`         // "text", "event", "reply", "error", "session" or "gap"
	ID    string           `json:"id,omitempty"` // of a frame of a request, which can be taken up behind it
	Text  string           `json:"text,omitempty"`
	Event any              `json:"event,omitempty"`
	Reply any              `json:"reply,omitempty"`
	Error *problem.Details `json:"error,omitempty"`
}

func (s *Server) socket(w http.ResponseWriter, r *api.Request) error {
	if !isUpgrade(r.Request) {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		return &posthouse.Error{
			Code: problem.CodeUpgrade, Message: "this path speaks WebSocket only", Hint: "POST /api/agents/{agent} takes a request by plain HTTP",
		}
	}
	agent := r.Name("agent")
	if _, ok := s.agents[agent]; !ok && r.Actor.Name != "" {
		return s.unknownAgent(agent)
	}
	c := &conversation{s: s, w: w, r: r, agent: agent, lost: make(chan struct{}), known: make(chan struct{})}
	var err error
	if r.Actor.Name == "" {
		var end func()
		if c.leave, end, err = s.beginStranger(func() { close(c.lost) }); err == nil {
			defer end()
		}
	} else {
		c.leave, err = s.beginStream(r.Actor.Name)
	}
	if err != nil {
		return err
	}
	defer func() { c.leave() }()
	if r.Actor.Name != "" {
		close(c.known)
		c.admit(r.Actor)
		if c.client, err = s.client(r.Context(), r, r.Actor.Name); err != nil {
			return err
		}
		if c.client != nil {
			w.Header().Set(sessionHeader, c.client.token)
		}
	}
	defer func() {
		if c.tools != nil {
			s.approvals.closeSession(c.tools)
		}
	}()
	// The origin was checked before; Accept checks it again.
	c.conn, err = websocket.Accept(w, r.Request, &websocket.AcceptOptions{Subprotocols: []string{socketProtocol}})
	if err != nil {
		api.NoteError(w, err) // Accept has answered
		return nil
	}
	c.conn.SetReadLimit(maxFirst)
	c.talk()
	return nil
}

// talk serves the connection until either side ends it. It takes messages one by
// one, each once the one before has its reply.
func (c *conversation) talk() {
	ctx, cancel := context.WithCancel(c.s.ctx) // the request's own context means nothing once the connection is ours
	inbox, ended := make(chan string, maxQueued), make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		c.read(context.WithoutCancel(ctx), ctx.Done(), inbox) // until the connection is closed, so that the reason is still told
	}()
	defer func() {
		cancel()
		if c.s.ctx.Err() != nil {
			_ = c.conn.Close(websocket.StatusGoingAway, "the server is shutting down") // if it is still there
		}
		_ = c.conn.CloseNow() // the reason, if any, was given
		<-ended
	}()
	if c.actor.Name != "" && !c.welcome(ctx) {
		return
	}
	tick, stop := c.s.tick(api.HeartbeatInterval)
	defer stop()
	late := time.NewTimer(c.s.limits.Token)
	defer late.Stop()
	for {
		select {
		case text := <-inbox:
			c.queued.Add(-int64(len(text)))
			if !c.handleMessage(ctx, text) {
				return
			}
		case <-tick:
			if c.actor.Name != "" && !c.s.tokenValid(c.actor) {
				c.refuse(c.s.unauthenticated(c.actor))
				return
			}
			if c.ping(ctx) != nil {
				return
			}
		case <-late.C:
			if c.actor.Name == "" {
				c.leave() // before the client is told, who may take its time to hear it
				c.leave = func() {}
				c.refuse(c.s.unauthenticated(tokens.Token{}))
				return
			}
		case <-c.lost:
			return
		case <-ctx.Done():
			return
		}
	}
}

// read queues what the client says. It goes on while a message is worked on,
// since answers to pings come this way too. Of a stranger it reads one message, and goes
// on once that has said who it is, or until over.
func (c *conversation) read(ctx context.Context, over <-chan struct{}, inbox chan<- string) {
	for first := true; ; first = false {
		if !first {
			select {
			case <-c.known:
			case <-over:
				return
			}
		}
		select {
		case <-c.known:
			c.conn.SetReadLimit(maxMessage + 1)
		default:
		}
		typ, data, err := c.conn.Read(ctx)
		if err != nil {
			return
		}
		switch {
		case typ != websocket.MessageText:
			_ = c.conn.Close(websocket.StatusUnsupportedData, "text messages only")
			return
		case !utf8.Valid(data):
			_ = c.conn.Close(websocket.StatusInvalidFramePayloadData, "not valid UTF-8")
			return
		}
		if c.answer(ctx, string(data)) {
			continue
		}
		room := c.queued.Add(int64(len(data))) <= maxQueuedBytes
		if room {
			select {
			case inbox <- string(data):
			default:
				room = false
			}
		}
		if !room {
			c.queued.Add(-int64(len(data)))
			err := &posthouse.Error{Code: problem.CodeTooMany, Message: "too many messages wait for their turn", Hint: "wait for the replies"}
			if c.write(ctx, feed.Frame{Kind: "error", Data: err}) != nil {
				return
			}
		}
	}
}

// handleMessage handles one message and reports whether to go on.
func (c *conversation) handleMessage(ctx context.Context, text string) bool {
	if c.actor.Name == "" {
		return c.login(text)
	}
	switch ok, err := c.s.tokens.Current(c.actor); {
	case err != nil:
		c.refuse(c.s.authUnavailable(err))
		return false
	case !ok:
		c.refuse(c.s.unauthenticated(c.actor))
		return false
	}
	c.s.noteUse(c.actor)
	m := message{
		agent: c.agent, text: text, thread: c.r.Query["thread"], by: c.actor.Name, feed: c.s.newFeed(), approvals: c.tools,
		withdraw: c.r.Query["withdraw"] == "true",
	}
	l := m.feed.Listen(0)
	c.mu.Lock()
	c.listener = l
	c.mu.Unlock()
	call, err := c.s.start(m)
	if err != nil {
		api.NoteError(c.w, err)
		return c.write(ctx, feed.Frame{Kind: "error", Data: err}) == nil
	}
	c.client.working(call.thread)
	return c.listen(ctx, l)
}

// listen writes what a request's feed says and reports whether to go on.
func (c *conversation) listen(ctx context.Context, l *feed.Listener) bool {
	return c.s.pump(ctx, l, func(f feed.Frame) error {
		if r, ok := f.Data.(*Reply); ok {
			c.client.replied(r)
		}
		return c.tellFrame(ctx, l.Feed, f)
	}, func() error {
		if !c.s.tokenValid(c.actor) {
			return errGone // revoked, or expired
		}
		return c.ping(ctx)
	})
}

// welcome gives a client its session back, and then the rest of the request that it
// was on. It reports whether to go on.
func (c *conversation) welcome(ctx context.Context) bool {
	if c.client != nil {
		i, err := c.client.info(ctx)
		if err != nil {
			c.refuse(err)
			return false
		}
		if c.write(ctx, feed.Frame{Kind: "session", Data: i}) != nil {
			return false
		}
	}
	p, err := positionOf(c.r)
	if err == nil && p == (position{}) {
		return true
	}
	var was *call
	var after uint64
	if err == nil {
		was, after, err = c.s.findCall(p, c.actor.Name)
	}
	if err != nil {
		api.NoteError(c.w, err)
		return c.write(ctx, feed.Frame{Kind: "error", Data: err}) == nil
	}
	return c.listen(ctx, was.feed.Listen(after))
}

// login reads the token from the first message.
func (c *conversation) login(text string) bool {
	var first struct {
		Token string `json:"token"`
	}
	if strict.Decode([]byte(text), &first) != nil { // its error could repeat the token
		c.s.noteRefused(c.r.Request, tokens.Token{}, "")
		c.refuse(c.s.unauthenticated(tokens.Token{}))
		return false
	}
	tok, ok, err := c.s.tokens.Authenticate(first.Token)
	switch {
	case err != nil:
		err = c.s.authUnavailable(err)
	case !ok:
		c.s.noteRefused(c.r.Request, tok, first.Token)
		err = c.s.unauthenticated(tok)
	default:
		c.s.noteUse(tok)
		api.NoteActor(c.w, tok.Name)
		if err = requireRole(tok, c.r.Route.Role); err == nil {
			if _, known := c.s.agents[c.agent]; !known {
				err = c.s.unknownAgent(c.agent)
			}
		}
	}
	var leave func()
	if err == nil {
		leave, err = c.s.beginStream(tok.Name)
	}
	if err != nil {
		c.refuse(err)
		return false
	}
	c.leave()
	c.leave = leave
	close(c.known)
	c.admit(tok)
	if c.client, err = c.s.client(c.s.ctx, c.r, tok.Name); err != nil {
		c.refuse(err)
		return false
	}
	return c.welcome(c.s.ctx)
}

// refuse tells why and ends the connection.
func (c *conversation) refuse(err error) {
	api.NoteError(c.w, err)
	_ = c.write(c.s.ctx, feed.Frame{Kind: "error", Data: err}) // the close that follows says it too
	_ = c.conn.Close(websocket.StatusPolicyViolation, string(problem.Client(err).Code))
}

func (c *conversation) write(ctx context.Context, f feed.Frame) error {
	return c.tellFrame(ctx, nil, f)
}

// tellFrame writes a frame of a feed, nil for none.
func (c *conversation) tellFrame(ctx context.Context, of *feed.Feed, f feed.Frame) error {
	out := socketFrame{Type: f.Kind}
	if f.N > 0 {
		out.ID = of.ID(f.N)
	}
	switch x := f.Data.(type) {
	case feed.Text:
		out.Text = x.Text
	case error:
		out.Error = problem.Of(x, c.w.Header().Get(problem.RequestIDHeader))
	case *Reply:
		out.Reply = x
	default:
		out.Event = x
	}
	body, err := json.Marshal(out)
	if err != nil {
		return errors.Join(err, c.conn.Close(websocket.StatusInternalError, "a frame could not be encoded"))
	}
	// A write that is cut short ends the connection. So the closing server must
	// not cut it: it sends a close frame.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.WriteTimeout)
	defer cancel()
	c.mu.Lock()
	name := c.actor.Name
	c.mu.Unlock()
	defer c.s.unread.Begin(name, len(body), cancel)()
	return c.conn.Write(ctx, websocket.MessageText, body)
}

// ping asks whether the client is still there.
func (c *conversation) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, api.HeartbeatInterval)
	defer cancel()
	err := c.conn.Ping(ctx)
	if err == nil {
		c.client.keepAlive()
	}
	return err
}
