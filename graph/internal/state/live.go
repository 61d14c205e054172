package state

import (
	"bytes"
	"reflect"
	"unsafe"

	"github.com/posthouse/posthouse"
)

// A Live state is the one that nodes work on. To find what they changed, it keeps a
// shallow copy of the state as it was committed, and each part's last encoding. It
// reflects on the type once, when it is made; a step touches only what changed.
type Live struct {
	Value any // a pointer to what nodes work on

	schema  *Schema
	now     reflect.Value // what Value points to
	old     reflect.Value // as it was committed
	parts   []part
	reduces bool             // a part has a rule that reduces
	out     []posthouse.Part // reused from step to step
}

type part struct {
	*Field
	now              reflect.Value // the field in the live state
	nowBits, oldBits []byte        // the memory of it, and of that in the copy
	ptr              any           // a pointer to the field
	enc              []byte        // its last encoding; not for byAppend
	stored           bool          // the part has a committed value: it was once not zero
	appended         *appendTracker
	reread           bool // it changed, and may differ from what its encoding decodes to
	overwritten      bool // see Live.Overwrite
}

// New returns a zero state with nothing committed yet.
func New(p *Schema) *Live {
	value := reflect.New(p.Type)
	l := &Live{
		Value: value.Interface(), schema: p, now: value.Elem(), old: reflect.New(p.Type).Elem(), parts: make([]part, len(p.Fields)),
		out: make([]posthouse.Part, 0, len(p.Fields)),
	}
	for i := range p.Fields {
		f := &p.Fields[i]
		q := part{Field: f, now: l.now.FieldByIndex(f.index)}
		q.nowBits, q.oldBits = bits(q.now), bits(l.old.FieldByIndex(f.index))
		q.ptr = q.now.Addr().Interface()
		if f.encoding == byAppend {
			q.appended = newAppendTracker(f, q.now, p.Codec)
		}
		l.parts[i], l.reduces = q, l.reduces || f.Merge.reduces()
	}
	return l
}

// bits returns the memory of an addressable value. Comparing it is the cheapest way
// to see that nothing was assigned.
func bits(v reflect.Value) []byte {
	return unsafe.Slice((*byte)(v.Addr().UnsafePointer()), v.Type().Size())
}

// Decode returns the live state of a checkpoint.
func Decode(p *Schema, c *posthouse.Checkpoint) (*Live, error) {
	l := New(p)
	if err := p.Read(c, l.Value); err != nil {
		return nil, err
	}
	for i := range l.parts {
		q := &l.parts[i]
		v, ok := c.State[q.Part]
		if !ok {
			continue
		}
		q.stored = true
		if q.encoding == byAppend {
			if err := q.appended.loaded(v); err != nil {
				return nil, err
			}
			continue
		}
		q.enc = v.Data
		if v.Codec != p.Codec.Name() { // a person edited it
			var err error
			q.enc, err = p.Codec.Marshal(q.ptr)
			if err != nil {
				return nil, encodeError(q.Field, err)
			}
		}
	}
	l.old.Set(l.now)
	return l, nil
}

// Delta returns what a node changed, and takes it as committed. After an error, of
// this call or of the commit, the live state is of no more use. The result is valid
// until the next call.
func (l *Live) Delta() ([]posthouse.Part, error) {
	l.out = l.out[:0]
	same := true
	for i := range l.parts {
		q := &l.parts[i]
		q.overwritten = false
		if q.absent() {
			continue
		}
		if q.encoding == byAppend {
			part, changed, err := q.appended.delta(q.stored)
			if err != nil {
				return nil, err
			}
			if changed {
				l.out, q.reread = append(l.out, part), !q.faithful
			}
			q.stored = true
			continue
		}
		if q.stored && q.untouched() {
			continue
		}
		enc, err := q.encode(l.schema.Codec, q.ptr)
		if err != nil {
			return nil, err
		}
		same = false
		if q.stored && bytes.Equal(enc, q.enc) {
			q.reread = !q.faithful && !q.isDecoded(l.schema.Codec)
			continue
		}
		q.reread = !q.faithful
		q.enc, q.stored = enc, true
		l.out = append(l.out, posthouse.Part{})
		p := &l.out[len(l.out)-1] // in place: a node in a hundred nanoseconds counts copies
		p.Name, p.Codec, p.Data = q.Part, l.schema.Codec.Name(), enc
	}
	if !same {
		l.old.Set(l.now)
	}
	if l.schema.Check {
		return l.out, l.Verify()
	}
	return l.out, nil
}

