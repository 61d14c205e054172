package sign

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// A chain follows the entries of one thread, in order, and collects what is wrong with
// them. It trusts nothing but the ring.
type chain struct {
	thread string
	ring   *Ring
	absent bool // bodies may be missing without a removal record
	report Report

	next    uint64         // expected sequence number; 0 before the first entry
	prev    posthouse.Hash // what the next entry's Prev must be
	linked  bool           // prev is known
	first   uint64         // first entry of the log
	damaged bool           // a fault was found; its consequences are not reported

	coverage coverage
	unknown  map[string]bool // keys reported as unknown
	records  *records
	grants   *effects
	info     posthouse.ThreadInfo // the fold of the entries
	witness  sighting
}

// newChain begins a chain before a thread's first entry. witness may be nil.
func newChain(thread string, ring *Ring, witness *Head) *chain {
	c := &chain{
		thread: thread, ring: ring, report: Report{Threads: 1, Keys: []KeyReport{}, Faults: []Fault{}}, unknown: map[string]bool{},
		records: newRecords(), grants: newEffects(), info: posthouse.ThreadInfo{Thread: thread},
	}
	c.witness.head, c.witness.there = witness.thread(thread)
	return c
}

func (c *chain) fault(kind FaultKind, seq uint64, record int, id posthouse.ID, format string, args ...any) {
	c.report.Faults = append(c.report.Faults, Fault{
		Kind: kind, Thread: c.thread, Seq: seq, Record: record, ID: id, Message: fmt.Sprintf(format, args...),
	})
}

// damage reports a fault of an entry that later entries build on.
func (c *chain) damage(kind FaultKind, seq uint64, format string, args ...any) {
	c.fault(kind, seq, -1, "", format, args...)
	c.damaged = true
}

func (c *chain) entry(x *examined) {
	e, recs, err := x.Entry, x.recs, x.err
	c.report.Entries++
	c.report.Bytes += int64(len(e.Header))
	if !c.place(e, recs) {
		return
	}
	sound := x.sum == e.Hash
	switch {
	case !sound:
		c.damage(FaultHash, e.Seq, "it does not have the hash it was written with")
	case err != nil:
		c.damage(FaultFormat, e.Seq, "%s", reason(err))
	}
	c.compareWitness(e)
	c.report.Records += len(recs)
	if err == nil {
		c.bodies(x)
	}
	sound = c.signature(x, sound) && sound
	c.prev, c.linked = e.Link(), sound // after a damaged entry, whether the next one follows is unknown
	if err == nil && !c.damaged {
		c.fold(e, recs)
	}
	c.next = e.Seq + 1
}

// place checks that e follows the entry before it. It reports whether to check e further.
func (c *chain) place(e *posthouse.Entry, recs []posthouse.Record) bool {
	switch {
	case e.Thread != c.thread:
		c.damage(FaultChain, e.Seq, "it belongs to thread %.200q", e.Thread)
	case e.Seq == 0:
		c.damage(FaultChain, 0, "an entry has no sequence number; they begin at 1")
		return false
	case c.bridge(e, recs):
	case c.next == 0 && e.Seq != 1 && !isFloor(recs):
		c.missing(1, e.Seq-1, fmt.Sprintf(", and entry %d does not attest their removal", e.Seq))
	case c.next == 0 && e.Seq == 1 && (!e.Prev.IsZero() || e.Generation != 1):
		c.damage(FaultChain, e.Seq, "it is the first, but follows another entry or begins at generation %d", e.Generation)
	case c.next != 0 && e.Seq < c.next:
		c.damage(FaultChain, e.Seq, "it comes again, or out of order: entry %d was expected", c.next)
		return false
	case c.next != 0 && e.Seq > c.next:
		c.missing(c.next, e.Seq-1, "")
		c.linked = false
		c.breakRun(e.Seq)
	case c.linked && c.prev != e.Prev:
		c.damage(FaultChain, e.Seq, "it does not follow entry %d: one of the two is not the one that was written", e.Seq-1)
		c.breakRun(e.Seq)
	}
	if c.next == 0 {
		c.first, c.coverage.from = e.Seq, e.Seq
	}
	return true
}

