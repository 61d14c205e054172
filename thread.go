package posthouse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// A ThreadInfo is a thread's summary: derived from its log by [ThreadInfo.Apply],
// stored beside it in the same commit, and rebuilt from it when in doubt.
type ThreadInfo struct {
	Thread       string        `json:"thread"`
	Generation   uint32        `json:"generation"`
	First        uint64        `json:"first"`              // the generation's first entry
	Releases     int           `json:"releases,omitempty"` // number of released generations; the newest release is entry First-1
	Tail         Position      `json:"tail"`
	Link         Hash          `json:"-"` // what the next entry's Prev must be
	Status       Status        `json:"status"`
	Graph        string        `json:"graph,omitempty"`
	Coordination string        `json:"coordination,omitempty"`
	Branches     []BranchHead  `json:"branches,omitempty"` // main first, then by name; lists.SortBranches has the order for people
	Waiting      []WaitingGate `json:"waiting,omitempty"`  // open gates, oldest first
	Due          Millis        `json:"due,omitempty"`      // when the next gate expires, escalates or reminds, or the next timer fires; 0: never
	Signals      []SignalMark  `json:"signals,omitempty"`  // the newest signal of each name, ordered by each name's first signal
	Taken        []SignalTake  `json:"taken,omitempty"`    // how far each branch took them
	Cancelling   []CancelMark  `json:"cancelling,omitempty"`
	Hold         Hold          `json:"hold,omitzero"` // nothing of the thread may be removed
	Lease        Lease         `json:"lease,omitzero"`
	Checkpoints  int           `json:"checkpoints"`        // of the current generation
	Archived     int           `json:"archived,omitempty"` // of released ones
	Created      Millis        `json:"created"`
	Updated      Millis        `json:"updated"`          // of the last entry, rounded down to the minute, but not before Created
	Signed       uint64        `json:"signed"`           // the newest signed entry
	Sealed       bool          `json:"sealed,omitempty"` // bodies of this generation are encrypted
	Ended        uint64        `json:"ended,omitempty"`  // the newest removal that ended a branch of this generation
	Births       []Birth       `json:"births,omitempty"` // of branches that began after such a removal, by name

	// Labels are those that the generation's newest input, save or update with labels gave, else
	// those that its first fork has. They stay when that checkpoint goes, as the program's name does.
	Labels map[string]string `json:"labels,omitempty"`
	Noted  uint64            `json:"noted,omitempty"` // the newest entry with a note that has a line for people
	Begun  []BegunEffect     `json:"begun,omitempty"` // effects on the world that began and have no result on record, oldest first

	// Dated says that a version wrote the summary that kept neither Labels nor Noted nor Begun,
	// and that they are not complete. [ThreadInfo.Recall] completes them.
	Dated bool `json:"-"`
}

// A WaitingGate is an open gate in a summary.
type WaitingGate struct {
	ID        ID        `json:"id"`
	Branch    string    `json:"branch"`
	Seq       uint64    `json:"seq"` // of the entry that opened it
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	Kind      string    `json:"kind"`
	Signal    string    `json:"signal,omitempty"` // of [GateSignal]: what it waits for
	Latch     bool      `json:"latch,omitempty"`

	EscalateAt time.Time `json:"escalateAt,omitzero"` // zero once the escalation is on record
	RemindAt   time.Time `json:"remindAt,omitzero"`   // the next reminder
	Trail      uint64    `json:"trail,omitempty"`     // the entry of its newest vote, assignment or notice
	Audience   *Audience `json:"-"`                   // who may decide it; nil if only the gate says so
}

// A BranchHead is where a branch ends.
type BranchHead struct {
	Branch string `json:"branch"`
	Head   ID     `json:"head"`
	Seq    uint64 `json:"seq"`
	Status Status `json:"status,omitempty"`
}

// A Lease is the right to append to a thread. Fence grows with each claim; an
// append under an older fence fails with [ErrFenced].
type Lease struct {
	Owner string `json:"owner"`
	Fence uint64 `json:"fence"`
	Run   string `json:"run,omitempty"`
	Held  bool   `json:"held"`
}

