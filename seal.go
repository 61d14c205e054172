package posthouse

import (
	"crypto/sha256"
	"time"
)

// Seal makes the entry that follows a thread's tail: it hashes the bodies,
// encodes the header and chains it to t. A new thread is a summary with its
// name and nothing else. records and bodies run in parallel; nil is no body.
// The records are completed in place; the summary that goes with the entry is
// returned beside it. The Ledger does this for you; stores' tests call it.
func Seal(t *ThreadInfo, at time.Time, records []Record, bodies [][]byte) (*Entry, *ThreadInfo) {
	e, h := &Entry{Header: make([]byte, 0, 256)}, &entryHeader{}
	seal(e, h, t, at, records, bodies)
	info := *t
	info.apply(e, h)
	return e, &info
}

// seal fills in e and h; the header goes to the memory that e.Header has. The
// caller signs the entry before the summary goes over it, since the link
// covers the signature.
func seal(e *Entry, h *entryHeader, t *ThreadInfo, at time.Time, records []Record, bodies [][]byte) {
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

// toMillis rounds a time to what headers can say.
func toMillis(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }
