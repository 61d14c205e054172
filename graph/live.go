package graph

import (
	"bytes"
	"reflect"
	"slices"
	"unsafe"

	"github.com/posthouse/posthouse"
)

// A live state is the one that nodes work on, with what is needed to tell what
// they changed: a shallow copy of the state as it was committed, and each
// part's last encoding. All reflection is done when it is made; a step touches
// only what changed.
type live[S any] struct {
	state *S
	old   *S // as it was committed
	parts []livePart
	codec posthouse.Codec
	check bool             // a full compare after every node
	ruled bool             // a part has a rule that weighs
	over  bool             // a part is overwritten
	out   []posthouse.Part // reused from step to step
}

type livePart struct {
	*field
	now              reflect.Value // the field in the live state
	nowBits, oldBits []byte        // the memory of it, and of that in the copy
	ptr              any           // a pointer to the field
	enc              []byte        // its last encoding; not for byTail
	stored           bool          // there is one, or for byTail a committed value: the part was once not zero
	tail             *tail
	reread           bool // it holds interfaces, and what is in them may not be what its encoding has
	over             bool // it was overwritten, see [Overwrite]
}

// newLive returns a zero state of which nothing is committed yet.
func newLive[S any](p *plan, codec posthouse.Codec, check bool) *live[S] {
	l := &live[S]{state: new(S), old: new(S), codec: codec, check: check, parts: make([]livePart, len(p.fields))}
	now, old := reflect.ValueOf(l.state).Elem(), reflect.ValueOf(l.old).Elem()
	for i := range p.fields {
		f := &p.fields[i]
		q := livePart{field: f, now: now.FieldByIndex(f.index)}
		q.nowBits, q.oldBits = bits(q.now), bits(old.FieldByIndex(f.index))
		q.ptr = q.now.Addr().Interface()
		if f.rule == byTail {
			q.tail = newTail(f, q.now, codec)
		}
		l.parts[i], l.ruled = q, l.ruled || f.merge.weighs()
	}
	return l
}

// bits returns the memory of an addressable value: comparing it is the
// cheapest way to see that nothing was assigned.
func bits(v reflect.Value) []byte {
	return unsafe.Slice((*byte)(v.Addr().UnsafePointer()), v.Type().Size())
}

// decode returns the live state of a checkpoint.
func decode[S any](p *plan, codec posthouse.Codec, check bool, c *posthouse.Checkpoint) (*live[S], error) {
	l := newLive[S](p, codec, check)
	if err := p.read(codec, c, reflect.ValueOf(l.state).Elem()); err != nil {
		return nil, err
	}
	for i := range l.parts {
		q := &l.parts[i]
		v, ok := c.State[q.part]
		if !ok {
			continue
		}
		q.stored = true
		if q.rule == byTail {
			if err := q.tail.loaded(v); err != nil {
				return nil, err
			}
			continue
		}
		if q.enc = v.Data; v.Codec != codec.Name() { // a person edited it
			var err error
			if q.enc, err = codec.Marshal(q.ptr); err != nil {
				return nil, encodeError(q.field, err)
			}
		}
	}
	*l.old = *l.state
	return l, nil
}

// delta returns what a node changed, and takes it as committed: after an error,
// of this call or of the commit, the live state is of no more use. The result
// is valid until the next call.
func (l *live[S]) delta() ([]posthouse.Part, error) {
	l.out = l.out[:0]
	same := true
	for i := range l.parts {
		q := &l.parts[i]
		if q.absent() {
			continue
		}
		if q.rule == byTail {
			part, changed, err := q.tail.delta(q.stored)
			if err != nil {
				return nil, err
			}
			if changed {
				l.out, q.reread = append(l.out, part), q.loose
			}
			q.stored = true
			continue
		}
		if q.stored && q.untouched() {
			continue
		}
		enc, err := q.encode(l.codec, q.ptr)
		if err != nil {
			return nil, err
		}
		same = false
		if q.stored && bytes.Equal(enc, q.enc) {
			q.reread = q.loose && !isDecoded(q.now)
			continue
		}
		q.reread = q.loose
		q.enc, q.stored = enc, true
		l.out = append(l.out, posthouse.Part{})
		p := &l.out[len(l.out)-1] // in place: a node in a hundred nanoseconds counts copies
		p.Name, p.Codec, p.Data = q.part, l.codec.Name(), enc
	}
	l.settle()
	if !same {
		*l.old = *l.state
	}
	if l.check {
		return l.out, l.verify()
	}
	return l.out, nil
}

// absent reports whether the part was never anything but zero: it is not stored
// then, and max and min take it as nothing.
func (q *livePart) absent() bool { return !q.stored && q.now.IsZero() }

// untouched reports whether the field cannot have changed.
func (q *livePart) untouched() bool {
	if !bytes.Equal(q.nowBits, q.oldBits) {
		return false
	}
	if q.rule == byBits {
		return true
	}
	switch q.now.Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer, reflect.Interface:
		return q.now.IsNil()
	}
	return false
}

// verify is the full compare: it encodes the elements of append parts again
// where a shallow look does not show every change.
func (l *live[S]) verify() error {
	for i := range l.parts {
		if q := &l.parts[i]; q.rule == byTail && q.deep {
			if err := q.tail.verify(); err != nil {
				return err
			}
		}
	}
	return nil
}

// merge takes input over the state: append parts append, other parts and
// fields replace unless they are zero.
func (l *live[S]) merge(p *plan, in *S) {
	from, to := reflect.ValueOf(in).Elem(), reflect.ValueOf(l.state).Elem()
	for i := range l.parts {
		q := &l.parts[i]
		v := from.FieldByIndex(q.index)
		switch {
		case q.rule == byTail:
			q.tail.extend(v)
		case !v.IsZero():
			q.now.Set(v)
		}
	}
	for _, index := range p.carried {
		if v := from.FieldByIndex(index); !v.IsZero() {
			to.FieldByIndex(index).Set(v)
		}
	}
}

// detach makes the state share no memory with what was merged into it, by
// reading back what was encoded: nodes see what they would see after a restart.
func (l *live[S]) detach() error {
	for i := range l.parts {
		q := &l.parts[i]
		var err error
		switch {
		case q.absent():
		case q.rule == byBytes:
			q.now.SetZero()
			err = l.codec.Unmarshal(q.enc, q.ptr)
		case q.rule == byTail:
			err = q.tail.detach()
		}
		if err != nil {
			return encodeError(q.field, err)
		}
	}
	*l.old = *l.state
	return nil
}

// settleInterfaces reads what interfaces hold back from what was encoded: the
// next node sees what it would see after a restart.
func (l *live[S]) settleInterfaces() error {
	changed := false
	for i := range l.parts {
		q := &l.parts[i]
		if !q.reread {
			continue
		}
		var err error
		if changed, q.reread = true, false; q.rule == byTail {
			err = q.tail.detach()
		} else {
			q.now.SetZero()
			err = l.codec.Unmarshal(q.enc, q.ptr)
		}
		if err != nil {
			return encodeError(q.field, err)
		}
	}
	if changed {
		*l.old = *l.state
	}
	return nil
}

// copy returns the state for a reader outside: what it does to its copy does
// not reach the nodes, except through pointers in elements of append parts.
func (l *live[S]) copy() (S, error) {
	c := *l.state
	to := reflect.ValueOf(&c).Elem()
	for i := range l.parts {
		q := &l.parts[i]
		f := to.FieldByIndex(q.index)
		switch {
		case q.absent():
		case q.rule == byTail:
			q.tail.copyTo(f)
		case q.rule == byBytes && !q.untouched():
			f.SetZero()
			if err := l.codec.Unmarshal(q.enc, f.Addr().Interface()); err != nil {
				return c, encodeError(q.field, err)
			}
		}
	}
	return c, nil
}

// isDecoded reports whether what the interfaces in v hold is as JSON has it.
func isDecoded(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface:
		return v.NumMethod() == 0 && v.CanInterface() && isJSON(v.Interface())
	case reflect.Pointer:
		return v.IsNil() || isDecoded(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !isDecoded(v.Index(i)) {
				return false
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if !isDecoded(it.Key()) || !isDecoded(it.Value()) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !isDecoded(v.Field(i)) {
				return false
			}
		}
	}
	return true
}

// isJSON reports whether decoding JSON makes such values.
func isJSON(v any) bool {
	switch v := v.(type) {
	case nil, bool, float64, string:
		return true
	case []any:
		return v != nil && !slices.ContainsFunc(v, func(e any) bool { return !isJSON(e) })
	case map[string]any:
		for _, e := range v {
			if !isJSON(e) {
				return false
			}
		}
		return v != nil
	}
	return false
}
