package sign

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// records collects what later records may refer to, and what the index must have.
type records struct {
	checkpoints map[posthouse.ID]place     // kept ones, by their newest revision
	at          map[uint64]posthouse.ID    // checkpoints by entry, also removed ones
	gates       map[posthouse.ID]gatePlace // gates that the index must have
	removed     map[posthouse.BodyRef]bool // bodies that a removal record lists
	absent      []absence
	fence       uint64
	signals     map[uint64]string       // names by entry
	newest      map[string]uint64       // entries by name
	releases    map[uint32]versionRange // the entries of each released version
	dropped     map[uint32]bool         // versions with a removal on record
	holes       []hole                  // versions that are missing, in the log's order
}

type place struct {
	seq      uint64
	revision uint32
	branch   string
	digest   [32]byte // of the header
}

type gatePlace struct {
	opened uint64
	hash   posthouse.Hash
	newest uint64 // entry of its decision, or opened
	trail  uint64 // entry of its newest vote, assignment or notice
	closed bool
}

type absence struct {
	ref  posthouse.BodyRef
	id   posthouse.ID
	kind posthouse.RecordKind
}

func newRecords() *records {
	return &records{
		checkpoints: map[posthouse.ID]place{}, at: map[uint64]posthouse.ID{},
		gates: map[posthouse.ID]gatePlace{}, removed: map[posthouse.BodyRef]bool{},
		signals: map[uint64]string{}, newest: map[string]uint64{},
		releases: map[uint32]versionRange{}, dropped: map[uint32]bool{},
	}
}

// isFloor reports whether the records attest the removal of everything before them.
func isFloor(recs []posthouse.Record) bool {
	return slices.ContainsFunc(recs, func(r posthouse.Record) bool { return r.Removal != nil && r.Removal.Whole })
}

// fold checks the records of an intact entry against those before, and applies the entry to
// the summary.
func (c *chain) fold(e *posthouse.Entry, recs []posthouse.Record) {
	for i := range recs {
		var b []byte
		if i < len(e.Bodies) && !recs[i].Sealed {
			b = e.Bodies[i]
		}
		switch r := &recs[i]; {
		case r.Checkpoint != nil:
			c.checkpoint(e, i, r.Checkpoint)
		case r.Gate != nil:
			c.gate(e, i, r.Gate, b)
		case r.Decision != nil:
			c.decision(e, i, r.Decision, b)
		case r.Vote != nil:
			c.vote(e, i, r.Vote, b)
		case r.Assignment != nil:
			c.assignment(e, i, r.Assignment, b)
		case r.Notice != nil:
			c.notice(e, i, r.Notice, b)
		case r.Claim != nil:
			c.claim(e, i, r.Claim)
		case r.Removal != nil:
			c.removal(e, i, r.Removal, b)
		case r.Signal != nil:
			c.signal(e, i, r.Signal)
		case r.Take != nil:
			c.checkTake(e, i, r.Take)
		case r.Release != nil:
			c.release(e, i, r.Release)
		}
	}
	c.effects(e, recs)
	if err := c.info.ApplyRecords(e, recs); err != nil {
		c.damage(FaultChain, e.Seq, "%s", reason(err))
	}
}

func (c *chain) wrong(seq uint64, record int, id posthouse.ID, format string, args ...any) {
	c.fault(FaultRecord, seq, record, id, format, args...)
}