// CoordinationName returns the coordination of the thread's newest checkpoint: the
// thread's own name unless that says otherwise.
func (t *ThreadInfo) CoordinationName() string { return cmp.Or(t.Coordination, t.Thread) }

// Branch returns the head of a branch.
func (t *ThreadInfo) Branch(name string) (BranchHead, bool) { return headOf(t.Branches, name) }

// Runnable reports whether a runner should look at the thread. A branch can run, or has
// a request to cancel that may have lost its receiver.
func (t *ThreadInfo) Runnable() bool {
	return len(t.Cancelling) > 0 || slices.ContainsFunc(t.Branches, func(b BranchHead) bool { return b.Status.Runnable() })
}

// Absent returns the error of a thread that is gone. It says where its versions are.
func (t *ThreadInfo) Absent() *Error {
	e := NotFound("thread", t.Thread)
	if t.Releases > 0 {
		e.Message = fmt.Sprintf("thread %q was released, and nothing has begun under its name since", t.Thread)
		e.Hint = "see its versions: posthouse thread versions " + t.Thread + ", or Ledger.Releases"
	}
	return e
}

// Gone reports that a thread's name is free: all of it was removed or released.
func (t *ThreadInfo) Gone() bool {
	return len(t.Branches) == 0 && t.Checkpoints == 0 && !slices.ContainsFunc(t.Signals, func(m SignalMark) bool { return !isMark(m.Name) })
}

// Apply folds one more entry into the summary. The entry must follow the tail, or hold
// the release of a dropped generation that follows it; [ErrCorrupt] otherwise.
func (t *ThreadInfo) Apply(e *Entry) error {
	h, err := e.decode()
	if err != nil {
		return err
	}
	return t.applyNext(e, &h)
}

// ApplyRecords applies an entry with records that [Entry.Records] decoded.
func (t *ThreadInfo) ApplyRecords(e *Entry, records []Record) error {
	return t.applyNext(e, &entryHeader{time: e.Time(), records: records})
}

func (t *ThreadInfo) applyNext(e *Entry, h *entryHeader) error {
	follows := e.Seq == t.Tail.Seq+1 && e.Prev == t.Link
	if r := h.release(); r != nil && e.Seq > r.First && r.First == t.Tail.Seq+1 {
		follows = r.Base == t.Link
	}
	if t.Tail.Seq != 0 && (!follows || e.Generation != t.Generation) {
		return Corrupt("entry %d of thread %q does not follow entry %d", e.Seq, e.Thread, t.Tail.Seq)
	}
	t.apply(e, h)
	return nil
}

func (t *ThreadInfo) apply(e *Entry, h *entryHeader) {
	at := Millis(h.time.UnixMilli())
	if t.Tail.Seq == 0 {
		t.Thread, t.Created = e.Thread, at
	}
	t.First = max(t.First, 1)
	t.Generation, t.Tail, t.Link = e.Generation, Position{e.Seq, e.Hash}, e.Link()
	t.Updated = max(at-at%60000, t.Created)
	if len(e.Sig) > 0 {
		t.Signed = e.Seq
	}
	for i := range h.records {
		t.Sealed = t.Sealed || h.records[i].Sealed
		t.face(&h.records[i], e.Seq)
		switch r := &h.records[i]; {
		case r.Checkpoint != nil:
			t.applyCheckpoint(r.Checkpoint, e.Seq)
		case r.Gate != nil:
			t.Waiting = append(slices.Clip(t.Waiting), r.Gate.waiting(e.Seq))
		case r.Decision != nil:
			t.applyDecision(r.Decision, e.Seq)
		case r.Vote != nil, r.Assignment != nil, r.Notice != nil:
			t.applyTrail(r, e.Seq)
		case r.Audience != nil:
			t.applyAudience(r.Audience)
		case r.Claim != nil:
			c := r.Claim
			t.Lease = Lease{Owner: c.Owner, Fence: c.Fence, Run: c.Run, Held: !c.Unclaim}
		case r.Signal != nil:
			t.applySignal(r.Signal, e.Seq, at)
		case r.Take != nil:
			t.applyTake(r.Take, e.Seq)
		case r.Removal != nil:
			t.applyRemoval(r.Removal)
			if r.Removal.Whole {
				t.Releases, t.Archived = 0, 0
				t.startGeneration(at)
			}
		case r.Release != nil:
			t.Releases, t.Archived, t.Lease.Fence = t.Releases+1, t.Archived+r.Release.Checkpoints, r.Release.Fence
			hold := t.Hold
			t.startGeneration(at)
			t.Hold = hold // it is the thread's
		}
	}
	t.deriveStatus()
}

