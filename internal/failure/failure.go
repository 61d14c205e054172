package failure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
)

// A recorded is the error of a [runs.Failure]: the text of what a step returned, and what it wrapped.
type recorded struct {
	text string
	data recordedFailure
}

type recordedFailure struct {
	Text     string          `json:"error"`
	Wraps    []recordedError `json:"wraps,omitempty"` // the error itself first
	Deadline bool            `json:"deadline,omitempty"`
	Canceled bool            `json:"canceled,omitempty"`
}

type recordedError struct {
	Type string          `json:"type"`
	Text string          `json:"text,omitempty"` // "": that of the whole
	JSON json.RawMessage `json:"json,omitempty"`
}

// Bounds of what is recorded of a failure, in bytes and errors.
const (
	maxFailureText = 4000
	maxFailureJSON = 16 << 10
	maxWrapped     = 32
)

// Error returns the text of the error.
func (e *recorded) Error() string { return e.text }

// Is matches what the error matched: errors of the same type and text, [context.Canceled] and
// [context.DeadlineExceeded], and the errors of package posthouse by their code.
func (e *recorded) Is(target error) bool {
	switch {
	case same(target, context.DeadlineExceeded):
		return e.data.Deadline
	case same(target, context.Canceled):
		return e.data.Canceled
	}
	own, isOwn := target.(*posthouse.Error)
	name := typeName(reflect.TypeOf(target))
	for i := range e.data.Wraps {
		w := &e.data.Wraps[i]
		if w.Type != name {
			continue
		}
		if isOwn {
			var p *posthouse.Error
			if e.as(w, &p) && errors.Is(p, own) {
				return true
			}
		} else if clipText(target.Error()) == e.textOf(w) {
			return true
		}
	}
	return false
}

// As sets target to the first wrapped error of its type that has all of it in its JSON.
func (e *recorded) As(target any) bool {
	t := reflect.TypeOf(target).Elem()
	if t.Kind() == reflect.Interface {
		return false
	}
	name := typeName(t)
	for i := range e.data.Wraps {
		if w := &e.data.Wraps[i]; w.Type == name && len(w.JSON) > 0 && e.as(w, target) {
			return true
		}
	}
	return false
}

func (e *recorded) as(w *recordedError, target any) bool {
	return len(w.JSON) > 0 && json.Unmarshal(w.JSON, target) == nil
}

func (e *recorded) textOf(w *recordedError) string {
	if w.Text == "" {
		return e.text
	}
	return w.Text
}

// typeName returns the name of an error's type on record.
func typeName(t reflect.Type) string {
	switch {
	case t == nil:
		return ""
	case t.Kind() == reflect.Pointer:
		return "*" + pathOf(t.Elem()) + "." + t.Elem().Name()
	}
	return pathOf(t) + "." + t.Name()
}

// pathOf returns the path of a type's package. Types that moved since they were first recorded
// keep the path that they had.
func pathOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[runs.RemoteError]():
		return "github.com/posthouse/posthouse/internal/failure"
	case reflect.TypeFor[runs.TimeoutError]():
		return "github.com/posthouse/posthouse/internal/engine"
	}
	return t.PkgPath()
}

func clipText(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) > maxFailureText {
		for s = s[:maxFailureText]; !utf8.ValidString(s); {
			s = s[:len(s)-1]
		}
	}
	return s
}

// Encode returns what is recorded of an error that a program saw.
func Encode(err error) []byte {
	if f, ok := err.(*runs.Failure); ok {
		if r, ok := f.Err.(*recorded); ok {
			data, _ := json.Marshal(&r.data)
			return data
		}
	}
	r := recordedFailure{Deadline: errors.Is(err, context.DeadlineExceeded), Canceled: errors.Is(err, context.Canceled)}
	guarded(func() { r.Text = clipText(err.Error()) })
	left := maxFailureJSON
	walk(err, func(e error) bool {
		switch e := e.(type) {
		case *runs.Failure:
			return true // what it holds comes next
		case *recorded:
			r.Wraps = append(r.Wraps, e.data.Wraps...)
			return len(r.Wraps) < maxWrapped
		}
		w := recordedError{Type: typeName(reflect.TypeOf(e))}
		guarded(func() {
			if text := clipText(e.Error()); text != r.Text {
				w.Text = text
			}
			w.JSON = faithfulJSON(e, left)
		})
		left -= len(w.JSON)
		r.Wraps = append(r.Wraps, w)
		return len(r.Wraps) < maxWrapped
	})
	data, _ := json.Marshal(&r)
	return data
}

// faithfulJSON returns the JSON of an error if another error of the same text can be made of
// it, and it has at most so many bytes.
func faithfulJSON(err error, most int) json.RawMessage {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer && v.IsNil() || reflect.Indirect(v).Kind() != reflect.Struct {
		return nil
	}
	data, e := json.Marshal(err)
	if _, own := err.(*posthouse.Error); own && e == nil && len(data) <= most {
		return data // without its cause
	}
	if e != nil || len(data) > most || bytes.Equal(data, []byte("{}")) {
		return nil
	}
	copied := reflect.New(v.Type())
	if json.Unmarshal(data, copied.Interface()) != nil {
		return nil
	}
	if again, ok := copied.Elem().Interface().(error); !ok || again.Error() != err.Error() {
		return nil
	}
	return data
}

// Decode returns the error that [Encode] recorded of a call, as in "charge[1]".
func Decode(step string, data []byte) (*runs.Failure, error) {
	r := &recorded{}
	if err := json.Unmarshal(data, &r.data); err != nil {
		return nil, err
	}
	r.text = r.data.Text
	return &runs.Failure{Step: step, Err: r}, nil
}

// guarded calls fn, and ends it where it panics: methods of errors are code of the user.
func guarded(fn func()) {
	defer func() { _ = recover() }()
	fn()
}
