package deadletter

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
)

// A Kind says what a letter was to be.
type Kind string

// The kinds of letters.
const (
	Hint    Kind = "hint"    // of a queue, to an engine
	Request Kind = "request" // of a worker, to an engine
)

// MaxData is how much of a message is kept, in bytes.
const MaxData = 4 << 10

// A Letter is an unusable message.
type Letter struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at" doc:"when it came here"`
	Kind    Kind      `json:"kind" doc:"hint or request"`
	Subject string    `json:"subject" doc:"where it was sent to"`
	Reason  string    `json:"reason" doc:"why it could not be used"`
	Size    int       `json:"size" doc:"bytes of the message"`
	Data    []byte    `json:"data,omitempty" doc:"the message, up to its first 4 KiB"`
}

// A Box has letters. It is bounded, and the oldest go first.
type Box interface {
	// Put adds a letter, and gives it its ID and At. The message is not acknowledged until
	// the letter is there.
	Put(ctx context.Context, l Letter) error

	// Letters returns the newest letters, at most n.
	Letters(ctx context.Context, n int) ([]Letter, error)

	// Replay sends a hint to its queue again, and takes it out. It fails with
	// [posthouse.ErrNotFound] without the letter, with [posthouse.ErrUnsupported] for a
	// request, since its sender was answered, and with [posthouse.ErrTooLarge] for a
	// message that was not kept whole.
	Replay(ctx context.Context, id string) error

	// Remove takes a letter out. [posthouse.ErrNotFound] without it.
	Remove(ctx context.Context, id string) error

	// Purge takes all letters out, and returns how many there were.
	Purge(ctx context.Context) (int, error)
}

// Cut makes what is kept of a message: its size, and its beginning.
func (l *Letter) Cut() {
	if l.Size == 0 {
		l.Size = len(l.Data)
	}
	l.Data = append([]byte(nil), l.Data[:min(len(l.Data), MaxData)]...)
}

// MayReplay returns the error of Replay for a letter that cannot be sent again.
func (l *Letter) MayReplay() error {
	switch {
	case l.Kind != Hint:
		return &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "letter " + l.ID + " is a request: its sender was answered, or has gone", Hint: "remove it"}
	case l.Size != len(l.Data):
		return posthouse.TooLarge("letter", l.Size, MaxData)
	}
	return nil
}
