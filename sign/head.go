package sign

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

const (
	headType   = "application/vnd.posthouse.head+json"
	headFormat = 1
	maxHead    = 256 << 20 // bytes of a head's file: two million threads
)

// A Head says where every thread of a store ended at one time. Kept away from
// the store, it is the witness that finds a store put back to an older state.
type Head struct {
	Format  int          `json:"format"` // 1
	At      time.Time    `json:"at"`
	Threads []ThreadHead `json:"threads"` // by name, ascending

	envelope []byte
	keyID    string
}

// A ThreadHead is where one thread ended.
type ThreadHead struct {
	Thread string         `json:"thread"`
	Seq    uint64         `json:"seq"`
	Hash   posthouse.Hash `json:"hash"`
}

// WitnessOptions configure [Witness].
type WitnessOptions struct {
	Now func() time.Time // the clock; default time.Now
}

// Witness makes a signed statement of where every thread ends. It reads the
// last entry of each and checks its hash, not the chain before it: run [Verify]
// for that. Threads may grow meanwhile. [posthouse.ErrCorrupt] if a thread does
// not end where its summary says.
func Witness(ctx context.Context, store posthouse.Store, signer posthouse.Signer, o *WitnessOptions) (*Head, error) {
	now := time.Now
	if o != nil && o.Now != nil {
		now = o.Now
	}
	h := &Head{Format: headFormat, At: now().UTC().Truncate(time.Millisecond), Threads: []ThreadHead{}, keyID: signer.KeyID()}
	for info, err := range store.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			return nil, err
		}
		ok, err := endsAt(ctx, store, info.Thread, info.Tail)
		if err != nil {
			return nil, err
		}
		if ok {
			h.Threads = append(h.Threads, ThreadHead{info.Thread, info.Tail.Seq, info.Tail.Hash})
		}
	}
	slices.SortFunc(h.Threads, func(a, b ThreadHead) int { return strings.Compare(a.Thread, b.Thread) })
	payload, err := json.Marshal(h)
	if err != nil {
		return nil, invalid("head", "cannot be encoded", err)
	}
	h.envelope, err = wrap(headType, payload, signer)
	return h, err
}

// endsAt checks that the log has the entry its summary calls the last. It
// reports false if the thread was deleted meanwhile.
func endsAt(ctx context.Context, store posthouse.Store, thread string, tail posthouse.Position) (bool, error) {
	for e, err := range store.Read(ctx, thread, posthouse.Range{From: tail.Seq, To: tail.Seq, Headers: true}) {
		if err != nil {
			return false, err
		}
		if e.Sum() != tail.Hash || e.Hash != tail.Hash {
			return false, headMismatch(thread, tail.Seq, "is not the one its summary names")
		}
		return true, nil
	}
	for info, err := range store.Threads(ctx, posthouse.ThreadQuery{Thread: thread}) {
		if err != nil {
			return false, err
		}
		if info.Tail == tail {
			return false, headMismatch(thread, tail.Seq, "is not there")
		}
		return endsAt(ctx, store, thread, info.Tail)
	}
	return false, nil
}

func headMismatch(thread string, seq uint64, what string) error {
	return &posthouse.Error{
		Code: posthouse.CodeCorrupt, Message: fmt.Sprintf("the last entry of thread %q, %d, %s", thread, seq, what),
		Hint: "run posthouse verify",
	}
}

// KeyID names the key that signed the head.
func (h *Head) KeyID() string { return h.keyID }

// Envelope returns the signed head as a DSSE envelope, to be kept in a file. A
// head that was neither made by Witness nor parsed is an [posthouse.ErrInvalid].
func (h *Head) Envelope() ([]byte, error) {
	if h.envelope == nil {
		return nil, invalid("head", "is not signed; make it with Witness", nil)
	}
	return slices.Clone(h.envelope), nil
}

// Save writes the head to a file, durably, in the place of one that is there.
func (h *Head) Save(path string) error {
	data, err := h.Envelope()
	if err != nil {
		return err
	}
	return replace(path, data, 0o644)
}

// LoadHead reads a head from a file, see [ParseHead].
func LoadHead(path string, ring *Ring) (*Head, error) {
	return load(path, maxHead, func(data []byte) (*Head, error) { return ParseHead(data, ring) })
}

// ParseHead reads a head and checks its signature: [posthouse.ErrInvalid] if it
// is none, [posthouse.ErrCorrupt] if it was changed, [posthouse.ErrForbidden]
// if the ring does not have its key or the key was not in use.
func ParseHead(data []byte, ring *Ring) (*Head, error) {
	payload, by, err := unwrap(data, headType, ring)
	if err != nil {
		return nil, err
	}
	h := &Head{envelope: slices.Clone(data), keyID: by.ID}
	if err := json.Unmarshal(payload, h); err != nil {
		return nil, invalid("head", "does not decode", err)
	}
	if err := checkSigned(by, h.Format, headFormat, h.At); err != nil {
		return nil, err
	}
	for i, t := range h.Threads {
		if t.Seq == 0 || t.Hash.IsZero() || i > 0 && t.Thread <= h.Threads[i-1].Thread {
			return nil, invalid("head", fmt.Sprintf("lists thread %.200q twice, out of order or without its end", t.Thread), nil)
		}
	}
	return h, nil
}

// checkSigned checks what every signed statement has: its format, and a time at
// which the key was in use.
func checkSigned(by Public, format, known int, at time.Time) error {
	switch {
	case format > known:
		return &posthouse.Error{
			Code: posthouse.CodeNewer, Message: fmt.Sprintf("the statement has format %d; this version knows %d", format, known),
			Hint: "use the version of posthouse that wrote it",
		}
	case format != known:
		return invalid("format", fmt.Sprintf("is %d, not %d", format, known), nil)
	case !by.InUse(at):
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Message: "it is signed by " + by.ID + ", which was not in use at its time, " + at.Format(time.RFC3339),
		}
	}
	return nil
}

// of returns where a thread ended.
func (h *Head) of(thread string) (ThreadHead, bool) {
	if h == nil {
		return ThreadHead{}, false
	}
	i, ok := slices.BinarySearchFunc(h.Threads, thread, func(t ThreadHead, name string) int { return strings.Compare(t.Thread, name) })
	if !ok {
		return ThreadHead{}, false
	}
	return h.Threads[i], true
}
