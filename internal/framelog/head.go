package framelog

import (
	"bytes"
	"encoding/binary"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
)

// A Kind is what a frame is: the first byte of its head. Its numbers are part of the
// format.
type Kind byte

// The kinds of frame.
const (
	KindThread  Kind = 1 // the first of a thread's log
	KindEntry   Kind = 2
	KindSlot    Kind = 3
	KindSegment Kind = 4 // the first of a segment of the journal
	KindGroup   Kind = 5 // one commit of the journal
	KindRemoval Kind = 6 // in a group: a removal begins
)

// KindOf returns the frame's kind, 0 if it has no head.
func (f *Frame) KindOf() Kind {
	if len(f.Head) == 0 {
		return 0
	}
	return Kind(f.Head[0])
}

// A Thread begins a thread's log.
type Thread struct {
	Name    string
	Summary []byte // [posthouse.ThreadInfo.MarshalBinary] once the entries up to its tail are applied; may be empty
}

// Append appends the frame to b.
func (t *Thread) Append(b []byte) []byte {
	return frame(b, nil, func(b []byte) []byte {
		return canon.AppendBytes(canon.AppendString(append(b, byte(KindThread)), t.Name), t.Summary)
	})
}

// Read reads the head of a frame of this kind. [posthouse.ErrCorrupt].
func (t *Thread) Read(head []byte) error {
	r := reader(head, KindThread)
	*t = Thread{Name: r.String(), Summary: bytes.Clone(r.Bytes())}
	return done(r)
}

// A Segment begins a file of the journal.
type Segment struct {
	Number uint64 // as in its name
	First  uint64 // the number that its first commit has, or will have
	Before Digest // of what all commits before it left
}

// A Digest tells sets of entries and slots apart: it is the sum of its members. So a log
// that is missing, cut off or from another time is noticed.
type Digest struct {
	Count uint64
	Sum   posthouse.Hash // exclusive or of the members' hashes
}

// Add puts a member in.
func (d *Digest) Add(h posthouse.Hash) { d.Count++; d.mix(h) }

// Drop takes a member out.
func (d *Digest) Drop(h posthouse.Hash) { d.Count--; d.mix(h) }

func (d *Digest) mix(h posthouse.Hash) {
	for i := range h {
		d.Sum[i] ^= h[i]
	}
}

// Append appends the frame to b.
func (s *Segment) Append(b []byte) []byte {
	return frame(b, nil, func(b []byte) []byte {
		b = canon.AppendUint(canon.AppendUint(append(b, byte(KindSegment)), s.Number), s.First)
		return append(canon.AppendUint(b, s.Before.Count), s.Before.Sum[:]...)
	})
}

// Read reads the head of a frame of this kind. [posthouse.ErrCorrupt].
func (s *Segment) Read(head []byte) error {
	r := reader(head, KindSegment)
	*s = Segment{Number: r.Uint(), First: r.Uint(), Before: Digest{Count: r.Uint()}}
	copy(s.Before.Sum[:], r.Raw(32))
	return done(r)
}

// groupMark is in the head of each group, so that one can be found after damage.
const groupMark = "\x05posthouse"

// AppendGroup appends a frame with the frames of one commit. They are numbered from
// first.
func AppendGroup(b []byte, first uint64, frames ...[]byte) []byte {
	at := len(b)
	b = append(b, make([]byte, HeaderSize)...)
	b = binary.LittleEndian.AppendUint64(append(b, groupMark...), first)
	for _, f := range frames {
		b = append(b, f...)
	}
	Seal(b[at:], len(groupMark)+8)
	return b
}

// ReadGroup returns the number of the first commit in a group. [posthouse.ErrCorrupt].
func ReadGroup(head []byte) (first uint64, err error) {
	if len(head) != len(groupMark)+8 || string(head[:len(groupMark)]) != groupMark {
		return 0, posthouse.Corrupt("a frame of the journal is no group of commits")
	}
	return binary.LittleEndian.Uint64(head[len(groupMark):]), nil
}

// FindGroup reports whether a whole group with a first commit after a number begins
// somewhere in b.
func FindGroup(b []byte, after uint64) bool {
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], []byte(groupMark))
		if i < 0 {
			return false
		}
		if at += i; at < HeaderSize {
			continue
		}
		if f, err := Parse(b[at-HeaderSize:], true); err == nil {
			if first, err := ReadGroup(f.Head); err == nil && first > after {
				return true
			}
		}
	}
}

// A Removal says that a removal begins: until the next segment the logs may lack more
// than the digest of this one says.
type Removal struct {
	Commit uint64
	Thread string
}

// Append appends the frame to b.
func (m *Removal) Append(b []byte) []byte {
	return frame(b, nil, func(b []byte) []byte {
		return canon.AppendString(binary.LittleEndian.AppendUint64(append(b, byte(KindRemoval)), m.Commit), m.Thread)
	})
}

// Read reads the head of a frame of this kind. [posthouse.ErrCorrupt].
func (m *Removal) Read(head []byte) error {
	r := reader(head, KindRemoval)
	*m = Removal{fixed(r), r.String()}
	return done(r)
}

// A Slot is a slot as one write left it. Its value is the body.
type Slot struct {
	Commit   uint64
	Key      posthouse.SlotKey
	Revision uint64
	Fence    uint64
	There    bool // it has a value
}

// Hash tells this write of the slot from every other, for a [Digest].
func (s *Slot) Hash() posthouse.Hash {
	var commit [8]byte
	binary.LittleEndian.PutUint64(commit[:], s.Commit)
	return canon.Hash("posthouse/slot/1", []byte(s.Key.Thread), []byte(s.Key.Step), commit[:])
}

// Append appends the frame to b.
func (s *Slot) Append(b, value []byte) []byte {
	return frame(b, value, func(b []byte) []byte {
		b = binary.LittleEndian.AppendUint64(append(b, byte(KindSlot)), s.Commit)
		b = canon.AppendString(canon.AppendString(b, s.Key.Thread), s.Key.Step)
		b = canon.AppendUint(canon.AppendUint(b, s.Revision), s.Fence)
		return append(b, flag(s.There))
	})
}

// Read reads the head of a frame of this kind. [posthouse.ErrCorrupt].
func (s *Slot) Read(head []byte) error {
	r := reader(head, KindSlot)
	*s = Slot{Commit: fixed(r), Key: posthouse.SlotKey{Thread: r.String(), Step: r.String()}, Revision: r.Uint(), Fence: r.Uint(), There: r.Byte() == 1}
	return done(r)
}

// frame appends a frame with a head that fill appends.
func frame(b, body []byte, fill func([]byte) []byte) []byte {
	at := len(b)
	b = fill(append(b, make([]byte, HeaderSize)...))
	head := len(b) - at - HeaderSize
	b = append(b, body...)
	Seal(b[at:], head)
	return b
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func fixed(r *canon.Reader) uint64 {
	b := r.Raw(8)
	if len(b) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func reader(head []byte, k Kind) *canon.Reader {
	r := canon.NewReader(head)
	if got := Kind(r.Byte()); got != k {
		r.Fail("kind %d, not %d", got, k)
	}
	return r
}

func done(r *canon.Reader) error {
	if err := r.Done(); err != nil {
		return posthouse.Corrupt("the head of a frame does not decode: %v", err)
	}
	return nil
}