// startGeneration makes t the summary of the next generation, which the next save under this name
// begins. It must depend on the release record alone, so that it can be rebuilt when
// only that is left. Fence numbers keep growing.
func (t *ThreadInfo) startGeneration(at Millis) {
	*t = ThreadInfo{
		Thread: t.Thread, Generation: t.Generation + 1, First: t.Tail.Seq + 1, Releases: t.Releases, Archived: t.Archived,
		Tail: t.Tail, Link: t.Link, Lease: Lease{Fence: t.Lease.Fence}, Created: at, Updated: max(t.Updated, at), Signed: t.Signed,
	}
	if t.Signed != t.Tail.Seq {
		t.Signed = 0
	}
}

func (t *ThreadInfo) applyCheckpoint(c *Header, seq uint64) {
	if c.Revision == 0 {
		t.Checkpoints++
	} else if b, ok := t.Branch(c.Branch); !ok || b.Head != c.ID {
		return // a new revision of what is not the head
	}
	if c.Graph != "" {
		t.Graph = c.Graph
	}
	t.Coordination = ""
	if c.Coordination != t.Thread {
		t.Coordination = c.Coordination
	}
	t.setBranch(BranchHead{c.Branch, c.ID, seq, c.Status})
	if IsOver(c.Status) {
		t.cancelled(c.Branch)
	}
	if c.Status != StatusRunning {
		t.Lease.Held = false // parked or ended: no run has it now
	}
}

// applyDecision makes the branch ready, unless its own entry opened the gate: then a
// fork copied question and answer. A session's answer makes nothing ready: who asked
// waits in memory, or is gone. Nor does a task's, where its entry opened the next attempt.
func (t *ThreadInfo) applyDecision(d *DecideInfo, seq uint64) {
	i := slices.IndexFunc(t.Waiting, func(w WaitingGate) bool { return w.ID == d.Gate })
	if i < 0 {
		return
	}
	w := t.Waiting[i]
	t.Waiting = slices.Delete(slices.Clone(t.Waiting), i, i+1)
	attempt := func(o WaitingGate) bool { return o.Kind == GateTask && o.Seq == seq && o.Branch == w.Branch }
	if w.Kind == GateTask && slices.ContainsFunc(t.Waiting, attempt) {
		return
	}
	if b, ok := t.Branch(w.Branch); ok && b.Status == StatusWaiting && w.Seq != seq {
		b.Status = StatusReady
		if w.Kind == GateSession && !slices.ContainsFunc(t.Waiting, func(o WaitingGate) bool { return o.Branch == w.Branch }) {
			b.Status = StatusDone
			t.cancelled(b.Branch)
		}
		t.setBranch(b)
	}
}

// applyTrail notes a vote, an assignment or a notice. The gate still waits.
func (t *ThreadInfo) applyTrail(r *Record, seq uint64) {
	gate, _, _, _ := r.Trail()
	i := slices.IndexFunc(t.Waiting, func(w WaitingGate) bool { return w.ID == gate })
	if i < 0 {
		return
	}
	t.Waiting = slices.Clone(t.Waiting)
	t.Waiting[i].Trail = seq
	if r.Assignment != nil && r.Assignment.Escalation {
		t.Waiting[i].EscalateAt = time.Time{}
	}
	if r.Notice != nil && r.Notice.Kind == NoticeReminder {
		t.Waiting[i].RemindAt = r.Notice.Until
	}
}

