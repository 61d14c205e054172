package idempotency

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
)

// A phase says how far a request is.
type phase string

// The phases. A record of an earlier version is open.
const (
	running  phase = "running"  // a server works on it, and holds it until a time
	answered phase = "answered" // its answer is kept
	refused  phase = "refused"  // it was answered with 4xx: it may be corrected
	open     phase = "open"     // it may be on record, or not: it runs again if it is sent again
)

// A record is the request that a key names.
type record struct {
	Digest string           `json:"digest"` // of what was sent
	ID     posthouse.ID     `json:"run"`
	Thread string           `json:"thread,omitempty"` // a new name, for a request that names no thread
	After  uint64           `json:"after,omitempty"`  // the end of the request's thread before it
	At     posthouse.Millis `json:"at,omitempty"`     // when it began, by the Ledger's clock
	Until  posthouse.Millis `json:"until"`            // the key stands for it until then
	By     string           `json:"by,omitempty"`     // the principal, in short
	Phase  phase            `json:"phase,omitempty"`
	Held   posthouse.Millis `json:"held,omitempty"`   // running: its server has it until then
	Holder posthouse.ID     `json:"holder,omitempty"` // running: which attempt has it
	Slot   int              `json:"slot,omitempty"`   // the number of the answer's slot, from 1
	Size   int              `json:"size,omitempty"`   // answered: bytes of the answer's slot
	Rev    uint64           `json:"rev,omitempty"`    // answered: the revision of the answer's slot
}

// Bounds on one of the 256 slots of records: one principal has at most half of each.
const (
	keysOfSlot  = 1000      // records
	bytesOfSlot = 4 << 20   // of answers
	maxRecords  = 900 << 10 // bytes of the records themselves; a slot has 1 MiB
	maxSwept    = 16        // of those past their time, that one write removes
)

const keysThread = "$requests" // of the slots

// A bucket is the content of one slot of records.
type bucket struct {
	step    string
	records map[string]*record
	swept   []*record // records that go, with answers
}

// sweep removes records that are past their time.
func (b *bucket) sweep(now posthouse.Millis) {
	gone := 0
	for name, rec := range b.records {
		if now < rec.Until || gone == maxSwept {
			continue
		}
		gone++
		b.remove(name)
	}
}

func (b *bucket) remove(name string) {
	if rec := b.records[name]; rec != nil && rec.Phase == answered {
		b.swept = append(b.swept, rec)
	}
	delete(b.records, name)
}

// hasRoom reports whether one more record of an owner fits.
func (b *bucket) hasRoom(owner string, now posthouse.Millis) bool {
	all, own := 0, 0
	for _, rec := range b.records {
		if now >= rec.Until {
			continue
		}
		all++
		if rec.By == owner {
			own++
		}
	}
	return all < keysOfSlot && own < keysOfSlot/2 && len(b.records) < keysOfSlot+maxSwept
}

// freeSlot returns a number for an answer that no record has.
func (b *bucket) freeSlot() int {
	used := map[int]bool{}
	for _, rec := range b.swept {
		used[rec.Slot] = true
	}
	for _, rec := range b.records {
		used[rec.Slot] = true
	}
	n := 1
	for used[n] {
		n++
	}
	return n
}

// keeps reports whether an answer of so many bytes of an owner fits beside the others.
func (b *bucket) keeps(owner string, size int) bool {
	all, own := size, size
	for _, rec := range b.records {
		all += rec.Size
		if rec.By == owner {
			own += rec.Size
		}
	}
	return all <= bytesOfSlot && own <= bytesOfSlot/2
}

// update changes a bucket until no other process was faster. change returns false to leave it as
// it is.
func (k *Keys) update(ctx context.Context, step string, change func(*bucket) (bool, error)) error {
	at := posthouse.SlotKey{Thread: keysThread, Step: step}
	for {
		b := &bucket{step: step, records: map[string]*record{}}
		have, err := k.store.Slot(ctx, at, posthouse.SlotOp{Verb: posthouse.SlotGet})
		if err == nil && json.Unmarshal(have.Value, &b.records) != nil {
			err = &posthouse.Error{Code: posthouse.CodeCorrupt, Message: "the requests kept by " + api.KeyHeader + " do not decode"}
		}
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return err
		}
		if changed, err := change(b); err != nil || !changed {
			return err
		}
		value, err := json.Marshal(b.records)
		if err != nil {
			return err
		}
		if len(value) > maxRecords {
			return tooMany()
		}
		if err := k.dropAnswers(ctx, b); err != nil {
			return err
		}
		_, err = k.store.Slot(ctx, at, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: have.Revision})
		if !errors.Is(err, posthouse.ErrConflict) {
			return err
		}
	}
}

// dropAnswers removes the answers of records that go, before the write that lets their numbers go.
// One that another process has written over since stays.
func (k *Keys) dropAnswers(ctx context.Context, b *bucket) error {
	for _, rec := range b.swept {
		_, err := k.store.Slot(ctx, answerSlot(b.step, rec.Slot), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: rec.Rev})
		if err != nil && !errors.Is(err, posthouse.ErrConflict) {
			return err
		}
	}
	return nil
}

func answerSlot(step string, n int) posthouse.SlotKey {
	return posthouse.SlotKey{Thread: keysThread, Step: "answer." + step + "." + strconv.Itoa(n)}
}

func tooMany() error {
	return &posthouse.Error{Code: problem.CodeTooMany, Message: "too many requests of the last day have a key", Hint: "send it without one"}
}
