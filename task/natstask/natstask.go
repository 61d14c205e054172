package natstask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/wire"
)

// Options say which subjects are used, and who is told what went wrong. Nil is the zero value.
type Options struct {
	Prefix string       // of subjects, 1 to 100 letters, digits, _ and -; default "posthouse"
	Logger *slog.Logger // default: none

	// Letters keeps requests that are none: they do not parse, or are too large. Whoever asked
	// is answered anyway, where it says how. Default: they are logged only.
	Letters deadletter.Box
}

const (
	defaultPrefix = "posthouse"
	maxPrefix     = 100
	anyEngine     = "any"
	queueGroup    = "engines"
)

// letterTime is how long keeping a dead letter may take.
const letterTime = 5 * time.Second

// An engine answers so many claims at once, which wait for tasks, and so many other requests
// beside them. It refuses what is more: a request that waited would be late.
const (
	maxClaims = 10_000
	maxOthers = 10_000
)

func (o *Options) prefix() (string, error) {
	if o == nil {
		return defaultPrefix, nil
	}
	p := cmp.Or(o.Prefix, defaultPrefix)
	if len(p) > maxPrefix || strings.Trim(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return "", posthouse.Invalid("Prefix", "%.40q must be 1 to %d letters, digits, _ and -", p, maxPrefix)
	}
	return p, nil
}

func (o *Options) logger() *slog.Logger {
	if o == nil || o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// Serve answers workers' requests with an engine, until stop is called. Stop waits for
// the answers of requests that have come.
func Serve(conn *nats.Conn, e task.Engine, o *Options) (stop func(), err error) {
	prefix, err := o.prefix()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	name := nats.NewInbox()[len(nats.InboxPrefix):]
	s := &server{
		ctx: ctx, conn: conn, engine: e, log: o.logger(), name: name,
		claims: make(chan struct{}, maxClaims), others: make(chan struct{}, maxOthers),
	}
	if o != nil {
		s.letters = o.Letters
	}
	var subs []*nats.Subscription
	stop = func() {
		for _, sub := range subs {
			_ = sub.Unsubscribe() // the connection may be closed
		}
		s.shift.end(cancel)
	}
	shared, err := conn.QueueSubscribe(subject(prefix, anyEngine, "*"), queueGroup, s.receive)
	if err == nil {
		subs = append(subs, shared)
		var own *nats.Subscription
		if own, err = conn.Subscribe(subject(prefix, name, "*"), s.receive); err == nil {
			subs = append(subs, own)
			err = conn.Flush()
		}
	}
	if err != nil {
		stop()
		return nil, unavailable("subscribe to tasks", err)
	}
	return stop, nil
}

func subject(prefix, engine, method string) string { return prefix + ".task." + engine + "." + method }

type server struct {
	ctx    context.Context // until stop
	conn   *nats.Conn
	engine task.Engine
	log    *slog.Logger
	name   string
	claims chan struct{} // has an element for each claim that is answered
	others chan struct{} // likewise
	shift  shift

	letters deadletter.Box // nil: there is none
}

// receive has a request answered. It never waits, because nothing else is received meanwhile.
func (s *server) receive(m *nats.Msg) {
	method := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	places := s.others
	if method == wire.Claim {
		places = s.claims
	}
	select {
	case places <- struct{}{}:
	default:
		s.reply(m, method, &wire.Reply{Error: &posthouse.Error{
			Code: posthouse.CodeUnavailable, Message: fmt.Sprintf("the engine answers %d requests of this kind at once, and no more", cap(places)), Hint: "try again",
		}})
		return
	}
	if !s.shift.do(func() {
		defer func() { <-places }()
		out := wire.Serve(s.ctx, s.engine, method, m.Data)
		s.reply(m, method, out)
		if out.Malformed {
			s.bury(m, out.Error)
		}
	}) {
		<-places // another engine answers
	}
}

// Headers of replies: the engine that answered, and the cluster that it is connected to.
const (
	engineHeader  = "Posthouse-Engine"
	clusterHeader = "Posthouse-Cluster"
)

// reply sends the answer to a request. A worker that does not get it asks again.
func (s *server) reply(m *nats.Msg, method string, out *wire.Reply) {
	if m.Reply == "" {
		return
	}
	r := nats.NewMsg(m.Reply)
	r.Header.Set(engineHeader, s.name)
	if cluster := s.conn.ConnectedClusterName(); cluster != "" {
		r.Header.Set(clusterHeader, cluster)
	}
	r.Data = out.Encode()
	if have, most := len(r.Data)+headerSize(r.Header), s.conn.MaxPayload(); int64(have) > most && most > 0 {
		r.Data = s.refuse(method, out, have, most).Encode()
	}
	if err := s.conn.PublishMsg(r); err != nil {
		s.log.Warn("a worker gets no answer", "method", method, "error", err)
	}
}

// bury keeps a request that is none among the dead letters.
func (s *server) bury(m *nats.Msg, why error) {
	s.log.Warn("a request cannot be used: it goes to the dead letters", "subject", m.Subject, "bytes", len(m.Data), "reason", why)
	if s.letters == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), letterTime)
	defer cancel()
	err := s.letters.Put(ctx, deadletter.Letter{Kind: deadletter.Request, Subject: m.Subject, Reason: why.Error(), Data: m.Data})
	if err != nil {
		s.log.Warn("a dead letter is lost", "subject", m.Subject, "error", err)
	}
}

