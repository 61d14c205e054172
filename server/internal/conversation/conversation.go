package conversation

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// How many messages of one connection may wait for their turn, and of how many bytes.
const (
	MaxQueued      = 16
	maxQueuedBytes = 1 << 20
)

// A conversation is one WebSocket and its client.
type conversation struct {
	of     *Sockets
	w      http.ResponseWriter // for the log line and the request's id
	r      *api.Request
	agent  string // that the client talks to
	conn   *websocket.Conn
	client *session.Client // its session; nil if it did not ask for one
	leave  func()          // gives its place back, among the streams or the unauthenticated
	lost   chan struct{}   // closed when its place among the unauthenticated went to another
	known  chan struct{}   // closed when the client is known
	queued atomic.Int64    // bytes of messages that wait for their turn
	texts  atomic.Int64    // pieces of text of the request that is worked on

	mu       sync.Mutex
	actor    tokens.Token   // the client; zero until it is known
	tools    *gate.Session  // asks for approvals of tools; nil until the actor is known
	listener *feed.Listener // to the message that is worked on
}

// talk serves the connection until either side ends it. It takes messages one by
// one, each once the one before has its reply.
func (c *conversation) talk() {
	ctx, cancel := context.WithCancel(c.of.Streams.Life.Context()) // the request's own context means nothing once the connection is ours
	inbox, ended := make(chan string, MaxQueued), make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		c.read(context.WithoutCancel(ctx), ctx.Done(), inbox) // until the connection is closed, so that the reason is still told
	}()
	defer func() {
		cancel()
		if c.of.Streams.Life.Context().Err() != nil {
			_ = c.conn.Close(websocket.StatusGoingAway, "the server is shutting down") // if it is still there
		}
		_ = c.conn.CloseNow() // the reason, if any, was given
		<-ended
	}()
	if c.actor.Name != "" && !c.welcome(ctx) {
		return
	}
	tick, stop := c.of.Streams.Heartbeat()
	defer stop()
	late := time.NewTimer(c.of.TokenWait)
	defer late.Stop()
	for {
		select {
		case text := <-inbox:
			c.queued.Add(-int64(len(text)))
			if !c.handleMessage(ctx, text) {
				return
			}
		case <-tick:
			if c.actor.Name != "" && !c.of.Auth.Valid(c.actor) {
				c.refuse(c.of.Auth.Unauthenticated(c.actor))
				return
			}
			if c.ping(ctx) != nil {
				return
			}
		case <-late.C:
			if c.actor.Name == "" {
				c.leave() // before the client is told, who may take its time to hear it
				c.leave = func() {}
				c.refuse(c.of.Auth.Unauthenticated(tokens.Token{}))
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
// since answers to pings come this way too. Of a client that has sent no token it reads
// one message, and goes on once the client is known. It ends with over.
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
			c.conn.SetReadLimit(agentcall.MaxMessage + 1)
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
	if err := c.of.Auth.CheckUse(c.actor); err != nil {
		c.refuse(err)
		return false
	}
	m := agentcall.Message{
		Agent: c.agent, Text: text, Thread: c.r.Query["thread"], By: c.actor.Name, Feed: c.of.Calls.NewFeed(), Tools: c.tools,
		Withdraw: c.r.Query["withdraw"] == "true",
	}
	l := m.Feed.Listen(0)
	c.mu.Lock()
	c.listener = l
	c.mu.Unlock()
	call, err := c.of.Calls.Start(m)
	if err != nil {
		api.NoteError(c.w, err)
		return c.write(ctx, feed.Frame{Kind: "error", Data: err}) == nil
	}
	c.client.Working(call.Thread)
	return c.listen(ctx, l)
}

// listen writes what a request's feed says and reports whether to go on.
func (c *conversation) listen(ctx context.Context, l *feed.Listener) bool {
	return c.of.Streams.Pump(ctx, l, func(f feed.Frame) error {
		if r, ok := f.Data.(*agentcall.Reply); ok && r != nil {
			c.client.Replied(r.Thread, r.Checkpoint, r.Gate)
		}
		return c.tellFrame(ctx, l.Feed, f)
	}, func() error {
		if !c.of.Auth.Valid(c.actor) {
			return errGone // revoked, or expired
		}
		return c.ping(ctx)
	})
}