func (t *ThreadInfo) applyRemoval(m *RemovalInfo) {
	t.Checkpoints, t.Archived = t.Checkpoints-m.Count, t.Archived-m.Archived
	if m.Version != 0 {
		t.Archived = m.Left // m counts all removals: the records of some may be gone with their versions
	}
	for _, h := range m.Heads {
		if h.Head == "" {
			t.Branches = slices.DeleteFunc(slices.Clone(t.Branches), func(b BranchHead) bool { return b.Branch == h.Branch })
			t.Taken = slices.DeleteFunc(slices.Clone(t.Taken), func(k SignalTake) bool { return k.Branch == h.Branch })
			t.cancelled(h.Branch)
			t.branchEnded(h)
			continue
		}
		t.setBranch(h)
	}
	t.Waiting = slices.DeleteFunc(slices.Clone(t.Waiting), func(w WaitingGate) bool { return slices.Contains(m.Gates, w.ID) })
}

// setBranch sets a head in a new slice: copies of t may share the old one.
func (t *ThreadInfo) setBranch(h BranchHead) {
	i := slices.IndexFunc(t.Branches, func(b BranchHead) bool { return b.Branch == h.Branch })
	bs := slices.Clone(t.Branches)
	switch {
	case i >= 0:
		bs[i] = h
	default:
		i, _ = slices.BinarySearchFunc(bs, h, func(a, b BranchHead) int {
			switch {
			case a.Branch == b.Branch:
				return 0
			case a.Branch == MainBranch || b.Branch != MainBranch && a.Branch < b.Branch:
				return -1
			}
			return 1
		})
		bs = slices.Insert(bs, i, h)
		t.born(h.Branch)
	}
	t.Branches = bs
}

// deriveStatus derives the thread's status and due time: from open gates first, then from
// what can run, then from main.
func (t *ThreadInfo) deriveStatus() {
	t.Status, t.Due = StatusSaved, 0
	for i := range t.Branches {
		s := t.Branches[i].Status
		if i == 0 || s == StatusWaiting || s.Runnable() && t.Status != StatusWaiting {
			t.Status = s
		}
	}
	for _, w := range t.Waiting {
		for _, at := range [...]time.Time{w.ExpiresAt, w.EscalateAt, w.RemindAt} {
			if ms := Millis(at.UnixMilli()); !at.IsZero() && (t.Due == 0 || ms < t.Due) {
				t.Due = ms
			}
		}
	}
}

// MarshalBinary encodes the summary canonically, for a store to keep.
func (t *ThreadInfo) MarshalBinary() ([]byte, error) { return t.AppendBinary(nil) }

// AppendBinary appends the encoding of MarshalBinary to b.
func (t *ThreadInfo) AppendBinary(b []byte) ([]byte, error) {
	var f fields
	format := byte(summaryFormat)
	if t.Dated {
		format = entryFormat
	}
	f.Write(append(b, format))
	t.fields(&f)
	return f.Written(), nil
}

// UnmarshalBinary decodes what MarshalBinary encoded, or fails with [ErrCorrupt].
func (t *ThreadInfo) UnmarshalBinary(data []byte) error {
	f := fieldsOf(data)
	format := f.Byte()
	if format != entryFormat && format != summaryFormat {
		f.Fail("format %d", format)
	}
	*t = ThreadInfo{Dated: format == entryFormat}
	t.fields(f)
	t.Updated = max(t.Updated, t.Created) // older versions wrote the minute as it was
	if err := f.Done(); err != nil {
		return Corrupt("the summary of a thread does not decode: %v", err)
	}
	return nil
}