// absent reports whether the part was always zero. It is not stored then, and max
// and min ignore it.
func (q *part) absent() bool { return !q.stored && isZero(q.now) }

// untouched reports whether the field cannot have changed.
func (q *part) untouched() bool {
	if !bytes.Equal(q.nowBits, q.oldBits) {
		return false
	}
	if q.encoding == byBits {
		return true
	}
	switch q.now.Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer, reflect.Interface:
		return q.now.IsNil()
	}
	return false
}

// isDecoded reports whether a part with an unchanged encoding is as that decodes.
func (q *part) isDecoded(codec posthouse.Codec) bool {
	same := bytes.Equal(q.nowBits, q.oldBits)
	if codec.Name() != posthouse.JSON.Name() {
		return same
	}
	return isDecoded(q.now, same)
}

// Verify refuses elements of append parts that were changed. It encodes them again
// where a shallow look does not show every change.
func (l *Live) Verify() error {
	for i := range l.parts {
		if q := &l.parts[i]; q.encoding == byAppend && q.list.deep {
			if err := q.appended.verify(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Input merges an input, a pointer to a state, into the state: append parts append, other
// parts and fields replace unless they are zero.
func (l *Live) Input(in any) {
	from, to := reflect.ValueOf(in).Elem(), l.now
	for i := range l.parts {
		q := &l.parts[i]
		v := from.FieldByIndex(q.index)
		switch {
		case q.encoding == byAppend:
			q.appended.extend(v)
		case !isZero(v):
			q.now.Set(v)
		}
	}
	for _, index := range l.schema.carried {
		if v := from.FieldByIndex(index); !v.IsZero() {
			to.FieldByIndex(index).Set(v)
		}
	}
}

// Detach decodes the state from what was encoded. It then shares no memory with what
// was merged into it, and nodes see what they would see after a restart.
func (l *Live) Detach() error { return l.decodeAgain(true) }

// Reread is [Live.Detach] for the changed parts that may differ from what their encoding
// decodes to. So a node sees the same state as after a restart, and work follows the delta.
func (l *Live) Reread() error { return l.decodeAgain(false) }

func (l *Live) decodeAgain(all bool) error {
	changed := all
	for i := range l.parts {
		q := &l.parts[i]
		if !q.reread && (!all || q.absent() || q.encoding == byBits) {
			continue
		}
		var err error
		changed, q.reread = true, false
		if q.encoding == byAppend {
			err = q.appended.detach()
		} else {
			q.now.SetZero()
			err = l.schema.Codec.Unmarshal(q.enc, q.ptr)
		}
		if err != nil {
			return encodeError(q.Field, err)
		}
	}
	if changed {
		l.old.Set(l.now)
	}
	return nil
}

// Copy returns a pointer to the state for a reader outside. The reader's changes to its
// copy do not reach the nodes, except through pointers in elements of append parts.
func (l *Live) Copy() (any, error) {
	c, err := l.copy()
	return c.Addr().Interface(), err
}

func (l *Live) copy() (reflect.Value, error) {
	c := reflect.New(l.schema.Type).Elem()
	c.Set(l.now)
	for i := range l.parts {
		q := &l.parts[i]
		f := c.FieldByIndex(q.index)
		switch {
		case q.absent():
		case q.encoding == byAppend:
			q.appended.copyTo(f)
		case q.encoding == byBytes && !q.untouched():
			f.SetZero()
			if err := l.schema.Codec.Unmarshal(q.enc, f.Addr().Interface()); err != nil {
				return c, encodeError(q.Field, err)
			}
		}
	}
	return c, nil
}
