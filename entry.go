package posthouse

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// A Hash is a SHA-256.
type Hash [32]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether no hash is set.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText writes hexadecimal, and nothing for the zero hash.
func (h Hash) MarshalText() ([]byte, error) {
	if h.IsZero() {
		return nil, nil
	}
	return []byte(h.String()), nil
}

// UnmarshalText reads what MarshalText wrote. [ErrInvalid] for anything else.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*h = Hash{}
		return nil
	}
	if len(b) != 64 {
		return Invalid("hash", "must be 64 hexadecimal digits")
	}
	if _, err := hex.Decode(h[:], b); err != nil {
		return Invalid("hash", "must be 64 hexadecimal digits")
	}
	return nil
}

// A Position is where a thread's log ends.
type Position struct {
	Seq  uint64 `json:"seq"`  // of the last entry, 0 for an empty log
	Hash Hash   `json:"hash"` // of the last entry
}

// An Entry is one append to a thread's log, as a store keeps it. Hash covers all of it
// but the signature. The next entry's Prev covers the signature.
type Entry struct {
	Thread     string
	Generation uint32
	Seq        uint64
	Prev       Hash   // the entry before: its link, see [Entry.Link]; zero for the first
	Header     []byte // canonical encoding, docs/format.md
	Hash       Hash
	Sig        []byte   // empty, or key id and Ed25519 signature
	Bodies     [][]byte // one for each record; nil if it is absent, was removed, or was not asked for

	Cursor string // set by a Watcher: where to go on watching
}

const (
	domainEntry = "posthouse/entry/1"
	domainLink  = "posthouse/link/1"
)

// Sum computes the entry's hash.
func (e *Entry) Sum() Hash {
	var num [24]byte
	n := canon.AppendUint(canon.AppendUint(num[:0], uint64(e.Generation)), e.Seq)
	return canon.Hash(domainEntry, []byte(e.Thread), n, e.Prev[:], e.Header)
}

// Link returns the next entry's Prev: the hash, or for a signed entry a hash over hash
// and signature.
func (e *Entry) Link() Hash {
	if len(e.Sig) == 0 {
		return e.Hash
	}
	return canon.Hash(domainLink, e.Hash[:], e.Sig)
}

// Check recomputes the entry's hash and the hash of each body present. It
// returns an [ErrCorrupt] that names the thread and the sequence number.
func (e *Entry) Check() error {
	_, err := e.CheckRecords()
	return err
}

// CheckRecords checks like [Entry.Check] and returns the records.
func (e *Entry) CheckRecords() ([]Record, error) {
	if e.Sum() != e.Hash {
		return nil, Corrupt("entry %d of thread %q does not have the hash it was written with", e.Seq, e.Thread)
	}
	recs, err := e.Records()
	if err != nil || e.Bodies == nil {
		return recs, err
	}
	if len(e.Bodies) != len(recs) {
		return nil, Corrupt("entry %d of thread %q has %d bodies for %d records", e.Seq, e.Thread, len(e.Bodies), len(recs))
	}
	for i, b := range e.Bodies {
		if len(b) > 0 && (len(b) != recs[i].Size || sha256.Sum256(b) != recs[i].Hash) {
			return nil, Corrupt("record %d of entry %d of thread %q (%s) does not have the hash it was written with",
				i, e.Seq, e.Thread, recs[i].Kind)
		}
	}
	return recs, nil
}

// The first byte of each header. An entry has the lowest format that can hold its
// records, so that old content keeps its bytes and its hash.
const (
	entryFormat = 1
	entryBound  = 2 // gates with the digest of their content, steps with the gate that licensed them
	entryStory  = 3 // steps and checkpoints with their beginning and attempts, notes
	entryNotice = 4 // notices, gates with a time at which people are reminded
	entryTaken  = 5 // assignments that take a delegation back
	entrySettle = 6 // signals that a wait returns; gates that allow the verdicts of an unknown outcome, decisions and votes with them
)

// MaxRecords bounds an entry.
const MaxRecords = 1 << 16

type entryHeader struct {
	time    time.Time
	records []Record
}

func (h *entryHeader) append(b []byte) []byte {
	format := h.format()
	b = append(b, format)
	b = canon.AppendUint(b, uint64(h.time.UnixMilli()))
	b = canon.AppendUint(b, uint64(len(h.records)))
	var f fields
	f.Write(b)
	for i := range h.records {
		h.records[i].fields(&f, format)
	}
	return f.Written()
}

