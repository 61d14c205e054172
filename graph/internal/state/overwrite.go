package state

import (
	"bytes"
	"reflect"
)

// Overwrite keeps the part that field points to as it is, whatever its rule says.
// It reports whether there is such a part.
func (l *Live) Overwrite(field any) bool {
	for i := range l.parts {
		if q := &l.parts[i]; q.ptr == field {
			q.markOverwritten()
			return true
		}
	}
	return false
}

func (q *part) markOverwritten() {
	q.overwritten = true
	if q.encoding == byAppend {
		q.appended.restart()
	}
}

// overwrite sets the part's value, of its stored type.
func (q *part) overwrite(v reflect.Value) {
	q.markOverwritten()
	if q.encoding == byAppend {
		q.appended.slice.Set(v)
		return
	}
	q.now.Set(v)
}

// ApplyRules applies the rules of parts to what one task left. As in Merge, what the task
// began with counts, too. Where others run beside it, what cannot be
// merged stays as it is, and the merge of all reports it. That is an error of
// Options.Conflict.
func (l *Live) ApplyRules(task string, parallel bool) error {
	if !l.reduces {
		return nil
	}
	for i := range l.parts {
		q := &l.parts[i]
		if !q.Merge.reduces() || q.overwritten || q.untouched() {
			continue
		}
		base, own, err := l.change(q)
		if err != nil {
			return err
		}
		if !own.IsValid() {
			continue
		}
		ws := []written{{task: task, value: own, base: base}}
		v, err := q.combine(base, !q.stored && isZero(base), ws)
		switch {
		case err == nil:
			q.now.Set(v)
		case !parallel:
			return l.schema.conflict(q, ws, err)
		}
	}
	return nil
}

// change returns what a part was and what it is, in memory of their own. own is no
// value if the part did not change.
func (l *Live) change(q *part) (base, own reflect.Value, err error) {
	if q.encoding == byBits {
		own = reflect.New(q.Type).Elem()
		own.Set(q.now)
		return l.old.FieldByIndex(q.index), own, nil
	}
	enc, err := q.encode(l.schema.Codec, q.ptr)
	if err != nil || q.stored && bytes.Equal(enc, q.enc) || q.absent() {
		return base, own, err
	}
	was, is := reflect.New(q.Type), reflect.New(q.Type)
	if q.stored {
		if err := l.schema.Codec.Unmarshal(q.enc, was.Interface()); err != nil {
			return base, own, err
		}
	}
	err = l.schema.Codec.Unmarshal(enc, is.Interface())
	return was.Elem(), is.Elem(), err
}
