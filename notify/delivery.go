package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// MaxDeliveries is how many attempts of an endpoint are kept: the newest.
const MaxDeliveries = 50

// maxReason bounds the error of a kept attempt, in bytes.
const maxReason = 200

// A Delivery is one attempt to deliver a message.
type Delivery struct {
	ID        string    `json:"id" doc:"of the message, as the header webhook-id has it: the same for each attempt and each replay"`
	Type      Type      `json:"type" doc:"of its event"`
	Thread    string    `json:"thread,omitempty" doc:"that the event is of"`
	Seq       uint64    `json:"seq,omitempty" doc:"the entry in that thread's log"`
	At        time.Time `json:"at" doc:"when the attempt began"`
	Millis    int64     `json:"millis" doc:"how long it took"`
	Attempt   int       `json:"attempt" doc:"from 1; a replay counts its own"`
	Replay    bool      `json:"replay,omitempty" doc:"it was made by a replay"`
	Delivered bool      `json:"delivered" doc:"the receiver took it"`
	Status    int       `json:"status,omitempty" doc:"of an HTTP answer that is no success; absent: there was no answer, or it was taken"`
	Error     string    `json:"error,omitempty" doc:"why it was not delivered, at most 200 bytes"`
}

func deliveryOf(m *Message, begun time.Time, took time.Duration, f *Failure) *Delivery {
	d := &Delivery{
		ID: m.ID, Type: m.Event.Type, Thread: m.Event.Data.Thread, Seq: m.Event.Data.Seq, At: begun.UTC().Truncate(time.Millisecond), Millis: took.Milliseconds(),
		Attempt: m.Attempt, Delivered: f == nil,
	}
	if f != nil {
		d.Status, d.Error = f.Status, clip(f.Message, maxReason)
	}
	return d
}

// made notes an attempt.
func (s *state) made(d *Delivery) {
	s.Made = append(s.Made, d)
	s.Made = slices.Clone(s.Made[max(0, len(s.Made)-MaxDeliveries):])
}

// Deliveries returns the newest attempts of an endpoint, at most [MaxDeliveries], the newest first. They are
// kept with the endpoint's place in the log, so they outlast restarts and are the same at each server
// over the store; a process that is killed loses those of its last tenth of a second. Tests are not among
// them. [posthouse.ErrNotFound] for an unknown endpoint.
func (n *Notifier) Deliveries(ctx context.Context, name string) ([]Delivery, error) {
	if _, err := n.find(name); err != nil {
		return nil, err
	}
	slot, err := n.ledger.Store().Slot(ctx, stateKey(name), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	have, err := readState(slot.Value)
	if err != nil {
		return nil, err
	}
	all := make([]Delivery, 0, len(have.Made))
	for _, d := range slices.Backward(have.Made) {
		if d != nil {
			all = append(all, *d)
		}
	}
	return all, nil
}
