package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/problem"
)

// A message is a request for an agent.
type message struct {
	agent  string
	text   string
	thread string // "": a new one
	by     string
	feed   *feed.Feed // what the agent says; nil: a new one

	withdraw bool // it may withdraw what people are asked on the thread

	approvals *gate.Session // asks for approvals of tools; nil: those tools do not run
}

// A call is a message that an agent works on.
type call struct {
	thread string
	by     string
	feed   *feed.Feed
	number uint64        // counts calls
	done   chan struct{} // closed when reply and err are set
	reply  *Reply
	err    error

	endedAt time.Time // set by runs
}

const maxMessage = 256 << 10 // bytes

// unknownAgent is the error for a name that no agent has. It lists those there are.
func (s *Server) unknownAgent(name string) error {
	e := problem.NotFound("agent", name)
	e.Hint = "no agent is served here"
	if len(s.agents) > 0 {
		e.Hint = "there is " + strings.Join(slices.Sorted(maps.Keys(s.agents)), ", ")
	}
	return e
}

func (s *Server) validateMessage(m *message) error {
	switch {
	case s.agents[m.agent] == nil:
		return s.unknownAgent(m.agent)
	case m.text == "":
		return posthouse.Invalid("message", "is empty")
	case len(m.text) > maxMessage:
		return &posthouse.Error{Code: posthouse.CodeTooLarge, Field: "message", Message: fmt.Sprintf("is %d bytes long; the limit is %d", len(m.text), maxMessage)}
	case m.thread != "":
		return posthouse.CheckThread("thread", m.thread)
	}
	return nil
}

// start has an agent work on a message. The work does not end when the client
// leaves. The feed's last frame is the outcome.
func (s *Server) start(m message) (*call, error) {
	if err := s.validateMessage(&m); err != nil {
		return nil, err
	}
	agent := s.agents[m.agent]
	if m.thread == "" {
		m.thread = string(s.ledger.Core().NewID())
	}
	done, err := s.beginCall(m.by)
	if err != nil {
		return nil, err
	}
	if m.feed == nil {
		m.feed = s.newFeed()
	}
	c := &call{thread: m.thread, by: m.by, feed: m.feed, done: make(chan struct{})}
	s.runs.add(c)
	go func() {
		defer done()
		defer close(c.done)
		defer s.runs.remove(c) // before done says so: its time counts from here
		if c.reply, c.err = s.run(agent, m); c.err != nil {
			m.feed.Send("error", c.err, 0)
		} else {
			size := 0
			if c.reply != nil {
				size = len(c.reply.Text)
			}
			m.feed.Send("reply", c.reply, size)
		}
	}()
	return c, nil
}

// newFeed makes the feed of a new call.
func (s *Server) newFeed() *feed.Feed { return feed.New(string(s.ledger.Core().NewID())) }

func (s *Server) run(a Agent, m message) (reply *Reply, err error) {
	ctx, cancel := context.WithTimeout(s.work, s.limits.Call)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("an agent panicked", "agent", m.agent, "thread", m.thread, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("agent %s panicked", m.agent)
		} else if err != nil {
			attrs := []any{"agent", m.agent, "thread", m.thread, "code", string(problem.Client(err).Code)}
			if problem.Status(problem.Client(err).Code) >= http.StatusInternalServerError { // other errors may quote the client's input
				attrs = append(attrs, "error", err)
			}
			s.log.Warn("an agent did not take a request", attrs...)
		}
	}()
	if m.approvals != nil {
		ctx = m.approvals.With(ctx)
	}
	o := &HandleOptions{
		Thread: m.thread, By: m.by, Withdraw: m.withdraw,
		Text: m.feed.Text,
		Event: func(e AgentEvent) {
			if err := m.feed.Event(e); err != nil {
				_ = m.feed.Event(AgentEvent{Kind: e.Kind, Data: map[string]string{"error": "cannot be encoded: " + err.Error()}}) // strings can be
			}
		},
	}
	return a.Handle(ctx, m.text, o)
}

// pump writes a call's frames to a client until the last one, with heartbeats in
// between. It returns whether the client is still there.
func (s *Server) pump(ctx context.Context, l *feed.Listener, write func(feed.Frame) error, heartbeat func() error) bool {
	tick, stop := s.tick(api.HeartbeatInterval)
	defer stop()
	return l.Pump(ctx, tick, write, heartbeat)
}

// waitForCall waits for a call, at most as long as an answer may take.
func (s *Server) waitForCall(ctx context.Context, c *call) (finished bool) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Wait)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
		return false
	}
}