// refuse returns the reply in place of one that no message carries. Each attempt of a task
// that is not given for that reason fails, so that it does not come back for ever.
func (s *server) refuse(method string, out *wire.Reply, have int, most int64) *wire.Reply {
	e := tooLarge("reply", have, most)
	if c := out.Claim; c != nil {
		s.log.Warn("a task cannot be given to a worker: the attempt failed", "gate", c.ID.Gate, "thread", c.Thread, "task", c.Task, "error", e)
		if err := s.engine.Resolve(s.ctx, c.ID, task.Verdict{Action: task.Fail, Reason: e.Error()}); err != nil {
			s.log.Warn("the attempt cannot be ended: the task comes back when the lease is over", "gate", c.ID.Gate, "error", err)
		}
	} else {
		s.log.Warn("an answer cannot be given to a worker", "method", method, "error", e)
	}
	return &wire.Reply{Error: e}
}

// headerSize is how many bytes of a message its header takes.
func headerSize(h nats.Header) int {
	n := len("NATS/1.0\r\n\r\n")
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(": \r\n") + len(v)
		}
	}
	return n
}

func tooLarge(what string, have int, most int64) *posthouse.Error {
	return &posthouse.Error{
		Code: posthouse.CodeTooLarge, Field: what, Message: fmt.Sprintf("has %d bytes; the NATS servers' max_payload is %d", have, most),
		Hint: "raise max_payload, or keep large values elsewhere and hand out a reference",
	}
}

// NewEngine returns the engine that a connection leads to. It fails with
// [posthouse.ErrInvalid] for a bad prefix; whether an engine is there shows at the first call.
func NewEngine(conn *nats.Conn, o *Options) (task.Engine, error) {
	prefix, err := o.prefix()
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, prefix: prefix}
	c.engine.Store(new(string))
	return wire.NewClient(c.call), nil
}

type client struct {
	conn   *nats.Conn
	prefix string
	engine atomic.Pointer[string] // that answered last; "" is any
}

// inReplies is what a reply may have beside what a request brought, in bytes. A request leaves
// room for it: what is saved or recorded shall be readable.
const inReplies = 4 << 10

// call sends a request to the engine that answered last, or to any.
func (c *client) call(ctx context.Context, method string, body []byte) ([]byte, error) {
	if most := c.conn.MaxPayload(); int64(len(body)+inReplies) > most && most > 0 {
		return nil, tooLarge("request", len(body)+inReplies, most)
	}
	engine := c.engine.Load()
	r, err := c.conn.RequestWithContext(ctx, subject(c.prefix, cmp.Or(*engine, anyEngine), method), body)
	if errors.Is(err, nats.ErrNoResponders) && *engine != "" {
		c.engine.CompareAndSwap(engine, new(string))
		r, err = c.conn.RequestWithContext(ctx, subject(c.prefix, anyEngine, method), body)
	}
	if err != nil {
		c.engine.CompareAndSwap(engine, new(string)) // another may answer
		return nil, err
	}
	if err := c.sameCluster(r.Header.Get(clusterHeader)); err != nil {
		return nil, err
	}
	if name := r.Header.Get(engineHeader); name != "" && name != *engine {
		c.engine.CompareAndSwap(engine, &name)
	}
	return r.Data, nil
}

// sameCluster refuses an engine in another cluster: the call has crossed a gateway, or a
// leaf node between clusters.
func (c *client) sameCluster(theirs string) error {
	ours := c.conn.ConnectedClusterName()
	if ours == "" || theirs == "" || ours == theirs {
		return nil
	}
	return &posthouse.Error{
		Code:    posthouse.CodeUnsupported,
		Message: fmt.Sprintf("the engine is in the NATS cluster %.100q and this worker in %.100q: superclusters are not supported", theirs, ours),
		Hint:    "connect both to one cluster: leases of seconds need its short ways, and over gateways they are not proved",
	}
}

func unavailable(doing string, err error) error {
	return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "cannot " + doing, Err: err, Hint: "check the connection to NATS"}
}
