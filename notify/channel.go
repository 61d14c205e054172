package notify

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
)

// A Channel carries messages to one receiver. It must be safe for concurrent use.
type Channel interface {
	// Deliver sends a message and returns once the receiver has it, or not. It keeps to the time
	// of ctx. Any error but [ErrPassed] is a failure, and the message is tried again; a [Failure] may
	// say more. Nil says that the receiver acknowledged it: the gate's page shows that it was told.
	Deliver(ctx context.Context, m *Message) error

	// Kind names the channel, as in "webhook".
	Kind() string

	// Address says where the receiver is, for people: without secrets. An endpoint that was
	// gone goes on when its address changes.
	Address() string
}

// A Keyed channel has secrets, the newest first. An endpoint that carries the right to decide needs one: approval
// tokens follow from the newest, and end once the channel does not have their secret any more.
type Keyed interface {
	ApprovalKeys() ([][]byte, error)
}

// KeyHash names a secret of a [Keyed] channel.
func KeyHash(key []byte) posthouse.Hash {
	return sha256.Sum256(append([]byte("posthouse approval key 1\x00"), key...))
}

// A Message is an event on its way to an endpoint.
type Message struct {
	ID      string // the same for each attempt, each endpoint and each replay
	Event   *Event
	Attempt int // from 1

	// Decided says that the gate of the event has its decision by now. A channel that only asks people
	// need not ask any more.
	Decided bool

	// Followed says that the rule or the types of the endpoint leave the event out: only a [Following]
	// channel is told.
	Followed bool

	// Memo is what the endpoint's channel keeps about the event's gate. Nil in a test.
	Memo *Memo

	// Reached is for a channel to set: names of the people who have the message, as far as it knows
	// them, also where it fails for others. The gate's page shows them.
	Reached []string
}

// ErrPassed is what [Channel.Deliver] returns where there was nothing to send: the question has its decision
// by now, or it is for people whom the channel does not know. It is no failure, and no delivery either.
var ErrPassed = errors.New("there was nothing to send")

// A Following channel keeps what it has said about a gate up to date: it is told of the assignments and
// the decision of every gate, whatever the rule and the types of its endpoint say. It passes over
// those of gates that it was not told of before, which its [Memo] knows, with [ErrPassed].
type Following interface {
	Channel
	Follows()
}

// A Failure is how a delivery failed. Its text goes on record, so it has no secrets.
type Failure struct {
	Message string
	Status  int           // of an HTTP answer; 0: there was no answer
	Gone    bool          // the receiver wants no more messages: the endpoint stops
	Refused bool          // the receiver will never take this message: it is given up at once
	Busy    bool          // the receiver takes no message of any kind until After has passed
	After   time.Duration // the receiver asks to wait so long
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// failureOf returns an error as a failure.
func failureOf(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	return &Failure{Message: err.Error()}
}
