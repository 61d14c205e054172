package posthouse

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// An AudienceInfo says who may decide an open gate from then on, by marks of their
// names. The entry that opens the gate, or moves the right to decide it, holds one.
// Summaries keep the marks, so that a person's inbox is found without reading the gates
// of others. A mark only finds a gate: the gate itself says who may decide.
//
// A gate that is open to anyone has no such record. A sealed thread has no such
// records: assignees stay hidden there.
type AudienceInfo struct {
	Gate   ID       `json:"gate"`
	Anyone bool     `json:"anyone,omitempty"` // no marks; earlier marks no longer count
	Marks  []uint64 `json:"-"`                // [PersonMark] of each, ascending
}

const domainPerson = "posthouse/person/1"

// PersonMark returns the mark of a person's name in an [AudienceInfo].
func PersonMark(name string) uint64 {
	h := canon.Hash(domainPerson, []byte(name))
	return binary.BigEndian.Uint64(h[:])
}

// InInbox reports whether the inbox shows gates of a kind: those that people decide
// outside a session.
func InInbox(kind string) bool { return AsksPeople(kind) && kind != GateSession }

// WaitingFor returns the waiting gate with an id, or nil.
func (t *ThreadInfo) WaitingFor(gate ID) *WaitingGate {
	i := slices.IndexFunc(t.Waiting, func(w WaitingGate) bool { return w.ID == gate })
	if i < 0 {
		return nil
	}
	return &t.Waiting[i]
}

func (t *ThreadInfo) applyAudience(m *AudienceInfo) {
	if t.WaitingFor(m.Gate) == nil {
		return
	}
	t.Waiting = slices.Clone(t.Waiting)
	w := t.WaitingFor(m.Gate)
	w.Audience = nil
	if !m.Anyone {
		w.Audience = &Audience{marks: m.Marks}
	}
}

// An Audience is who may decide a waiting gate, as marks. It never changes.
type Audience struct {
	marks []uint64 // ascending
}

// Marks yields the marks in ascending order.
func (a *Audience) Marks() iter.Seq[uint64] { return slices.Values(a.marks) }

// Has reports whether the audience has a mark.
func (a *Audience) Has(mark uint64) bool {
	_, ok := slices.BinarySearch(a.marks, mark)
	return ok
}

func (m *AudienceInfo) fields(f *fields) {
	f.gateID(&m.Gate)
	f.Flag(&m.Anyone)
	if f.Ascending(&m.Marks, "marks"); !f.Writing() && m.Anyone && len(m.Marks) > 0 {
		f.Fail("an audience of anyone, with marks")
	}
}

// audiences are the known ones of the waiting gates, at the end of a summary. Summaries of
// earlier versions end before them.
func (t *ThreadInfo) audiences(f *fields) {
	if f.Writing() {
		t.writeAudiences(f)
		return
	}
	if f.Err() != nil || f.Len() == 0 {
		return
	}
	next, n := uint64(0), 0
	for range f.Items() {
		i, a := f.Uint(), &Audience{}
		if f.Ascending(&a.marks, "marks"); i < next || i >= uint64(len(t.Waiting)) {
			f.Fail("the audience of gate %d", i)
			return
		}
		t.Waiting[i].Audience = a
		next, n = i+1, n+1
	}
	if n == 0 && f.Err() == nil && f.Len() == 0 {
		f.Fail("no audiences")
	}
}

func (t *ThreadInfo) writeAudiences(f *fields) {
	n := uint64(0)
	for i := range t.Waiting {
		if t.Waiting[i].Audience != nil {
			n++
		}
	}
	if n == 0 && t.Ended == 0 && !t.reminds() {
		return
	}
	f.Number(&n)
	for i := range t.Waiting {
		if a := t.Waiting[i].Audience; a != nil {
			at := uint64(i)
			f.Number(&at)
			f.Ascending(&a.marks, "marks")
		}
	}
}
