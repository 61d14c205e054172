package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// Bounds on what is kept of a gate and an endpoint: messages, and names of each.
const (
	maxSent    = 24
	maxReached = 20
)

// A receipt is what is kept of the messages about one gate to one endpoint. It is a slot beside the
// log of the gate's thread, and goes with it: a list of all gates would grow, or forget.
type receipt struct {
	Sent []*sent `json:"sent,omitempty"` // the newest message last
	Lost int     `json:"lost,omitempty"` // earlier messages that are not kept any more
}

// A sent is how it went with one message.
type sent struct {
	ID       string    `json:"id"`
	Type     Type      `json:"type"`
	Seq      uint64    `json:"seq"`
	Attempts int       `json:"attempts,omitempty"`
	First    time.Time `json:"first,omitzero"` // when it was tried first
	Last     time.Time `json:"last,omitzero"`  // when it was tried last
	Took     time.Time `json:"took,omitzero"`  // when the receiver first took it; zero: it did not
	To       []string  `json:"to,omitempty"`   // people who have it
	Others   int       `json:"others,omitempty"`
	Status   int       `json:"status,omitempty"` // of the newest failure
	Error    string    `json:"error,omitempty"`
	Passed   bool      `json:"passed,omitempty"` // there was nothing to send
	GivenUp  bool      `json:"givenUp,omitempty"`
}

func receiptKey(thread, endpoint string, gate posthouse.ID) posthouse.SlotKey {
	sum := sha256.Sum256([]byte(gate))
	return posthouse.SlotKey{Thread: thread, Step: "$told." + endpoint + "." + hex.EncodeToString(sum[:16])}
}

// readReceipt returns what is kept, and the revision to write at. A slot that cannot be read counts as lost.
func readReceipt(ctx context.Context, store posthouse.Store, key posthouse.SlotKey) (*receipt, uint64, error) {
	slot, err := store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return &receipt{}, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	r := new(receipt)
	if json.Unmarshal(slot.Value, r) != nil || slices.Contains(r.Sent, nil) {
		r = &receipt{Lost: 1}
	}
	return r, slot.Revision, nil
}

// find returns what is kept of a message, nil for nothing.
func (r *receipt) find(id string) *sent {
	for _, s := range r.Sent {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// of returns what is kept of a message, which is added if it is new. Of many, the oldest assignments and
// reminders go: a gate is opened and decided once.
func (r *receipt) of(m *Message) *sent {
	if s := r.find(m.ID); s != nil {
		return s
	}
	s := &sent{ID: m.ID, Type: m.Event.Type, Seq: m.Event.Data.Seq}
	r.Sent = append(r.Sent, s)
	if len(r.Sent) > maxSent {
		old := slices.IndexFunc(r.Sent, func(s *sent) bool { return s.Type == GateAssigned || s.Type == GateReminded })
		r.Sent = slices.Delete(r.Sent, max(old, 0), max(old, 0)+1)
		r.Lost++
	}
	return s
}

// tried notes an attempt that began and ended. Once the receiver took a message, a replay that fails
// changes nothing.
func (s *sent) tried(m *Message, begun, ended time.Time, passed bool, f *Failure) {
	begun, ended = begun.UTC().Truncate(time.Millisecond), ended.UTC().Truncate(time.Millisecond)
	if s.First.IsZero() {
		s.First = begun
	}
	s.Last = begun
	s.Attempts++
	for _, name := range m.Reached {
		switch {
		case slices.Contains(s.To, name):
		case len(s.To) < maxReached:
			s.To = append(s.To, clip(name, 200))
		default:
			s.Others++
		}
	}
	switch {
	case f != nil:
		s.Status, s.Error = f.Status, clip(f.Message, maxReason)
	case passed:
		s.Passed = true
	case s.Took.IsZero():
		s.Took, s.Passed, s.GivenUp = ended, false, false
	}
}

// Times and tries of a write of a receipt.
const (
	receiptTime  = 5 * time.Second
	receiptTries = 5
)

// note changes what is kept of a message about a gate. It is written under the endpoint's fence. Where
// that fails, nothing is claimed: the gate's page says that it is not known.
func (s *sender) note(ctx context.Context, m *Message, change func(*sent)) {
	g := m.Event.Data.Gate
	if g == nil || m.Event.Data.Thread == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, receiptTime)
	defer cancel()
	err := s.write(ctx, m, receiptKey(m.Event.Data.Thread, s.endpoint.Name, g.ID), change)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("cannot keep how a gate was told", "endpoint", s.endpoint.Name, "gate", g.ID, "message", m.ID, "error", err)
	}
}

func (s *sender) write(ctx context.Context, m *Message, key posthouse.SlotKey, change func(*sent)) error {
	store, kept, revision := s.source.ledger.Store(), new(receipt), uint64(0)
	look := m.Event.Type != GateOpened || m.Attempt != 1 // the first message about a gate needs no look
	for n := 1; ; n++ {
		if look {
			var err error
			kept, revision, err = readReceipt(ctx, store, key)
			if err != nil {
				return err
			}
		}
		change(kept.of(m))
		value, err := json.Marshal(kept)
		if err != nil {
			return err
		}
		_, err = store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: revision, Fence: s.lease.state.Fence})
		if !errors.Is(err, posthouse.ErrConflict) || n == receiptTries { // of a replay, or of an owner before
			return err
		}
		look = true
	}
}
