package notify

import (
	"context"
	"errors"
	"time"
)

// A Channel carries messages to one receiver. It must be safe for concurrent use.
type Channel interface {
	// Deliver sends a message and returns once the receiver has it, or not. It keeps to the time
	// of ctx. Any error is a failure, and the message is tried again; a [Failure] may say more.
	Deliver(ctx context.Context, m *Message) error

	// Kind names the channel, as in "webhook".
	Kind() string

	// Address says where the receiver is, for people: without secrets. An endpoint that was
	// gone goes on when its address changes.
	Address() string
}

// A Keyed channel has a secret that its receiver knows, too. An endpoint that carries the right to decide
// needs one.
type Keyed interface {
	ApprovalKey() ([]byte, error)
}

// A Message is an event on its way to an endpoint.
type Message struct {
	ID      string // the same for each attempt, each endpoint and each replay
	Event   *Event
	Attempt int // from 1
}

// A Failure is how a delivery failed. Its text goes on record, so it has no secrets.
type Failure struct {
	Message string
	Status  int           // of an HTTP answer; 0: there was no answer
	Gone    bool          // the receiver wants no more messages: the endpoint stops
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