func (c *chain) missing(from, to uint64, why string) {
	are := "it is"
	if from < to {
		are = "they are"
	}
	c.damage(FaultMissing, from, "%s not there%s", are, why)
	c.report.Faults[len(c.report.Faults)-1].Through = to
}

// breakRun begins a new run of entries at seq. A signature covers only the entries before
// it in its own run.
func (c *chain) breakRun(seq uint64) {
	c.report.Covered += c.coverage.endRun()
	c.coverage.beginRun(seq)
}

func (c *chain) bodies(x *examined) {
	e, recs := x.Entry, x.recs
	if len(e.Bodies) != len(recs) && (e.Bodies != nil || !c.absent) {
		c.damage(FaultBody, e.Seq, "it has %d bodies for %d records", len(e.Bodies), len(recs))
		return
	}
	for i, body := range e.Bodies {
		r := &recs[i]
		switch {
		case len(body) == 0 && r.Size > 0:
			if !c.absent {
				c.records.absent = append(c.records.absent, absence{posthouse.BodyRef{Seq: e.Seq, Record: i}, idOf(r), r.Kind})
			}
			continue
		case !x.bodies[i]:
			c.fault(FaultBody, e.Seq, i, idOf(r), "the %s does not have the hash it was written with", r.Kind)
		}
		c.report.Bytes += int64(len(body))
	}
}

// idOf returns the id of the checkpoint, gate or signal that a record is about.
func idOf(r *posthouse.Record) posthouse.ID {
	switch {
	case r.Checkpoint != nil:
		return r.Checkpoint.ID
	case r.Gate != nil:
		return r.Gate.ID
	case r.Decision != nil:
		return r.Decision.Gate
	case r.Signal != nil:
		return r.Signal.ID
	case r.Vote != nil:
		return r.Vote.Gate
	case r.Assignment != nil:
		return r.Assignment.Gate
	case r.Notice != nil:
		return r.Notice.Gate
	}
	return ""
}

// signature checks the entry's signature, if it has one. It reports false if the signature
// is damaged. The signature of an entry that is not sound covers nothing.
func (c *chain) signature(x *examined, sound bool) bool {
	e, id, key, ok := x.Entry, x.sig.id, &x.sig.key, x.sig.known
	if c.coverage.isLate(e, c.next != 0 && e.Seq != c.next) {
		c.unsigned(e.Seq, -1, "", "what is a second and more after the last signature, or the beginning,")
	}
	if len(e.Sig) == 0 {
		return true
	}
	if x.sig.err != nil {
		c.damage(FaultSignature, e.Seq, "its signature does not decode")
		return false
	}
	k := c.report.key(id)
	k.Signatures++
	k.Known = ok
	switch {
	case !ok && len(c.ring.Keys()) == 0: // signatures are not checked
	case !ok && !c.unknown[id]:
		c.unknown[id] = true
		c.fault(FaultUnknownKey, e.Seq, -1, "", "it is signed by %.200q, which the ring does not have: this and what else the key signed in the thread is unverifiable", id)
	case !ok:
	case !x.sig.verify:
		c.damage(FaultSignature, e.Seq, "its signature by %s does not verify", id)
		return false
	case !key.InUse(e.Time()):
		c.fault(FaultKeyTime, e.Seq, -1, "", "it is signed by %s, which was not in use at its time, %s", id, e.Time().Format(time.RFC3339))
	default:
		k.Valid++
		if sound {
			c.coverage.sign(e.Seq)
		}
	}
	return true
}

// finish completes the report after the last entry.
func (c *chain) finish(requireSigned bool) {
	c.holesAttested()
	r := &c.report
	r.Covered += c.coverage.endRun()
	r.Uncovered = r.Entries - r.Covered
	if c.coverage.covered == 0 {
		r.Unsigned = 1
	}
	if requireSigned {
		r.Faults = append(r.Faults, c.coverage.pending...)
	}
	c.records.reportMissing(c)
	c.countEffects()
}

func (c *chain) summary() *ThreadReport {
	return &ThreadReport{
		Thread: c.thread, Entries: c.report.Entries, Last: max(c.next, 1) - 1, Signed: c.coverage.covered, Faults: len(c.report.Faults),
	}
}
