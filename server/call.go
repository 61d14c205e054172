package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
)

// A frame is one item of what a running call tells its client: an event of a
// stream, or a message of a WebSocket.
type frame struct {
	kind string // "text", "event", "reply" or "error"
	data any
}

// last reports whether nothing follows the frame.
func (f frame) last() bool { return f.kind == "reply" || f.kind == "error" }

// A feed carries frames from a running call to one client. A client that
// cannot keep up, or went away, loses the feed and never holds up the work.
type feed struct {
	frames chan frame
	gone   chan struct{} // closed when nobody listens any more
	once   sync.Once
}

const feedLength = 256

func newFeed() *feed { return &feed{frames: make(chan frame, feedLength), gone: make(chan struct{})} }

// send hands a frame on without waiting.
func (f *feed) send(x frame) {
	select {
	case <-f.gone:
	case f.frames <- x:
	default:
		f.drop()
	}
}

// drop ends the feed.
func (f *feed) drop() { f.once.Do(func() { close(f.gone) }) }

// A message is a request for an agent.
type message struct {
	agent  string
	text   string
	thread string // "": a new one
	by     string
	feed   *feed // nil: the outcome is all that is wanted

	approvals *gate.Session // who approves tools; nil: nobody, so they do not run
}

// A call is a message that an agent works on.
type call struct {
	thread string
	done   chan struct{} // closed when reply and err are set
	reply  *Reply
	err    error
}

const maxMessage = 256 << 10 // bytes

// noAgent says which agents there are.
func (s *Server) noAgent(name string) error {
	e := notFound("agent", cut(name, 80))
	e.Hint = "no agent is served here"
	if len(s.agents) > 0 {
		e.Hint = "there is " + strings.Join(slices.Sorted(maps.Keys(s.agents)), ", ")
	}
	return e
}

// start sets an agent to work on a message. The work outlives the client: what
// was begun ends as it would have, since whether the client is still there is
// none of its business. The feed's last frame is the outcome.
func (s *Server) start(m message) (*call, error) {
	agent, ok := s.agents[m.agent]
	switch {
	case !ok:
		return nil, s.noAgent(m.agent)
	case m.text == "":
		return nil, invalid("message", "is empty")
	case len(m.text) > maxMessage:
		return nil, &posthouse.Error{Code: posthouse.CodeTooLarge, Field: "message", Message: fmt.Sprintf("is %d bytes long; the limit is %d", len(m.text), maxMessage)}
	}
	if m.thread == "" {
		m.thread = string(s.ledger.NewID())
	} else if posthouse.ID(m.thread).Validate() != nil {
		return nil, invalid("thread", "%.80q is no id", m.thread)
	}
	done, err := s.begin(s.calls, "requests")
	if err != nil {
		return nil, err
	}
	c := &call{thread: m.thread, done: make(chan struct{})}
	go func() {
		defer done()
		defer close(c.done)
		c.reply, c.err = s.run(agent, m)
		switch {
		case m.feed == nil:
		case c.err != nil:
			m.feed.send(frame{"error", c.err})
		default:
			m.feed.send(frame{"reply", c.reply})
		}
	}()
	return c, nil
}

func (s *Server) run(a Agent, m message) (reply *Reply, err error) {
	ctx, cancel := context.WithTimeout(s.work, s.limits.Call)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("an agent panicked", "agent", m.agent, "thread", m.thread, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("agent %s panicked", m.agent)
		} else if err != nil {
			attrs := []any{"agent", m.agent, "thread", m.thread, "code", string(clientError(err).Code)}
			if status(clientError(err).Code) >= http.StatusInternalServerError { // what is about the client's input may quote it
				attrs = append(attrs, "error", err)
			}
			s.log.Warn("an agent did not take a request", attrs...)
		}
	}()
	if m.approvals != nil {
		ctx = m.approvals.With(ctx)
	}
	o := &HandleOptions{Thread: m.thread, By: m.by, Text: func(string) {}, Event: func(AgentEvent) {}}
	if m.feed != nil {
		o.Text = func(t string) { m.feed.send(frame{"text", textFrame{t}}) }
		o.Event = func(e AgentEvent) { m.feed.send(frame{"event", e}) }
	}
	return a.Handle(ctx, m.text, o)
}

type textFrame struct {
	Text string `json:"text"`
}

// pump hands a call's frames to a client until the last one, writing beats in
// between. It returns whether the client is still there.
func (s *Server) pump(ctx context.Context, f *feed, write func(frame) error, beat func() error) bool {
	defer f.drop()
	tick, stop := s.tick(heartbeat)
	defer stop()
	for {
		select {
		case x := <-f.frames:
			if write(x) != nil {
				return false
			}
			if x.last() {
				return true
			}
		case <-tick:
			if beat() != nil {
				return false
			}
		case <-f.gone:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// within waits for a call, at most as long as an answer may take.
func (s *Server) within(ctx context.Context, c *call) (finished bool) {
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
