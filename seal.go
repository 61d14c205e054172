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
	e, h := seal(t, at, records, bodies)
	return e, t.after(e, h)
}

func seal(t *ThreadInfo, at time.Time, records []Record, bodies [][]byte) (*Entry, *entryHeader) {
	h := &entryHeader{time: time.UnixMilli(max(at.UnixMilli(), 0)).UTC(), records: records}
	for i := range records {
		if n := len(bodies[i]); n > 0 {
			records[i].Size, records[i].Hash = n, sha256.Sum256(bodies[i])
		}
	}
	e := &Entry{
		Thread: t.Thread, Generation: max(t.Generation, 1), Seq: t.Tail.Seq + 1, Prev: t.Link,
		Header: h.append(make([]byte, 0, 256)), Bodies: bodies,
	}
	e.Hash = e.Sum()
	for i := range records {
		if c := records[i].Checkpoint; c != nil {
			c.Gates = nil
			e.complete(c, h)
		}
	}
	return e, h
}

// after returns a summary taken over e; t stays as it is. It is called once
// the entry is signed, since the link covers the signature.
func (t *ThreadInfo) after(e *Entry, h *entryHeader) *ThreadInfo {
	n := *t
	n.apply(e, h)
	return &n
}
