package statement

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secretfile"
	"github.com/posthouse/posthouse/sign"
)

const (
	headType   = "application/vnd.posthouse.head+json"
	headFormat = 1
	maxHead    = 256 << 20 // bytes of a head's file, enough for two million threads
)

// WitnessOptions configure [Witness].
type WitnessOptions struct {
	Now func() time.Time // the clock; default time.Now
}

// Witness makes a signed statement of where every thread ends. It checks the hash of each
// thread's last entry, but not the chain before it, which [sign.Verify] does. Threads may
// grow while it reads. It fails with [posthouse.ErrCorrupt] if a thread does not end
// where its summary says.
func Witness(ctx context.Context, store posthouse.Store, signer posthouse.Signer, o *WitnessOptions) (*sign.Head, error) {
	now := time.Now
	if o != nil && o.Now != nil {
		now = o.Now
	}
	h := &sign.Head{Format: headFormat, At: now().UTC().Truncate(time.Millisecond), Threads: []sign.ThreadHead{}, KeyID: signer.KeyID()}
	for info, err := range store.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			return nil, err
		}
		ok, err := endsAt(ctx, store, info.Thread, info.Tail)
		if err != nil {
			return nil, err
		}
		if ok {
			h.Threads = append(h.Threads, sign.ThreadHead{Thread: info.Thread, Seq: info.Tail.Seq, Hash: info.Tail.Hash})
		}
	}
	slices.SortFunc(h.Threads, func(a, b sign.ThreadHead) int { return strings.Compare(a.Thread, b.Thread) })
	payload, err := json.Marshal(h)
	if err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "head", Message: "cannot be encoded", Err: err}
	}
	h.Envelope, err = wrap(headType, payload, signer)
	return h, err
}

// endsAt checks that the log has the last entry of its summary. It reports false if the
// thread was deleted since.
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

// SaveHead writes a head's envelope to a file, durably, and replaces an existing file. It
// fails with [posthouse.ErrInvalid] for a head that neither [Witness] nor [ParseHead] made.
func SaveHead(path string, h *sign.Head) error {
	if h.Envelope == nil {
		return posthouse.Invalid("head", "is not signed; make it with Witness")
	}
	return secretfile.Replace(path, h.Envelope, 0o644)
}

// LoadHead reads a head from a file, see [ParseHead].
func LoadHead(path string, ring *sign.Ring) (*sign.Head, error) {
	return secretfile.Load(path, maxHead, func(data []byte) (*sign.Head, error) { return ParseHead(data, ring) })
}

// ParseHead reads a head and checks its signature. It fails with [posthouse.ErrInvalid] if
// data is not a head, with [posthouse.ErrCorrupt] if it was changed, and with
// [posthouse.ErrForbidden] if the ring does not have its key or the key was not in use.
func ParseHead(data []byte, ring *sign.Ring) (*sign.Head, error) {
	payload, by, err := unwrap(data, headType, ring)
	if err != nil {
		return nil, err
	}
	h := &sign.Head{Envelope: slices.Clone(data), KeyID: by.ID}
	if err := json.Unmarshal(payload, h); err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "head", Message: "does not decode", Err: err}
	}
	if err := checkSigned(by, h.Format, headFormat, h.At); err != nil {
		return nil, err
	}
	for i, t := range h.Threads {
		if t.Seq == 0 || t.Hash.IsZero() || i > 0 && t.Thread <= h.Threads[i-1].Thread {
			return nil, posthouse.Invalid("head", "lists thread %.200q twice, out of order or without its end", t.Thread)
		}
	}
	return h, nil
}

// checkSigned checks the format of a statement, and that its key was in use at its time.
func checkSigned(by sign.Public, format, known int, at time.Time) error {
	switch {
	case format > known:
		return &posthouse.Error{
			Code: posthouse.CodeNewer, Message: fmt.Sprintf("the statement has format %d; this version knows %d", format, known),
			Hint: "use the version of posthouse that wrote it",
		}
	case format != known:
		return posthouse.Invalid("format", "is %d, not %d", format, known)
	case !by.InUse(at):
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Message: "it is signed by " + by.ID + ", which was not in use at its time, " + at.Format(time.RFC3339),
		}
	}
	return nil
}
