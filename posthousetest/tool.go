package posthousetest

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/step"
)

// A Witness knows whether an effect happened. A [Tool] is one.
type Witness interface {
	outcome(content json.RawMessage) (result json.RawMessage, happened bool)
}

// A Tool is a double of something outside of the programs, as a model, a bank or a mail server. It
// remembers its calls over kills and restarts, as the world does. Give its Call to what you test. It is
// safe for concurrent use.
type Tool[In, Out any] struct {
	t    TB
	name string
	fn   func(ctx context.Context, in In) (Out, error)

	mu    sync.Mutex
	calls []Call[In, Out]
	fails []error
}

// A Call is a call of a Tool.
type Call[In, Out any] struct {
	In    In
	Out   Out
	Err   error
	Key   string          // step.Key: the same for each attempt of a step, "" outside of steps
	Grant *posthouse.Gate // the gate that licensed it, of a call within gate.Act; otherwise nil
}

// NewTool returns a Tool that answers with fn. Nil answers with the zero Out.
func NewTool[In, Out any](t TB, name string, fn func(ctx context.Context, in In) (Out, error)) *Tool[In, Out] {
	return &Tool[In, Out]{t: t, name: name, fn: fn}
}

// Fail has the next calls fail, one with each error, before they act.
func (x *Tool[In, Out]) Fail(errs ...error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fails = append(x.fails, errs...)
}

// Call is what the programs under test call.
func (x *Tool[In, Out]) Call(ctx context.Context, in In) (out Out, err error) {
	c := Call[In, Out]{In: in, Key: step.Key(ctx), Grant: gate.Granted(ctx)}
	x.mu.Lock()
	if len(x.fails) > 0 {
		c.Err, x.fails = x.fails[0], x.fails[1:]
	}
	x.mu.Unlock()
	if c.Err == nil && x.fn != nil {
		c.Out, c.Err = x.fn(ctx, in)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls = append(x.calls, c)
	return c.Out, c.Err
}

// Calls returns all calls, oldest first.
func (x *Tool[In, Out]) Calls() []Call[In, Out] {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.calls)
}

// Times fails the test unless there were n calls.
func (x *Tool[In, Out]) Times(n int) {
	x.t.Helper()
	if calls := x.Calls(); len(calls) != n {
		x.t.Errorf("posthousetest: tool %s was called %d times, want %d\n%s", x.name, len(calls), n, x.list(calls))
	}
}

// Once fails the test unless the tool acted once: calls that failed do not count, and those
// with one key and one input count as one, as for a service that knows idempotency keys. It returns the first
// that counts.
func (x *Tool[In, Out]) Once() Call[In, Out] {
	x.t.Helper()
	calls := x.Calls()
	acted := slices.DeleteFunc(slices.Clone(calls), func(c Call[In, Out]) bool { return c.Err != nil })
	if len(acted) == 0 {
		x.t.Fatalf("posthousetest: tool %s did not act\n%s", x.name, x.list(calls))
	}
	for _, c := range acted[1:] {
		if c.Key == "" || c.Key != acted[0].Key || !bytes.Equal(encode(c.In), encode(acted[0].In)) {
			x.t.Fatalf("posthousetest: tool %s acted more than once\n%s", x.name, x.list(calls))
		}
	}
	return acted[0]
}

// list shows calls, one a line.
func (x *Tool[In, Out]) list(calls []Call[In, Out]) string {
	var b bytes.Buffer
	for _, c := range calls {
		b.WriteString("  " + x.name + " " + string(encode(c.In)))
		if c.Key != "" {
			b.WriteString(" with key " + c.Key)
		}
		if c.Err != nil {
			b.WriteString(" failed: " + c.Err.Error())
		}
		b.WriteString("\n")
	}
	return b.String()
}

// outcome implements [Witness].
func (x *Tool[In, Out]) outcome(content json.RawMessage) (result json.RawMessage, happened bool) {
	for _, c := range slices.Backward(x.Calls()) {
		if c.Err == nil && commit.SameJSON(encode(c.In), content) {
			return encode(c.Out), true
		}
	}
	return nil, false
}