func (c *chain) checkpoint(e *posthouse.Entry, i int, h *posthouse.Header) {
	s := c.records
	old, known := s.checkpoints[h.ID]
	switch {
	case known && h.Revision != old.revision+1:
		c.wrong(e.Seq, i, h.ID, "the checkpoint is already entry %d", old.seq)
	case !known && h.Revision != 0:
		c.wrong(e.Seq, i, h.ID, "the checkpoint is revision %d of one that is not there", h.Revision)
	}
	switch parent, ok := s.at[h.ParentSeq]; {
	case h.ParentSeq == 0 || c.lacks(h.ParentSeq):
	case h.ParentSeq < c.info.First:
		c.wrong(e.Seq, i, h.ID, "its parent %s belongs to a version that was released before", h.Parent)
	case h.ParentSeq >= e.Seq || !ok || parent != h.Parent:
		c.wrong(e.Seq, i, h.ID, "its parent %s is not in entry %d", h.Parent, h.ParentSeq)
	case h.Revision == 0:
		if p, kept := s.checkpoints[h.Parent]; !kept || p.seq != h.ParentSeq {
			c.wrong(e.Seq, i, h.ID, "its parent %s was removed or replaced before", h.Parent)
		}
		if b, ok := c.info.Branch(h.Branch); ok && b.Seq != h.ParentSeq {
			c.wrong(e.Seq, i, h.ID, "it does not continue branch %s, whose head was %s", h.Branch, b.Head)
		}
	}
	switch h.Status {
	case posthouse.StatusDone, posthouse.StatusFailed, posthouse.StatusCancelled:
		c.unsigned(e.Seq, i, h.ID, "the end of a run")
	}
	s.checkpoints[h.ID] = place{e.Seq, h.Revision, h.Branch, digest(h)}
	s.at[e.Seq] = h.ID
}

// digest hashes all fields of a header. JSON would take most of the time that verifying
// small entries takes.
func digest(h *posthouse.Header) [32]byte {
	b := make([]byte, 0, 512)
	num := func(u uint64) { b = binary.AppendUvarint(b, u) }
	str := func(s string) {
		num(uint64(len(s)))
		b = append(b, s...)
	}
	for _, s := range []string{
		string(h.ID), string(h.Parent), h.Thread, h.Coordination, h.Branch, h.Kind, string(h.Status), h.Run, h.Graph,
		h.Fingerprint, h.Node, h.Agent, h.By, h.Error,
	} {
		str(s)
	}
	num(uint64(len(h.Next)))
	for _, n := range h.Next {
		str(n)
	}
	num(uint64(len(h.Gates)))
	for _, g := range h.Gates {
		str(string(g))
	}
	if h.Source != nil {
		str(h.Source.Thread)
		str(string(h.Source.ID))
	}
	num(uint64(len(h.Labels)))
	for _, k := range slices.Sorted(maps.Keys(h.Labels)) {
		str(k)
		str(h.Labels[k])
	}
	for _, u := range []uint64{
		h.Step, uint64(h.CreatedAt.UnixNano()), uint64(h.Generation), h.Seq, h.ParentSeq, uint64(h.Revision), uint64(h.Size),
		uint64(h.Began.UnixNano()), uint64(h.Took), uint64(h.Attempts),
	} {
		num(u)
	}
	return sha256.Sum256(append(append(b, h.Hash[:]...), h.Order[:]...))
}

func (c *chain) gate(e *posthouse.Entry, i int, g *posthouse.GateInfo, body []byte) {
	if _, known := c.records.gates[g.ID]; known {
		c.wrong(e.Seq, i, g.ID, "the gate was opened before")
	}
	var content posthouse.Gate
	settles := func(v posthouse.Verdict) bool { return v.Info().Settle }
	if len(body) > 0 && (json.Unmarshal(body, &content) != nil || content.ID != g.ID || content.Name != g.Name || slices.ContainsFunc(content.Verdicts, settles) != g.Settles) {
		c.wrong(e.Seq, i, g.ID, "the gate's body is about another question")
	}
	c.records.gates[g.ID] = gatePlace{opened: e.Seq, hash: e.Hash, newest: e.Seq}
	c.grants.opened(g, &content, len(body) > 0)
	c.own(e.Seq, i, g.ID, "the question")
}

