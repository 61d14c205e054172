package posthouse

import (
	"encoding/binary"
	"slices"

	"github.com/posthouse/posthouse/internal/canon"
)

// An AudienceInfo says who may decide an open gate from then on, by marks of their
// names. It has no body, and stands in the
// entry that opens the gate or moves the right to decide it. Summaries have the
// marks, so that the inbox of a person is found without reading the gates of
// others. A mark only finds: who may decide is what the gate itself says.
//
// Gates that are open to anyone have no such record. In a sealed thread no gate
// has: there it is not to be seen whom a gate was assigned to.
type AudienceInfo struct {
	Gate   ID       `json:"gate"`
	Anyone bool     `json:"anyone,omitempty"` // no marks: those of before do not count any more
	Marks  []uint64 `json:"-"`                // [PersonMark] of each, ascending
}

const domainPerson = "posthouse/person/1"

// PersonMark returns the mark of a person's name in an [AudienceInfo].
func PersonMark(name string) uint64 {
	h := canon.Hash(domainPerson, []byte(name))
	return binary.BigEndian.Uint64(h[:])
}

// InInbox reports whether gates of a kind are in the inbox: people decide them,
// and not in a session.
func InInbox(kind string) bool { return AsksPeople(kind) && kind != GateSession }

// WaitingFor returns an open gate, nil if it is none.
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
	if w.Audience = nil; !m.Anyone {
		w.Audience = &Audience{marks: m.Marks}
	}
}

// An Audience is who may decide a waiting gate, as marks. It never changes.
type Audience struct {
	marks []uint64 // ascending
}

// Has reports whether a mark is among them.
func (a *Audience) Has(mark uint64) bool {
	_, ok := slices.BinarySearch(a.marks, mark)
	return ok
}

func (m *AudienceInfo) append(b []byte) []byte {
	return appendMarks(appendBool(appendGateID(b, m.Gate), m.Anyone), m.Marks)
}

func readAudience(r *decoder) *AudienceInfo {
	m := &AudienceInfo{Gate: readGateID(r), Anyone: readBool(r), Marks: readMarks(r)}
	if m.Anyone && len(m.Marks) > 0 {
		r.Fail("an audience of anyone, with marks")
	}
	return m
}

func appendMarks(b []byte, marks []uint64) []byte {
	b = canon.AppendUint(b, uint64(len(marks)))
	for _, m := range marks {
		b = binary.BigEndian.AppendUint64(b, m)
	}
	return b
}

func readMarks(r *decoder) (marks []uint64) {
	for i := range r.Items() {
		m := uint64(0)
		if b := r.Raw(8); b != nil {
			m = binary.BigEndian.Uint64(b)
		}
		if i > 0 && m <= marks[i-1] {
			r.Fail("marks that do not ascend")
		}
		marks = append(marks, m)
	}
	return marks
}

// appendAudiences writes who may decide the waiting gates, where that is known,
// behind the rest of a summary. Summaries of before end without it.
func (t *ThreadInfo) appendAudiences(b []byte) []byte {
	n := 0
	for i := range t.Waiting {
		if t.Waiting[i].Audience != nil {
			n++
		}
	}
	if n == 0 {
		return b
	}
	b = canon.AppendUint(b, uint64(n))
	for i := range t.Waiting {
		if a := t.Waiting[i].Audience; a != nil {
			b = appendMarks(canon.AppendUint(b, uint64(i)), a.marks)
		}
	}
	return b
}

func (t *ThreadInfo) readAudiences(r *decoder) {
	if r.Err() != nil || r.Len() == 0 {
		return
	}
	next, n := uint64(0), 0
	for range r.Items() {
		i, marks := r.Uint(), readMarks(r)
		if i < next || i >= uint64(len(t.Waiting)) {
			r.Fail("the audience of gate %d", i)
			return
		}
		t.Waiting[i].Audience = &Audience{marks}
		next, n = i+1, n+1
	}
	if n == 0 {
		r.Fail("no audiences")
	}
}
