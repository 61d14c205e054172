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
)

// A Failure is the error of a step that failed in an earlier execution of a program, which
// went on after it. It has the text of that error. [errors.Is] finds the errors that it
// wrapped by type and text, and [errors.As] those whose type their JSON says all of.
type Failure struct {
	Step string // the call, as in "charge[1]"

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
func (e *Failure) Error() string { return e.text }

// Is matches what the error matched: errors of the same type and text, [context.Canceled] and
// [context.DeadlineExceeded], and the errors of package posthouse by their code.
func (e *Failure) Is(target error) bool {
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

// As sets target to the first wrapped error of its type whose JSON says all of it.
func (e *Failure) As(target any) bool {
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

func (e *Failure) as(w *recordedError, target any) bool {
	return len(w.JSON) > 0 && json.Unmarshal(w.JSON, target) == nil
}

func (e *Failure) textOf(w *recordedError) string {
	if w.Text == "" {
		return e.text
	}
	return w.Text
}

func typeName(t reflect.Type) string {
	if t == nil {
		return ""
	}
	if t.Kind() == reflect.Pointer {
		return "*" + t.Elem().PkgPath() + "." + t.Elem().Name()
	}
	return t.PkgPath() + "." + t.Name()
}

func clipText(s string) string {
	if s = strings.ToValidUTF8(s, "?"); len(s) > maxFailureText {
		for s = s[:maxFailureText]; !utf8.ValidString(s); {
			s = s[:len(s)-1]
		}
	}
	return s
}

// Encode returns what is recorded of an error that a program saw.
func Encode(err error) []byte {
	if f, ok := err.(*Failure); ok {
		data, _ := json.Marshal(&f.data)
		return data
	}
	r := recordedFailure{Deadline: errors.Is(err, context.DeadlineExceeded), Canceled: errors.Is(err, context.Canceled)}
	guarded(func() { r.Text = clipText(err.Error()) })
	left := maxFailureJSON
	walk(err, func(e error) bool {
		if f, ok := e.(*Failure); ok {
			r.Wraps = append(r.Wraps, f.data.Wraps...)
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
func Decode(step string, data []byte) (*Failure, error) {
	f := &Failure{Step: step}
	if err := json.Unmarshal(data, &f.data); err != nil {
		return nil, err
	}
	f.text = f.data.Text
	return f, nil
}

// guarded calls fn, and ends it where it panics: methods of errors are code of the user.
func guarded(fn func()) {
	defer func() { _ = recover() }()
	fn()
}