// format returns the lowest format that can hold the records.
func (h *entryHeader) format() byte {
	format := byte(entryFormat)
	for i := range h.records {
		format = max(format, h.records[i].format())
	}
	return format
}

func (h *entryHeader) release() *ReleaseInfo {
	if n := len(h.records); n > 0 {
		return h.records[n-1].Release
	}
	return nil
}

// Time returns when the entry was made, to the millisecond, UTC.
func (e *Entry) Time() time.Time {
	r := canon.NewReader(e.Header)
	r.Byte()
	return time.UnixMilli(int64(r.Uint())).UTC()
}

// Records decodes the entry's header. Checkpoint headers are complete: thread,
// sequence, hash and time come from the entry. [ErrCorrupt], or [ErrNewer] for a format
// of a later version. Hashes are not checked: see [Entry.Check].
func (e *Entry) Records() ([]Record, error) {
	h, err := e.decode()
	return h.records, err
}

func (e *Entry) decode() (h entryHeader, err error) {
	var f fields
	f.Reset(e.Header, nil)
	if err := h.read(&f, e); err != nil {
		return entryHeader{}, err
	}
	return h, nil
}

// read decodes e's header into h, and reuses the memory of h.
func (h *entryHeader) read(f *fields, e *Entry) error {
	format := f.Byte()
	if f.Err() == nil && (format < entryFormat || format > entrySettle) {
		return &Error{
			Code: CodeNewer, Message: "an entry has format " + hex.EncodeToString([]byte{format}) + ", which this version does not know",
			Hint: "use the version of posthouse that wrote it",
		}
	}
	ms := f.Uint()
	if ms > MaxMillis {
		f.Fail("time out of range")
	}
	h.time = time.UnixMilli(int64(ms)).UTC()
	n := f.Count()
	if n > MaxRecords {
		f.Fail("%d records", n)
	}
	if f.Err() != nil {
		n = 0
	}
	if n > cap(h.records) {
		h.records = make([]Record, n)
	}
	h.records = h.records[:n]
	for i := range h.records {
		h.records[i].clear()
		h.records[i].fields(f, format)
	}
	if f.Err() == nil && h.format() != format {
		f.Fail("format %d says nothing that format %d cannot", format, h.format())
	}
	for i := range h.records {
		h.records[i].check(e, f)
		if h.records[i].Release != nil && i != len(h.records)-1 {
			f.Fail("a record behind a release")
		}
		if h.records[i].Note != nil && (i == 0 || h.records[i-1].Step == nil && h.records[i-1].Checkpoint == nil) {
			f.Fail("a note of neither a step nor a checkpoint")
		}
	}
	if err := f.Done(); err != nil {
		return Corrupt("entry %d of thread %q does not decode: %v", e.Seq, e.Thread, err)
	}
	e.complete(h)
	return nil
}

// complete fills in what the records take from their entry.
func (e *Entry) complete(h *entryHeader) {
	for i := range h.records {
		switch r := &h.records[i]; {
		case r.Checkpoint != nil:
			r.Checkpoint.Gates = nil
			e.completeHeader(r.Checkpoint, h)
		case r.Step != nil:
			r.Step.Began = beganBefore(h.time, r.Step.Took, r.Step.Attempts)
		case r.Release != nil:
			r.Release.Version = e.Generation
		}
	}
}

func (e *Entry) completeHeader(c *Header, h *entryHeader) {
	c.Thread, c.Generation, c.Seq, c.Hash = e.Thread, e.Generation, e.Seq, e.Hash
	if c.Coordination == "" {
		c.Coordination = e.Thread
	}
	if c.CreatedAt.IsZero() {
		c.CreatedAt = h.time
	}
	c.Began = beganBefore(c.CreatedAt, c.Took, c.Attempts)
	for i := range h.records {
		if g := h.records[i].Gate; g != nil {
			c.Gates = append(c.Gates, g.ID)
		}
	}
}

// Checkpoints returns the headers of the checkpoints in the entry. It fails as
// [Entry.Records] does.
func (e *Entry) Checkpoints() ([]Header, error) {
	recs, err := e.Records()
	var hs []Header
	for _, r := range recs {
		if r.Checkpoint != nil {
			hs = append(hs, *r.Checkpoint)
		}
	}
	return hs, err
}

// Size returns how many bytes of the entry a store has to keep.
func (e *Entry) Size() int {
	n := len(e.Header) + len(e.Sig)
	for _, b := range e.Bodies {
		n += len(b)
	}
	return n
}
