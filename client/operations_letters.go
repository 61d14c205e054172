package client

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// A DeadLetter is a message about tasks, over NATS, that the server could not use. No task is lost with it.
type DeadLetter struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`             // when it came here
	Kind    string    `json:"kind"`           // hint or request
	Subject string    `json:"subject"`        // where it was sent to
	Reason  string    `json:"reason"`         // why it could not be used
	Size    int       `json:"size"`           // bytes of the message
	Data    []byte    `json:"data,omitempty"` // the message, up to its first 4 KiB
}

// DeadLetters returns the newest dead letters, at most limit, which is 1 to 1,000.
func (o Operations) DeadLetters(ctx context.Context, limit int) (all []*DeadLetter, err error) {
	err = o.client.ask(ctx, http.MethodGet, letterPath(), given("limit", strconv.Itoa(limit)), nil, &all)
	return all, err
}

// ReplayDeadLetter sends a hint to its queue again, and takes the letter out. [posthouse.ErrNotFound].
func (o Operations) ReplayDeadLetter(ctx context.Context, id string) error {
	return o.client.ask(ctx, http.MethodPost, letterPath(id, "replay"), nil, nil, nil)
}

// RemoveDeadLetter takes a dead letter out. [posthouse.ErrNotFound].
func (o Operations) RemoveDeadLetter(ctx context.Context, id string) error {
	return o.client.ask(ctx, http.MethodDelete, letterPath(id), nil, nil, nil)
}

// PurgeDeadLetters takes all dead letters out, and returns how many there were.
func (o Operations) PurgeDeadLetters(ctx context.Context) (int, error) {
	var done struct {
		Purged int `json:"purged"`
	}
	err := o.client.ask(ctx, http.MethodDelete, letterPath(), nil, nil, &done)
	return done.Purged, err
}

func letterPath(below ...string) string {
	return Path(append([]string{"api", "dead-letters"}, below...)...)
}