func (t *ThreadInfo) fields(f *fields) {
	f.Text(&t.Thread)
	f.Number32(&t.Generation)
	f.Number(&t.First)
	f.Total(&t.Releases)
	canon.Signed(&f.Fields, &t.Archived)
	f.Number(&t.Tail.Seq)
	f.Fixed(t.Tail.Hash[:])
	f.Fixed(t.Link[:])
	canon.Code(&f.Fields, &t.Status, statusCodes)
	f.Text(&t.Graph)
	f.Text(&t.Coordination)
	f.heads(&t.Branches)
	canon.List(&f.Fields, &t.Waiting, func(w *WaitingGate) { w.fields(f) })
	t.signals(f)
	t.Hold.fields(f)
	f.millis(&t.Due)
	f.Text(&t.Lease.Owner)
	f.Number(&t.Lease.Fence)
	f.Text(&t.Lease.Run)
	f.Flag(&t.Lease.Held)
	canon.Signed(&f.Fields, &t.Checkpoints)
	f.millis(&t.Created)
	f.millis(&t.Updated)
	f.Number(&t.Signed)
	f.Flag(&t.Sealed)
	if !t.Dated {
		t.faceFields(f)
	}
	t.audiences(f)
	t.births(f)
	t.reminders(f)
}

func (w *WaitingGate) fields(f *fields) {
	f.gateID(&w.ID)
	f.branch(&w.Branch)
	f.Number(&w.Seq)
	f.Moment(&w.ExpiresAt)
	f.Moment(&w.EscalateAt)
	f.Number(&w.Trail)
	f.awaited(&w.Kind, &w.Signal, &w.Latch)
}

// A Birth says that a branch began after a branch of its thread's generation was deleted. So it is
// another one than a deleted branch of its name, and its steps have other keys.
type Birth struct {
	Branch string `json:"branch"`
	After  uint64 `json:"after"` // the entry of the newest removal before it that ended a branch
}

// Birth returns the entry of the newest removal before the branch began that ended a branch of the
// thread's generation, 0 if there was no such removal. For a branch that does not exist it is as
// if it began now. Removals of earlier versions do not count.
func (t *ThreadInfo) Birth(branch string) uint64 {
	if i := slices.IndexFunc(t.Births, func(b Birth) bool { return b.Branch == branch }); i >= 0 {
		return t.Births[i].After
	}
	if _, ok := t.Branch(branch); ok {
		return 0
	}
	return t.Ended
}

// born notes a branch that begins.
func (t *ThreadInfo) born(branch string) {
	if t.Ended == 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(t.Births, branch, func(b Birth, name string) int { return strings.Compare(b.Branch, name) })
	t.Births = slices.Insert(slices.Clone(t.Births), i, Birth{branch, t.Ended})
}

// branchEnded notes that the newest entry removed a branch: h is its head there, without an id.
// Earlier versions wrote no entry of it: branches that began after that keep their keys.
func (t *ThreadInfo) branchEnded(h BranchHead) {
	if h.Seq != 0 {
		t.Ended = t.Tail.Seq
	}
	t.Births = slices.DeleteFunc(slices.Clone(t.Births), func(b Birth) bool { return b.Branch == h.Branch })
}

// births are what is known of deleted branches, at the end of a summary. Summaries without any
// end before it, as in earlier versions.
func (t *ThreadInfo) births(f *fields) {
	if f.Writing() && t.Ended == 0 && !t.reminds() || !f.Writing() && (f.Err() != nil || f.Len() == 0) {
		return
	}
	f.Number(&t.Ended)
	canon.List(&f.Fields, &t.Births, func(b *Birth) {
		f.branch(&b.Branch)
		f.Number(&b.After)
	})
	if !f.Writing() && t.Ended == 0 && (f.Len() == 0 || len(t.Births) > 0) {
		f.Fail("a deleted branch without an entry")
	}
}

func (t *ThreadInfo) reminds() bool {
	return slices.ContainsFunc(t.Waiting, func(w WaitingGate) bool { return !w.RemindAt.IsZero() })
}

// reminders are the next reminders of waiting gates, at the end of a summary. A summary without
// any ends before them.
func (t *ThreadInfo) reminders(f *fields) {
	if f.Writing() && !t.reminds() || !f.Writing() && (f.Err() != nil || f.Len() == 0) {
		return
	}
	for i := range t.Waiting {
		f.Moment(&t.Waiting[i].RemindAt)
	}
	if !f.Writing() && !t.reminds() {
		f.Fail("no reminders")
	}
}
