package graph

import (
	"bytes"
	"context"
	"fmt"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// Overwrite sets a field of a node's state to a value that stands whatever the
// rule of the field's part says: a max may fall, an append part may lose or
// change elements. field points to it, as in
//
//	err := graph.Overwrite(ctx, &s.Messages, s.Messages[len(s.Messages)-10:])
//
// What other nodes of the step wrote in the part does not count then. Two nodes
// that overwrite it with different values are a [MergeError]. The last call for
// a field counts, and so does what the node does to the field behind it.
//
// It is for the code of a node, which is given ctx, and not for goroutines beside
// each other. [posthouse.ErrInvalid] if field is no part of the state that the
// node was given, [posthouse.ErrClosed] once the node has returned.
func Overwrite[T any](ctx context.Context, field *T, value T) error {
	t, _ := engine.From(ctx)
	var o overwriter
	if t != nil {
		o, _ = t.Local().(overwriter)
	}
	switch {
	case t != nil && t.Closed():
		return &posthouse.Error{
			Code: posthouse.CodeClosed, Message: "an overwrite came after " + t.Key() + " had returned or was given up",
			Hint: "wait for goroutines before the node returns, and stop when its context ends",
		}
	case o == nil:
		return invalid("ctx", "is not of a node: Overwrite is for the code of a node of a graph")
	case !o.overwrite(field):
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "field", Message: fmt.Sprintf("a %T does not point to a part of the state of %s", field, t.Key()),
			Hint: "point to a field of the state that the node was given, as in &s.Messages, which is a part of its own",
		}
	}
	*field = value
	return nil
}

// An overwriter is the state of a node that runs.
type overwriter interface {
	overwrite(field any) bool // false: there is no such part
}

func (l *live[S]) overwrite(field any) bool {
	for i := range l.parts {
		if q := &l.parts[i]; q.ptr == field {
			q.mark()
			l.over = true
			return true
		}
	}
	return false
}

// mark notes that what the part holds is to stand as it is.
func (q *livePart) mark() {
	q.over = true
	if q.rule == byTail {
		q.tail.restart()
	}
}

// overwrite sets the part's value, of its valueType.
func (q *livePart) overwrite(v reflect.Value) {
	q.mark()
	if q.rule == byTail {
		q.tail.slice.Set(v)
		return
	}
	q.now.Set(v)
}

// settle takes what was overwritten as committed.
func (l *live[S]) settle() {
	if !l.over {
		return
	}
	for i := range l.parts {
		l.parts[i].over = false
	}
	l.over = false
}

// weigh applies the rules of parts to what a node left by itself, as they apply
// to what many did: what it began with counts, too. Its ways are read from the
// state behind it. Where others ran beside it, what cannot be merged stays as it
// is: the merge of all will say so.
func (l *live[S]) weigh(graph, node string, beside bool) error {
	if !l.ruled {
		return nil
	}
	for i := range l.parts {
		q := &l.parts[i]
		if !q.merge.weighs() || q.over || q.untouched() {
			continue
		}
		base, own, err := l.change(q)
		if err != nil {
			return err
		}
		if !own.IsValid() {
			continue
		}
		ws := []written{{task: node, value: own, base: base}}
		v, err := q.combine(base, !q.stored && base.IsZero(), ws)
		switch {
		case err == nil:
			q.now.Set(v)
		case !beside:
			return q.failed(graph, ws, err)
		}
	}
	return nil
}

// change returns what a part was and what it is, in memory that nobody shares;
// no value for own if it is what it was.
func (l *live[S]) change(q *livePart) (base, own reflect.Value, err error) {
	if q.rule == byBits {
		own = reflect.New(q.typ).Elem()
		own.Set(q.now)
		return reflect.ValueOf(l.old).Elem().FieldByIndex(q.index), own, nil
	}
	enc, err := q.encode(l.codec, q.ptr)
	if err != nil || q.stored && bytes.Equal(enc, q.enc) || q.absent() {
		return base, own, err
	}
	was, is := reflect.New(q.typ), reflect.New(q.typ)
	if q.stored {
		if err := l.codec.Unmarshal(q.enc, was.Interface()); err != nil {
			return base, own, err
		}
	}
	err = l.codec.Unmarshal(enc, is.Interface())
	return was.Elem(), is.Elem(), err
}
