package front

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/strictjson"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// maxInputHint bounds how long a description of an input may be, in bytes.
const maxInputHint = 600

// ReadJSON reads the input of a run into a new value of a type, and returns a pointer to that. It
// is strict: [posthouse.ErrInvalid] names the field at fault, and says what the input is.
func ReadJSON(input json.RawMessage, t reflect.Type) (any, error) {
	if len(input) == 0 {
		input = json.RawMessage("null")
	}
	v := reflect.New(t)
	path, reason := strictjson.Fit(input, t)
	if reason == "" {
		err := json.Unmarshal(input, v.Interface())
		if err == nil {
			return v.Interface(), nil
		}
		reason = "is refused: " + err.Error()
	}
	if path != "" && path[0] != '[' {
		path = "." + path
	}
	hint := "the input is " + strictjson.Describe(t)
	if len(hint) > maxInputHint {
		hint = "the program describes its input: posthouse program show"
	}
	return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "input" + path, Message: reason, Hint: hint}
}

// NotBegun refuses a thread that exists: [posthouse.ErrExists]. "" is no thread yet. One that has
// signals only, or claims of processes that died, has not begun.
func NotBegun(ctx context.Context, l *ledger.Ledger, thread string) error {
	if thread == "" {
		return nil
	}
	info, err := l.Thread(ctx, thread)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	if err != nil || len(info.Branches) == 0 {
		return err
	}
	return Begun(thread, info.Graph)
}

// Begun is the error of a thread that exists.
func Begun(thread, program string) error {
	e := &posthouse.Error{
		Code: posthouse.CodeExists, Field: "thread", Message: thread + " exists already",
		Hint: "see it with: posthouse thread show; or begin a thread of another name",
	}
	if program != "" {
		e.Message += ", of program " + program
	}
	return e
}

// Drained returns a context that asks its programs to stop before they execute anything.
func Drained(ctx context.Context) context.Context {
	now := make(chan struct{})
	close(now)
	return engine.WithDrain(ctx, now)
}

// Begin puts a new thread with its input on record and leaves it to a runner: nothing of the
// program is executed. See [posthouse.JSONStarter].
func (f *Front[O, In, R, C]) Begin(ctx context.Context, thread string, in *In, o *O, dryRun bool) (*posthouse.Header, error) {
	c, err := f.check(o, true)
	if err != nil {
		return nil, err
	}
	if err := NotBegun(ctx, f.Ledger, thread); err != nil || dryRun {
		return nil, err
	}
	thread = cmp.Or(thread, string(f.Ledger.Core().NewID()))
	ctx = Drained(ctx)
	s, err := f.openSession(ctx, thread, &c, true, nil)
	if err != nil {
		return nil, err
	}
	if h := s.Head(); h != nil { // another caller was first
		return nil, errors.Join(Begun(thread, h.Graph), s.End(ctx))
	}
	_, err = f.drive(ctx, s, f.NewRun(s, o, nil), &c, in)
	if h := s.Head(); h != nil {
		return h, nil // on record, whatever came after: a runner goes on with it
	}
	return nil, err
}