func (c *chain) decision(e *posthouse.Entry, i int, d *posthouse.DecideInfo, body []byte) {
	g, ok := c.records.gates[d.Gate]
	switch {
	case c.lacks(d.GateSeq):
	case !ok || g.opened != d.GateSeq:
		c.wrong(e.Seq, i, d.Gate, "the decision is about a gate that is not in entry %d", d.GateSeq)
	case g.closed:
		c.wrong(e.Seq, i, d.Gate, "the gate was decided before, at entry %d", g.newest)
	}
	var content posthouse.Decision
	switch {
	case len(body) == 0:
	case json.Unmarshal(body, &content) != nil || content.Gate != d.Gate || content.Verdict != d.Verdict || content.By != d.By:
		c.wrong(e.Seq, i, d.Gate, "the decision's body says something else than its header")
	case !content.Shown.IsZero() && ok && content.Shown != g.hash:
		c.wrong(e.Seq, i, d.Gate, "the decision was made on something else than what entry %d holds", g.opened)
	case ok && content.Trail != g.trail:
		c.wrong(e.Seq, i, d.Gate, "the decision follows votes up to entry %d, and the log has them up to %d", content.Trail, g.trail)
	}
	if !ok && c.lacks(d.GateSeq) { // of a dropped version: its release decided the gate
		g.opened = d.GateSeq
	}
	c.grants.decided(d)
	g.newest, g.closed = e.Seq, true
	c.records.gates[d.Gate] = g
	c.own(e.Seq, i, d.Gate, "the decision")
}

func (c *chain) vote(e *posthouse.Entry, i int, v *posthouse.VoteInfo, body []byte) {
	c.trail(e, i, v.Gate, v.GateSeq, v.Prior, "vote")
	var content posthouse.Decision
	if len(body) > 0 && (json.Unmarshal(body, &content) != nil || content.Gate != v.Gate || content.Verdict != v.Verdict || content.By != v.By) {
		c.wrong(e.Seq, i, v.Gate, "the vote's body says something else than its header")
	}
}

func (c *chain) assignment(e *posthouse.Entry, i int, a *posthouse.AssignInfo, body []byte) {
	c.trail(e, i, a.Gate, a.GateSeq, a.Prior, "assignment")
	var content posthouse.Assignment
	if len(body) > 0 && (json.Unmarshal(body, &content) != nil || content.Gate != a.Gate || content.By != a.By || content.Escalation != a.Escalation || content.TakesBack != a.TakesBack) {
		c.wrong(e.Seq, i, a.Gate, "the assignment's body says something else than its header")
	}
}

func (c *chain) notice(e *posthouse.Entry, i int, n *posthouse.NoticeInfo, body []byte) {
	c.trail(e, i, n.Gate, n.GateSeq, n.Prior, "notice")
	var content posthouse.Notice
	if len(body) > 0 && (json.Unmarshal(body, &content) != nil || content.Gate != n.Gate || content.By != n.By || content.Kind != n.Kind || !content.Until.Equal(n.Until)) {
		c.wrong(e.Seq, i, n.Gate, "the notice's body says something else than its header")
	}
}

// trail checks that a vote, an assignment or a notice of an open gate follows the one before it.
// So it cannot be left out.
func (c *chain) trail(e *posthouse.Entry, i int, id posthouse.ID, opened, prior uint64, what string) {
	g, ok := c.records.gates[id]
	switch {
	case !ok || g.opened != opened:
		c.wrong(e.Seq, i, id, "the %s is about a gate that is not in entry %d", what, opened)
	case g.closed:
		c.wrong(e.Seq, i, id, "the %s comes after the gate was decided, at entry %d", what, g.newest)
	case g.trail != prior && g.trail != e.Seq:
		c.wrong(e.Seq, i, id, "the %s follows entry %d, and the newest vote, assignment or notice is in entry %d", what, prior, g.trail)
	}
	if ok {
		g.trail = e.Seq
		c.records.gates[id] = g
	}
	c.own(e.Seq, i, id, "the "+what)
}

// own reports a record that asks, decides, removes or releases if its entry has no valid signature of
// its own. Writers with a key always sign it. So after the thread's first signature a writer that has no key
// wrote it, and a later signature does not count for it: the server that makes that one did not write
// this. Before the first signature, where writers may have had no key, a later one counts.
func (c *chain) own(seq uint64, record int, id posthouse.ID, what string) {
	if c.coverage.signed == seq || !c.coverage.ever {
		c.unsigned(seq, record, id, what)
		return
	}
	c.fault(FaultUnsigned, seq, record, id, "%s has no signature of its own, after entries that are signed: a later signature does not count for it", what)
}

