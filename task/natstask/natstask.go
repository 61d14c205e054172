package natstask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
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
	Logger *slog.Logger // default: no log

	// Letters keeps malformed requests: they do not parse, or are too large. The sender is
	// answered anyway, if the request says how. Default: they are logged only.
	Letters deadletter.Box // of each worker, 1,000 in an hour, and 10,000 of all

	// Worker is the name in the subjects of [NewEngine]'s calls, 1 to 200 bytes. Default: what
	// the worker calls itself. The permissions of its user have it as [Token] writes it.
	Worker string

	// Pass says what a worker may take that calls under a name; [Serve] asks for each call. An
	// error is the call's answer. Default: any task, under that name: then the servers'
	// permissions have to say who may use which name.
	Pass func(worker string) (*task.Pass, error)
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
// beside them. It refuses what is more: a request that waited would be late. A request of more
// than placeSize bytes counts as several, so that bodies in work take 160 MB at most, and 32 MB of
// one worker.
const (
	maxClaims = 10_000
	maxOthers = 10_000
	maxShare  = 2_000 // of each, of one worker's name
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
		ctx: ctx, conn: conn, engine: e, log: o.logger(), name: name, prefix: prefix, pass: anyTask,
		claims: newPlaces(maxClaims, maxShare), others: newPlaces(maxOthers, maxShare), kept: newQuota(time.Now),
	}
	if o != nil {
		s.letters, s.pass = o.Letters, o.Pass
	}
	if s.pass == nil {
		s.pass = anyTask
	}
	var subs []*nats.Subscription
	stop = func() {
		for _, sub := range subs {
			_ = sub.Unsubscribe() // the connection may be closed
		}
		s.shift.end(cancel)
	}
	shared, err := conn.QueueSubscribe(taskSubject(prefix, "*", anyEngine, "*"), queueGroup, s.receive)
	if err == nil {
		subs = append(subs, shared)
		var own *nats.Subscription
		own, err = conn.Subscribe(taskSubject(prefix, "*", name, "*"), s.receive)
		if err == nil {
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

// anyTask lets a worker take any task, under the name in its subject.
func anyTask(worker string) (*task.Pass, error) {
	return &task.Pass{Name: worker, Groups: []string{task.Any}, Tasks: []string{task.Any}}, nil
}

type server struct {
	ctx    context.Context // until stop
	conn   *nats.Conn
	engine task.Engine
	log    *slog.Logger
	name   string
	prefix string
	pass   func(worker string) (*task.Pass, error)
	claims *places // of claims that are answered
	others *places // the same for other requests
	shift  shift

	letters deadletter.Box // may be nil
	kept    *quota         // of letters
}

// receive has a request answered. It never waits, because it would hold up all other messages.
// It drops a request if the answer would not go to the worker that the subject names: a server
// lets an engine publish where a worker may not.
func (s *server) receive(m *nats.Msg) {
	c, ok := parseSubject(s.prefix, m.Subject)
	if !ok || m.Reply != "" && !mayAnswer(s.prefix, c.worker, m.Reply) {
		s.log.Debug("a request is passed over: its answer would go to another than who asks", "subject", m.Subject, "reply", m.Reply)
		return
	}
	at := s.others
	if c.method == wire.Claim {
		at = s.claims
	}
	n := placesOf(len(m.Data))
	if !at.take(c.worker, n) {
		s.reply(s.ctx, m, c.method, &wire.Reply{Error: &posthouse.Error{
			Code: posthouse.CodeUnavailable, Hint: "try again",
			Message: fmt.Sprintf("the engine answers %d requests of this kind at once, %d of one worker, and fewer large ones", at.most, at.share),
		}})
		return
	}
	if !s.shift.do(func() {
		defer at.leave(c.worker, n)
		s.answer(m, c)
	}) {
		at.leave(c.worker, n) // another engine answers
	}
}

// answer makes the call that a request asks for, as the worker of its subject.
func (s *server) answer(m *nats.Msg, c caller) {
	p, err := s.passOf(c.worker)
	if err != nil {
		e, ok := errors.AsType[*posthouse.Error](err)
		if !ok {
			e = &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the worker cannot be looked up", Err: err, Hint: "try again"}
		}
		s.reply(s.ctx, m, c.method, &wire.Reply{Error: e})
		return
	}
	ctx := task.WithPass(s.ctx, p)
	out := wire.Serve(ctx, s.engine, c.method, m.Data)
	s.reply(ctx, m, c.method, out)
	if out.Malformed && s.kept.take(c.worker) {
		s.bury(m, out.Error)
	}
}

func (s *server) passOf(token string) (*task.Pass, error) {
	name, err := nameOf(token)
	if err != nil {
		return nil, err
	}
	return s.pass(name)
}

// Headers of replies: the engine that answered, and the cluster that it is connected to.
const (
	engineHeader  = "Posthouse-Engine"
	clusterHeader = "Posthouse-Cluster"
)

// reply sends the answer to a request. A worker that does not get it asks again.
func (s *server) reply(ctx context.Context, m *nats.Msg, method string, out *wire.Reply) {
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
		r.Data = s.refuse(ctx, method, out, have, most).Encode()
	}
	if err := s.conn.PublishMsg(r); err != nil {
		s.log.Warn("a worker gets no answer", "method", method, "error", err)
	}
}

// bury puts a malformed request among the dead letters.
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
func (s *server) refuse(ctx context.Context, method string, out *wire.Reply, have int, most int64) *wire.Reply {
	e := tooLarge("reply", have, most)
	if c := out.Claim; c != nil {
		s.log.Warn("a task cannot be given to a worker: the attempt failed", "gate", c.ID.Gate, "thread", c.Thread, "task", c.Task, "error", e)
		if err := s.engine.Resolve(ctx, c.ID, task.Verdict{Action: task.Fail, Reason: e.Error(), NotDone: true}); err != nil {
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

func unavailable(doing string, err error) error {
	return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "cannot " + doing, Err: err, Hint: "check the connection to NATS"}
}
