package state

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/posthouse/posthouse"
)

// Branch returns a copy of the state for a task that runs beside others. The task's
// changes are not visible until they are merged. Elements of append parts that hold
// pointers, and fields tagged "-", are shared.
func (l *Live) Branch() (*Live, error) {
	state, err := l.copy()
	if err != nil {
		return nil, err
	}
	b := New(l.schema)
	b.now.Set(state)
	b.old.Set(state)
	for i := range b.parts {
		from, q := &l.parts[i], &b.parts[i]
		q.enc, q.stored = from.enc, from.stored
		if q.encoding != byAppend {
			continue
		}
		t, s := q.appended, from.appended
		t.old = s.old
		t.old.elems, t.old.sums = appendOwn(reflect.Zero(q.list.slice), s.old.elems.Slice(0, s.old.count)), slices.Clip(s.old.sums)
		t.clip()
	}
	return b, nil
}

// A Write is what a task left in one part, encoded: its whole value, or of an
// append part the new elements.
type Write struct {
	Field *Field
	Codec string
	Data  []byte
	Over  bool // the whole value, which overrules the rule
}

// Value returns what was written as a value.
func (w *Write) Value() posthouse.Value { return posthouse.Value{Codec: w.Codec, Data: w.Data} }

// Writes returns what a branch changed.
func (l *Live) Writes() ([]Write, error) {
	var ws []Write
	for i := range l.parts {
		q := &l.parts[i]
		from := q.ptr
		switch {
		case q.overwritten:
			from = q.pointer(l.now)
		case q.encoding == byAppend:
			n, err := q.appended.length()
			if err != nil {
				return nil, err
			}
			if n == q.appended.old.count {
				continue
			}
			added := reflect.New(q.list.slice)
			added.Elem().Set(q.appended.slice.Slice(q.appended.old.count, n))
			from = added.Interface()
		case q.absent(), q.stored && q.untouched():
			continue
		}
		enc, err := q.encode(l.schema.Codec, from)
		if err != nil {
			return nil, err
		}
		if q.stored && !q.overwritten && q.encoding != byAppend && bytes.Equal(enc, q.enc) {
			continue
		}
		ws = append(ws, Write{Field: q.Field, Codec: l.schema.Codec.Name(), Data: enc, Over: q.overwritten})
	}
	if l.schema.Check {
		return ws, l.Verify()
	}
	return ws, nil
}
