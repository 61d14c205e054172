package framelog

import (
	"bytes"
	"encoding/binary"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/canon"
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
	Summary []byte // [posthouse.ThreadInfo.MarshalBinary] once the entries up to its tail are applied; empty if there is none
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
}

// Append appends the frame to b.
func (s *Segment) Append(b []byte) []byte {
	return frame(b, nil, func(b []byte) []byte {
		return canon.AppendUint(canon.AppendUint(append(b, byte(KindSegment)), s.Number), s.First)
	})
}

// Read reads the head of a frame of this kind. [posthouse.ErrCorrupt].
func (s *Segment) Read(head []byte) error {
	r := reader(head, KindSegment)
	*s = Segment{r.Uint(), r.Uint()}
	return done(r)
}

// groupMark is in the head of each group, so that one can be found behind damage.
const groupMark = "\x05posthouse"

// AppendGroup appends a frame with the frames of one commit, of which the first has the
// number first.
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

// FindGroup reports whether a whole group begins somewhere in b whose first commit comes
// after a number.
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

// A Slot is a slot as one write left it. Its value is the body.
type Slot struct {
	Commit   uint64
	Key      posthouse.SlotKey
	Revision uint64
	Fence    uint64
	There    bool // it has a value
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
