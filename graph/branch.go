package graph

import (
	"bytes"
	"reflect"
	"slices"
)

// branch returns a live state of its own for a task that runs beside others:
// what it changes is seen by nobody until it is merged. A task that was sent an
// input has an empty one; the others have a copy of l. Elements of append
// parts that hold pointers, and fields tagged "-", are shared.
func (l *live[S]) branch(p *plan, t *task[S]) (*live[S], error) {
	if t.input != nil {
		return newLive[S](p, l.codec, l.check), nil
	}
	state, err := l.copy()
	if err != nil {
		return nil, err
	}
	b := newLive[S](p, l.codec, l.check)
	*b.state, *b.old = state, state
	for i := range b.parts {
		from, q := &l.parts[i], &b.parts[i]
		q.enc, q.stored = from.enc, from.stored
		if q.rule != byTail {
			continue
		}
		t, s := q.tail, from.tail
		t.known = appendOwn(reflect.Zero(q.slice), s.known.Slice(0, s.count))
		t.count, t.size, t.array, t.json, t.seed, t.sums = s.count, s.size, s.array, s.json, s.seed, slices.Clip(s.sums)
		t.clip()
	}
	return b, nil
}

// writes returns what a branch changed.
func (l *live[S]) writes() ([]write, error) {
	var ws []write
	for i := range l.parts {
		q := &l.parts[i]
		if q.over {
			enc, err := q.encode(l.codec, q.pointer(reflect.ValueOf(l.state).Elem()))
			if err != nil {
				return nil, err
			}
			ws = append(ws, write{field: q.field, enc: enc, codec: l.codec.Name(), over: true})
			continue
		}
		if q.rule == byTail {
			n := q.tail.slice.Len()
			if n < q.tail.count {
				return nil, q.tail.broken("had %d elements and now has %d: elements cannot be taken away", q.tail.count, n)
			}
			if err := q.tail.compare(); err != nil {
				return nil, err
			}
			if n == q.tail.count {
				continue
			}
			added := reflect.New(q.slice)
			added.Elem().Set(q.tail.slice.Slice(q.tail.count, n))
			enc, err := q.encode(l.codec, added.Interface())
			if err != nil {
				return nil, err
			}
			ws = append(ws, write{field: q.field, enc: enc, codec: l.codec.Name()})
			continue
		}
		if q.untouched() && (q.stored || q.now.IsZero()) {
			continue
		}
		enc, err := q.encode(l.codec, q.ptr)
		if err != nil {
			return nil, err
		}
		if q.stored && bytes.Equal(enc, q.enc) {
			continue
		}
		ws = append(ws, write{field: q.field, enc: enc, codec: l.codec.Name()})
	}
	if l.check {
		return ws, l.verify()
	}
	return ws, nil
}
