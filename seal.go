package posthouse

import (
	"crypto/sha256"
	"time"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// Seal makes the entry that follows a thread's tail: it hashes the bodies, encodes the
// header and chains it to t. For a new thread t has its name and nothing else. records
// and bodies run in parallel; a nil body stands for no body. Seal completes the records in place
// and returns the entry with the summary that goes with it. The Ledger does this for
// programs; tests of stores call it.
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

// Apply returns the summary t as it is after the entry that was sealed last.
func (s *Sealer) Apply(t ThreadInfo, e *Entry) ThreadInfo {
	t.apply(e, &s.header)
	return t
}

// ToMillis rounds a time to what headers hold: milliseconds, UTC.
func ToMillis(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

const domainSignature = "posthouse/signature/1"

// A Signer signs entries. Package sign has one with an Ed25519 key in a file.
type Signer interface {
	// KeyID returns the key's name, which begins with its algorithm: "ed25519:" and 16
	// hex digits.
	KeyID() string
	// Sign returns the signature over message, which is a [SignatureMessage].
	Sign(message []byte) ([]byte, error)
}

// A Verifier knows which keys' signatures are trusted. A key of package sign trusts
// its own, a ring those of its keys.
type Verifier interface {
	// ImportCheck returns a check of one import's entries, for
	// [transfer.ImportOptions].
	ImportCheck() func(*Entry) error
}

// SignatureMessage returns what is signed for an entry with this hash. The domain comes
// first, length-prefixed, so that a signature of anything else never verifies as an
// entry's.
func SignatureMessage(h Hash) []byte {
	return canon.AppendBytes(canon.AppendString(make([]byte, 0, len(domainSignature)+len(h)+2), domainSignature), h[:])
}

// JoinSignature returns an [Entry]'s Sig: the key id, length-prefixed, then the
// signature.
func JoinSignature(keyID string, signature []byte) []byte {
	return append(canon.AppendString(make([]byte, 0, len(keyID)+len(signature)+2), keyID), signature...)
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
