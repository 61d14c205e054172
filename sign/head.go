package sign

import (
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// A Head says where every thread of a store ended at one time. Kept apart from the store, it
// is the witness that finds a store put back to an older state. Package statement makes
// heads and reads them.
type Head struct {
	Format  int          `json:"format"` // 1
	At      time.Time    `json:"at"`
	Threads []ThreadHead `json:"threads"` // by name, ascending

	KeyID    string `json:"-"` // of the key that signed it
	Envelope []byte `json:"-"` // the signed head, a DSSE envelope to keep in a file
}

// A ThreadHead is where one thread ended.
type ThreadHead struct {
	Thread string         `json:"thread"`
	Seq    uint64         `json:"seq"`
	Hash   posthouse.Hash `json:"hash"`
}

// thread returns the recorded end of a thread. A nil head has no threads.
func (h *Head) thread(thread string) (ThreadHead, bool) {
	if h == nil {
		return ThreadHead{}, false
	}
	i, ok := slices.BinarySearchFunc(h.Threads, thread, func(t ThreadHead, name string) int { return strings.Compare(t.Thread, name) })
	if !ok {
		return ThreadHead{}, false
	}
	return h.Threads[i], true
}

func (h *Head) date() string { return h.At.UTC().Format(time.RFC3339) }

// A sighting is the entry of a thread that a witness saw.
type sighting struct {
	head  ThreadHead
	there bool
	met   bool // the chain has reached its place
}

// compareWitness compares an entry with the one that the witness saw in its place.
func (c *chain) compareWitness(e *posthouse.Entry) {
	if c.witness.there && e.Seq == c.witness.head.Seq {
		c.witness.met = true
		if e.Hash == c.witness.head.Hash {
			c.report.Witnessed = 1
			return
		}
		c.fault(FaultForked, e.Seq, -1, "", "it is not the entry that the witness saw here: the log was written anew")
	}
}

// ended reports a log that no longer has the entry that the witness saw.
func (c *chain) ended(h *Head) {
	switch {
	case !c.witness.there || c.witness.met:
	case c.next <= c.witness.head.Seq:
		c.fault(FaultRewound, max(c.next, 1)-1, -1, "", "the log ends here; the witness of %s saw entry %d", h.date(), c.witness.head.Seq)
	case c.lacks(c.witness.head.Seq) && c.coverage.covered > c.witness.head.Seq:
		c.report.Witnessed = 1 // dropped with its version, by a signed record
	case c.first > c.witness.head.Seq && c.coverage.covered >= c.first:
		c.report.Witnessed = 1 // removed, by a signed record
	case c.first > c.witness.head.Seq:
		c.fault(FaultVanished, c.first, -1, "", "the entries that the witness of %s saw were removed, and no signature covers the record that says so", h.date())
	}
}