// unsigned adds a record that VerifyOptions.RequireSigned wants covered.
func (c *chain) unsigned(seq uint64, record int, id posthouse.ID, what string) {
	if c.coverage.signed != seq {
		c.coverage.pending = append(c.coverage.pending, Fault{
			Kind: FaultUnsigned, Thread: c.thread, Seq: seq, Record: record, ID: id, Message: what + " is covered by no signature",
		})
	}
}

func (c *chain) claim(e *posthouse.Entry, i int, claim *posthouse.ClaimInfo) {
	s := c.records
	switch {
	case claim.Unclaim && claim.Fence != s.fence:
		c.wrong(e.Seq, i, "", "it gives back fence %d, but %d is the newest", claim.Fence, s.fence)
	case !claim.Unclaim && claim.Fence <= s.fence:
		c.wrong(e.Seq, i, "", "it claims fence %d, which does not grow from %d", claim.Fence, s.fence)
	}
	s.fence = max(s.fence, claim.Fence)
}

func (c *chain) signal(e *posthouse.Entry, i int, g *posthouse.SignalInfo) {
	s := c.records
	if strings.HasPrefix(g.Name, "$") {
		return // a request to the runtime, which is never taken
	}
	if g.Prev != s.newest[g.Name] {
		c.wrong(e.Seq, i, g.ID, "it follows signal %s of entry %d, but the newest is that of entry %d", g.Name, g.Prev, s.newest[g.Name])
	}
	s.newest[g.Name], s.signals[e.Seq] = e.Seq, g.Name
}

func (c *chain) checkTake(e *posthouse.Entry, i int, k *posthouse.TakeInfo) {
	if name, ok := c.records.signals[k.Signal]; (!ok || name != k.Name) && !c.lacks(k.Signal) {
		c.wrong(e.Seq, i, "", "it takes signal %s from entry %d, which does not hold it", k.Name, k.Signal)
	}
	if g, ok := c.records.gates[k.Gate]; ok && !g.closed {
		c.wrong(e.Seq, i, k.Gate, "it returns a signal of a wait that is open")
	}
}

func (c *chain) removal(e *posthouse.Entry, i int, m *posthouse.RemovalInfo, body []byte) {
	s := c.records
	c.own(e.Seq, i, "", "the removal")
	if m.Version != 0 {
		c.drop(e, i, m)
	}
	if m.Whole {
		c.report.Removed += len(s.absent)
		fence := s.fence
		*s = *newRecords()
		s.fence = fence
		c.grants = newEffects()
		return
	}
	for _, id := range m.Gates {
		delete(s.gates, id)
	}
	if len(body) == 0 {
		return // the missing body is reported
	}
	var list posthouse.RemovedList
	if err := json.Unmarshal(body, &list); err != nil {
		c.wrong(e.Seq, i, "", "the list of what was removed does not decode: %s", reason(err))
		return
	}
	if n := m.Count + m.Archived; m.Version == 0 && len(list.Checkpoints) != n {
		c.wrong(e.Seq, i, "", "it removes %d checkpoints and lists %d", n, len(list.Checkpoints))
	}
	for _, r := range list.Checkpoints {
		if p, ok := s.checkpoints[r.ID]; !ok || p.seq != r.Seq {
			c.wrong(e.Seq, i, r.ID, "it removes a checkpoint that is not in entry %d", r.Seq)
			continue
		}
		delete(s.checkpoints, r.ID)
	}
	for _, ref := range list.Bodies {
		s.removed[ref] = true
	}
}

// reportMissing reports missing bodies that no removal lists.
func (s *records) reportMissing(c *chain) {
	for _, a := range s.absent {
		if s.removed[a.ref] {
			c.report.Removed++
			continue
		}
		c.fault(FaultMissing, a.ref.Seq, a.ref.Record, a.id, "the %s has no body, and no removal lists it", a.kind)
	}
}
