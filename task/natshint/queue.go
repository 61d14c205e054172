package natshint

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/hint"
)

// Options configure a [Queue]. Nil is the zero value.
type Options struct {
	Prefix string // of subjects and streams, 1 to 100 letters, digits, _ and -; default "posthouse"

	// Replicas is on how many servers of a cluster the streams are. Default: 3 where there are
	// so many, else 1.
	Replicas int

	// Files keeps hints in files. Default: in memory, because lost hints are published again.
	// Dead letters are in files anyway, unless the servers have no files.
	Files bool

	Logger *slog.Logger // default: no log
}

// Bounds of the streams.
const (
	maxHints     = 1_000_000
	hintAge      = 24 * time.Hour // what is open still is told again
	doubles      = 2 * time.Minute
	maxLetters   = 10_000
	letterSize   = 16 << 20 // of all
	letterAge    = 30 * 24 * time.Hour
	idle         = time.Hour       // after which an unused consumer goes
	answerTime   = 5 * time.Second // of the servers
	batchSize    = 1000            // hints that are published at once
	maxConsumers = 10_000          // consumers that are known here
)

// A Queue is a [hint.Queue] and a [deadletter.Box] on the servers of a connection.
type Queue struct {
	js     jetstream.JetStream
	opt    Options
	prefix string
	log    *slog.Logger

	mu        sync.Mutex
	consumers map[string]jetstream.Consumer // by their consumers' settings
}

var (
	_ hint.Queue     = (*Queue)(nil)
	_ deadletter.Box = (*Queue)(nil)
)

// New returns the queue of a connection. [posthouse.ErrInvalid] names an option that does
// not fit; whether the servers have JetStream shows at Open.
func New(conn *nats.Conn, o *Options) (*Queue, error) {
	if o == nil {
		o = &Options{}
	}
	q := &Queue{opt: *o, prefix: cmp.Or(o.Prefix, defaultPrefix), log: o.Logger, consumers: map[string]jetstream.Consumer{}}
	if q.log == nil {
		q.log = slog.New(slog.DiscardHandler)
	}
	if err := checkPrefix(q.prefix); err != nil {
		return nil, err
	}
	if o.Replicas < 0 || o.Replicas > 5 {
		return nil, posthouse.Invalid("Replicas", "is %d; it is 1 to 5", o.Replicas)
	}
	var err error
	q.js, err = jetstream.New(conn, jetstream.WithPublishAsyncTimeout(answerTime), jetstream.WithDefaultTimeout(answerTime))
	if err != nil {
		return nil, posthouse.Invalid("conn", "does not do: %v", err)
	}
	return q, nil
}

// Open implements [hint.Queue]. It makes the streams where they are not there.
func (q *Queue) Open(ctx context.Context) error {
	hints := jetstream.StreamConfig{
		Name: q.hints(), Description: "hints for engines of posthouse: may be purged", Subjects: []string{q.prefix + ".hint.*.*.*"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.MemoryStorage,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
		MaxMsgs: maxHints, MaxAge: hintAge, Duplicates: doubles,
	}
	if q.opt.Files {
		hints.Storage = jetstream.FileStorage
	}
	dead := jetstream.StreamConfig{
		Name: q.dead(), Description: "dead letters of posthouse", Subjects: []string{q.prefix + ".dead"},
		Storage: jetstream.FileStorage, MaxMsgs: maxLetters, MaxBytes: letterSize, MaxAge: letterAge,
	}
	if err := q.open(ctx, hints); err != nil {
		return err
	}
	err := q.open(ctx, dead)
	if err != nil && !isAway(err) { // the servers keep no files
		dead.Storage = jetstream.MemoryStorage
		err = q.open(ctx, dead)
	}
	return err
}

func (q *Queue) hints() string { return q.prefix + "-hints" }
func (q *Queue) dead() string  { return q.prefix + "-dead" }

// open makes a stream, or has the one that is there do what it should.
func (q *Queue) open(ctx context.Context, c jetstream.StreamConfig) error {
	s, err := q.js.Stream(ctx, c.Name)
	if err == nil {
		have := s.CachedInfo().Config
		if have.Retention != c.Retention || have.DiscardNewPerSubject != c.DiscardNewPerSubject || have.MaxMsgsPerSubject != c.MaxMsgsPerSubject && c.DiscardNewPerSubject {
			return &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "Prefix", Message: "the stream " + c.Name + " is not one that this package made",
				Hint: "delete the stream, or choose another prefix",
			}
		}
		return nil
	}
	if errors.Is(err, nats.ErrNoResponders) { // to the API itself
		err = jetstream.ErrJetStreamNotEnabled
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return away("look for the stream "+c.Name, err)
	}
	for _, n := range []int{cmp.Or(q.opt.Replicas, 3), 1} {
		c.Replicas = n
		_, err = q.js.CreateOrUpdateStream(ctx, c)
		if err == nil || q.opt.Replicas != 0 {
			break
		}
	}
	return away("make the stream "+c.Name, err)
}

// Publish implements [hint.Queue].
func (q *Queue) Publish(ctx context.Context, again bool, hints ...hint.Hint) error {
	for len(hints) > 0 {
		n := min(len(hints), batchSize)
		if err := q.publish(ctx, again, hints[:n]); err != nil {
			return err
		}
		hints = hints[n:]
	}
	return nil
}

func (q *Queue) publish(ctx context.Context, again bool, hints []hint.Hint) error {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	acks := make([]jetstream.PubAckFuture, 0, len(hints))
	for _, h := range hints {
		m := nats.NewMsg(q.subjectOf(h.Task, h.Group, h.Gate))
		m.Data = h.Encode()
		if !again {
			m.Header.Set(jetstream.MsgIDHeader, string(h.Gate))
		}
		ack, err := q.js.PublishMsgAsync(m, jetstream.WithRetryAttempts(0), jetstream.WithExpectStream(q.hints()))
		if err != nil {
			return away("tell the queue of a task", err)
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			if !isThere(err) {
				return away("tell the queue of a task", err)
			}
		case <-ctx.Done():
			return away("tell the queue of a task", context.Cause(ctx))
		}
	}
	return nil
}

// isThere reports whether a hint was refused because the queue has one of the gate.
func isThere(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && strings.Contains(api.Description, "per subject")
}

// isAway reports whether an error says that servers did not answer, or have no JetStream.
func isAway(err error) bool {
	if errors.Is(err, posthouse.ErrUnsupported) {
		return true
	}
	var api jetstream.JetStreamError
	return !errors.As(err, &api) || api.APIError() == nil
}

// away is the error of a call that did not do.
func away(doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "the NATS servers have no JetStream", Err: err, Hint: "enable it, or go on without"}
	}
	return &posthouse.Error{
		Code: posthouse.CodeUnavailable, Message: "cannot " + doing, Err: err,
		Hint: "look at the connection to NATS, at what the user may do there, and at the limits of the account",
	}
}
