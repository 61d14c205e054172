package agentcall

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/problem"
)

// MaxMessage is how long a message may be, in bytes.
const MaxMessage = 256 << 10

// An Agent works on messages.
type Agent interface {
	// Handle works on a message until its thread waits or ends. An error means that the
	// message was not taken.
	Handle(ctx context.Context, message string, o *Options) (*Reply, error)
}

// Options say what an agent is to work on, and how it sends what happens.
type Options struct {
	Thread   string
	By       string // the authenticated sender
	Withdraw bool   // the message may withdraw what people are asked on the thread

	Text  func(text string)
	Event func(event any) error // fails if the event cannot be encoded
}

// A Reply is where an agent left a thread, as clients get it.
type Reply struct {
	Thread     string       `json:"thread"`
	Checkpoint posthouse.ID `json:"checkpoint,omitempty"`
	Gate       posthouse.ID `json:"gate,omitempty"`
	Text       string       `json:"text"`

	Status posthouse.Status `json:"status,omitempty"`
}

// A Message is a request for an agent.
type Message struct {
	Agent  string
	Text   string
	Thread string // "": a new one
	By     string
	Feed   *feed.Feed // what the agent says; nil: a new one

	Withdraw bool // it may withdraw what people are asked on the thread

	Tools *gate.Session // asks for approvals of tools; nil: those tools do not run
}

// A Call is a message that an agent works on.
type Call struct {
	Thread string
	Feed   *feed.Feed

	by     string
	number uint64        // counts calls
	done   chan struct{} // closed when reply and err are set
	reply  *Reply
	err    error

	endedAt time.Time // set by the registry
}

// Calls have agents work on messages.
type Calls struct {
	Agents  map[string]Agent // by name
	Known   *Registry
	Quota   *limit.Quota
	Timeout time.Duration // of one call
	Ledger  *ledger.Ledger
	Life    *limit.Lifetime
	Log     *slog.Logger
}

// Unknown is the error for a name that no agent has. It lists those there are.
func (cl *Calls) Unknown(name string) error {
	e := problem.NotFound("agent", name)
	e.Hint = "no agent is served here"
	if len(cl.Agents) > 0 {
		e.Hint = "there is " + strings.Join(slices.Sorted(maps.Keys(cl.Agents)), ", ")
	}
	return e
}

// Validate returns why no agent takes a message, or nil.
func (cl *Calls) Validate(m *Message) error {
	switch {
	case cl.Agents[m.Agent] == nil:
		return cl.Unknown(m.Agent)
	case m.Text == "":
		return posthouse.Invalid("message", "is empty")
	case len(m.Text) > MaxMessage:
		return &posthouse.Error{Code: posthouse.CodeTooLarge, Field: "message", Message: fmt.Sprintf("is %d bytes long; the limit is %d", len(m.Text), MaxMessage)}
	case m.Thread != "":
		return posthouse.CheckThread("thread", m.Thread)
	}
	return nil
}

// Start has an agent work on a message. The work does not end when the client
// leaves. The feed's last frame is the outcome.
func (cl *Calls) Start(m Message) (*Call, error) {
	if err := cl.Validate(&m); err != nil {
		return nil, err
	}
	agent := cl.Agents[m.Agent]
	if m.Thread == "" {
		m.Thread = string(cl.Ledger.Core().NewID())
	}
	done, err := cl.Quota.Take(m.By)
	if err != nil {
		return nil, err
	}
	if m.Feed == nil {
		m.Feed = cl.NewFeed()
	}
	c := &Call{Thread: m.Thread, by: m.By, Feed: m.Feed, done: make(chan struct{})}
	cl.Known.add(c)
	go func() {
		defer done()
		defer close(c.done)
		defer cl.Known.end(c) // before done says so: its time counts from here
		c.reply, c.err = cl.run(agent, m)
		if c.err != nil {
			m.Feed.Send("error", c.err, 0)
		} else {
			size := 0
			if c.reply != nil {
				size = len(c.reply.Text)
			}
			m.Feed.Send("reply", c.reply, size)
		}
	}()
	return c, nil
}

// NewFeed makes the feed of a new call.
func (cl *Calls) NewFeed() *feed.Feed { return feed.New(string(cl.Ledger.Core().NewID())) }

func (cl *Calls) run(a Agent, m Message) (reply *Reply, err error) {
	ctx, cancel := context.WithTimeout(cl.Life.Work(), cl.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			cl.Log.Error("an agent panicked", "agent", m.Agent, "thread", m.Thread, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("agent %s panicked", m.Agent)
		} else if err != nil {
			attrs := []any{"agent", m.Agent, "thread", m.Thread, "code", string(problem.Client(err).Code)}
			if problem.Status(problem.Client(err).Code) >= http.StatusInternalServerError { // other errors may quote the client's input
				attrs = append(attrs, "error", err)
			}
			cl.Log.Warn("an agent did not take a request", attrs...)
		}
	}()
	if m.Tools != nil {
		ctx = m.Tools.With(ctx)
	}
	o := &Options{Thread: m.Thread, By: m.By, Withdraw: m.Withdraw, Text: m.Feed.Text, Event: m.Feed.Event}
	return a.Handle(ctx, m.Text, o)
}

// Wait waits for a call until ctx ends.
func (c *Call) Wait(ctx context.Context) (finished bool) {
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// Outcome returns what the agent answered, once Wait has said that the call is finished.
func (c *Call) Outcome() (*Reply, error) { return c.reply, c.err }

// refused reports whether the call has ended because its agent did not take the
// message.
func (c *Call) refused() bool {
	select {
	case <-c.done:
		return c.err != nil
	default:
		return false
	}
}
