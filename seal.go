package posthouse

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/posthouse/posthouse/internal/canon"
)

// Seal makes the entry that follows a thread's tail: it hashes the bodies,
// encodes the header and chains it to t. A new thread is a summary with its
// name and nothing else. records and bodies run in parallel; nil is no body.
// The records are completed in place; the summary that goes with the entry is
// returned beside it. The Ledger does this for you; stores' tests call it.
func Seal(t *ThreadInfo, at time.Time, records []Record, bodies [][]byte) (*Entry, *ThreadInfo) {
	var s Sealer
	e := &Entry{Header: make([]byte, 0, 256)}
	s.Seal(e, t, at, records, bodies)
	info := s.Apply(*t, e)
	return e, &info
}

// A Sealer seals one entry in two steps, so that it can be signed in between. The
// link to the next entry covers the signature. The zero Sealer is ready.
type Sealer struct{ header entryHeader }

// Seal fills in e as [Seal] does. The header goes to the memory that e.Header has.
func (s *Sealer) Seal(e *Entry, t *ThreadInfo, at time.Time, records []Record, bodies [][]byte) {
	h := &s.header
	h.time, h.records = time.UnixMilli(max(at.UnixMilli(), 0)).UTC(), records
	for i := range records {
		if n := len(bodies[i]); n > 0 {
			records[i].Size, records[i].Hash = n, sha256.Sum256(bodies[i])
		}
	}
	e.Thread, e.Generation, e.Seq, e.Prev = t.Thread, max(t.Generation, 1), t.Tail.Seq+1, t.Link
	e.Header, e.Bodies = h.append(e.Header[:0]), bodies
	e.Hash = e.Sum()
	e.complete(h)
}

// Apply returns the summary t as it is with the entry that was sealed last.
func (s *Sealer) Apply(t ThreadInfo, e *Entry) ThreadInfo {
	t.apply(e, &s.header)
	return t
}

// ToMillis rounds a time to what headers can say.
func ToMillis(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

const domainSignature = "posthouse/signature/1"

// A Signer signs entries. Package sign has one with an Ed25519 key in a file.
type Signer interface {
	// KeyID names the key, by its algorithm first: "ed25519:" and 16 hex digits.
	KeyID() string
	// Sign returns the signature over message, which is a [SignatureMessage].
	Sign(message []byte) ([]byte, error)
}

// A Verifier knows whose signatures count. In package sign a key is one, for its
// own, and a ring.
type Verifier interface {
	// ImportCheck returns a check for one import, as [transfer.ImportOptions] have it.
	ImportCheck() func(*Entry) error
}

// SignatureMessage returns what is signed for an entry with this hash: the
// domain and the hash, length-prefixed, so that a signature made for anything
// else cannot stand for an entry's.
func SignatureMessage(h Hash) []byte {
	return canon.AppendBytes(canon.AppendString(nil, domainSignature), h[:])
}

// JoinSignature returns an [Entry]'s Sig: the key id, length-prefixed, then the
// signature.
func JoinSignature(keyID string, signature []byte) []byte {
	return append(canon.AppendString(nil, keyID), signature...)
}

// SplitSignature reads what JoinSignature wrote. [ErrCorrupt] unless the key id
// is 1 to 200 bytes and a signature follows. The signature aliases sig.
func SplitSignature(sig []byte) (keyID string, signature []byte, err error) {
	r := canon.NewReader(sig)
	keyID = r.String()
	if r.Err() != nil || keyID == "" || len(keyID) > MaxID || r.Len() == 0 {
		return "", nil, Corrupt("a signature of %d bytes does not decode", len(sig))
	}
	return keyID, r.Raw(r.Len()), nil
}

// A Cipher wraps data keys: with one in [ledger.Options], what people and programs put
// into a store is sealed before it gets there. Each generation of each thread
// has a data key of its own, made at random by the Ledger, which seals bodies
// with it (AES-256-GCM) and keeps it in the store wrapped by one of the
// Cipher's keys. So the Cipher is asked once a thread, not once a step, and may
// be a key management service. [crypt.Keyring] is one with keys in memory.
//
// Methods may be called at once from many goroutines. An error is told as
// [ErrSealed] with the thread and the key's id; a cancelled ctx as itself.
type Cipher interface {
	// Current names the key that new data keys are wrapped with: 1 to 200 bytes
	// of text. Names are kept in the clear; a name must always mean the same key.
	Current() string

	// Wrap encrypts a data key of 32 bytes with the named key, which is the
	// current one, and authenticates binding with it: what Unwrap is given with
	// any other binding must not unwrap. The result is at most 16 KiB.
	Wrap(ctx context.Context, key string, dataKey, binding []byte) ([]byte, error)

	// Unwrap undoes Wrap with the named key, which need not be the current one.
	Unwrap(ctx context.Context, key string, wrapped, binding []byte) ([]byte, error)
}
