package notify

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// slotsThread is the thread of the slots of endpoints.
const slotsThread = "$notify"

// Window is how many messages of an endpoint may wait for another attempt while it is told of what
// came after them.
const Window = 32

// A state is what is kept of an endpoint, in its slot.
type state struct {
	Owner string `json:"owner,omitempty"` // the process that has the endpoint; "" is no process
	Fence uint64 `json:"fence"`           // counts owners

	Since   time.Time `json:"since"`            // what happened before is not told
	Cursor  string    `json:"cursor,omitempty"` // what it has passed was told, or waits below
	At      time.Time `json:"at,omitzero"`      // of the newest entry that the cursor has passed
	Scan    *scan     `json:"scan,omitempty"`   // under way at the cursor
	Address string    `json:"address,omitempty"`
	Gone    time.Time `json:"gone,omitzero"` // since when the receiver wants no more; zero: it does

	Pending []*pending `json:"pending,omitempty"` // messages that wait for another attempt; while the endpoint is down, the least recently tried first
	Replay  *replay    `json:"replay,omitempty"`

	Delivered   uint64    `json:"delivered,omitempty"`
	DeliveredAt time.Time `json:"deliveredAt,omitzero"` // the newest
	Failures    int       `json:"failures,omitempty"`   // attempts that failed since then
	Failing     time.Time `json:"failing,omitzero"`     // when the first of them failed
	Error       string    `json:"error,omitempty"`      // of the newest of them
	ErrorAt     time.Time `json:"errorAt,omitzero"`
	GivenUp     uint64    `json:"givenUp,omitempty"`
	Last        []string  `json:"last,omitempty"` // ids of messages that were given up last

	Made []*Delivery `json:"made,omitempty"` // the newest attempts, the newest last
}

// A pending is a message that waits for another attempt. Its content is in the log.
type pending struct {
	ID       string    `json:"id"`
	Thread   string    `json:"thread"`
	Seq      uint64    `json:"seq"`
	Attempts int       `json:"attempts"`
	First    time.Time `json:"first"`           // when it was tried first
	Last     time.Time `json:"last,omitzero"`   // when it was tried last
	Next     time.Time `json:"next"`            // when it is to be tried again
	Alone    int       `json:"alone,omitempty"` // attempts that failed though the receiver took another message since the one before
	Base     int       `json:"base,omitempty"`  // attempts before the newest of those
}

// failed counts an attempt that failed. delivered is when the receiver took a message last.
func (p *pending) failed(now, delivered time.Time) {
	last := p.Last
	if last.IsZero() {
		last = p.First
	}
	if delivered.After(last) {
		p.Alone++
		p.Base = p.Attempts
	}
	p.Attempts++
	p.Last = now
}

// isHopeless reports whether a message has had its attempts. Those of an outage do not count: once the
// receiver is back, a message has all of them again, or fewer if others keep going through.
func (p *pending) isHopeless(attempts int) bool {
	return p.Attempts >= attempts && p.Alone > 0 && (p.Alone >= alone || p.Attempts >= p.Base+attempts)
}

// alone is how many of a message's attempts fail while others go through before it is given up.
const alone = 3

// A replay is a walk over what happened in a stretch of time, thread by thread.
type replay struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	By     string    `json:"by,omitempty"`
	Thread string    `json:"thread,omitempty"` // the newest thread it is at, or has passed; "": it begins
	Seq    uint64    `json:"seq,omitempty"`    // the newest entry of that thread that it has passed
	Sent   uint64    `json:"sent,omitempty"`
	Failed uint64    `json:"failed,omitempty"` // messages that were given up
	Ended  time.Time `json:"ended,omitzero"`
}

// An ask is what is asked of the owner of an endpoint, in a slot of its own.
type ask struct {
	Replay *replay `json:"replay,omitempty"`
	Resume bool    `json:"resume,omitempty"`
}

func stateKey(name string) posthouse.SlotKey {
	return posthouse.SlotKey{Thread: slotsThread, Step: "state-" + name}
}

func askKey(name string) posthouse.SlotKey {
	return posthouse.SlotKey{Thread: slotsThread, Step: "ask-" + name}
}

// reach notes how far the endpoint is.
func (s *state) reach(p place) {
	s.Cursor, s.Scan = p.cursor, p.scan
	if !p.at.IsZero() {
		s.At = p.at
	}
}

// isDown reports whether no more messages are taken from the log until one of those that wait
// is delivered.
func (s *state) isDown() bool { return len(s.Pending) >= Window }

// due returns the message that is to be tried again first, nil if no message waits, and when. Where
// the endpoint is down, they take turns: the receiver may be back and refuse one of them for ever.
func (s *state) due() (*pending, time.Time) {
	if len(s.Pending) == 0 || !s.Gone.IsZero() {
		return nil, time.Time{}
	}
	first := s.Pending[0]
	if !s.isDown() {
		first = slices.MinFunc(s.Pending, func(a, b *pending) int { return a.Next.Compare(b.Next) })
	}
	return first, first.Next
}

// turn has the next message take its turn where the endpoint is down, after a pause from now on.
func (s *state) turn(p *pending, now time.Time, pause time.Duration) {
	if !s.isDown() {
		return
	}
	s.remove(p)
	s.Pending = append(s.Pending, p)
	if first := s.Pending[0]; first.Next.Before(now.Add(pause)) {
		first.Next = now.Add(pause)
	}
}

// oldest returns when the oldest message that waits was tried first, zero if no message waits.
func (s *state) oldest() (at time.Time) {
	for _, p := range s.Pending {
		if at.IsZero() || p.First.Before(at) {
			at = p.First
		}
	}
	return at
}

func (s *state) remove(p *pending) {
	s.Pending = slices.DeleteFunc(s.Pending, func(o *pending) bool { return o == p })
}

// delivered notes a message that the receiver took. After several failures in a row the receiver
// is back: what waits is tried at once.
func (s *state) delivered(now time.Time) {
	if s.Failures >= back {
		for _, p := range s.Pending {
			p.Next = now
		}
	}
	s.Delivered++
	s.DeliveredAt, s.Failures, s.Failing = now, 0, time.Time{}
}

// back is after how many failures in a row a delivery says that the receiver is back.
const back = 3

// failed notes an attempt that failed.
func (s *state) failed(f *Failure, now time.Time) {
	if s.Failures == 0 {
		s.Failing = now
	}
	s.Failures++
	s.Error, s.ErrorAt = clip(f.Message, maxError), now
	if f.Gone {
		s.Gone = now
	}
}

// maxError bounds the text of an error on record.
const maxError = 500

// giveUp notes a message that is tried no more.
func (s *state) giveUp(id string) {
	const most = 10
	s.GivenUp++
	s.Last = append(s.Last, id)
	s.Last = slices.Clone(s.Last[max(0, len(s.Last)-most):])
}

func readState(b []byte) (*state, error) {
	s := new(state)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, posthouse.Corrupt("the slot of an endpoint is not JSON: %v", err)
	}
	return s, nil
}
