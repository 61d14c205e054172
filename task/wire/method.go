package wire

import (
	"context"

	"github.com/posthouse/posthouse/task"
)

// The names of the methods, which a transport uses as addresses.
const (
	Connect    = "connect"
	Claim      = "claim"
	Heartbeat  = "heartbeat"
	Load       = "load"
	Save       = "save"
	Signal     = "signal"
	Stream     = "stream"
	Records    = "records"
	Record     = "record"
	Begin      = "begin"
	End        = "end"
	Resolve    = "resolve"
	Disconnect = "disconnect"
)

// MaxRequest bounds a request, in bytes: the largest is a slot, in base64.
const MaxRequest = 2 << 20

// maxShort bounds a request that names only its sender, in bytes.
const maxShort = 16 << 10

// A Method is a call of [task.Engine] as a request asks for it.
type Method struct {
	Name    string
	Summary string // for the description of the API
	Notes   string // of what the call promises

	short bool     // a request names only its sender
	needs []string // the fields that a request has to have
	call  func(ctx context.Context, e task.Engine, in *TaskRequest, out *TaskReply) error
}

// MaxRequest bounds a request of the method, in bytes. Whoever carries requests reads no more
// of one.
func (m *Method) MaxRequest() int {
	if m.short {
		return maxShort
	}
	return MaxRequest
}

var methods = [...]Method{
	{
		Name: Connect, Summary: "Connect a worker", needs: []string{"hello"},
		Notes: "The answer names the session, its lease and how long a claim waits.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, out *TaskReply) (err error) {
			out.Session, err = e.Connect(ctx, *in.Hello)
			return err
		},
	},
	{
		Name: Claim, Summary: "Claim a task", short: true, needs: []string{"session"},
		Notes: "Waits until there is one for the session's worker, or its time is over; then the answer is empty, and the worker asks again.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, out *TaskReply) (err error) {
			out.Claim, err = e.Claim(ctx, in.Session)
			return err
		},
	},
	{
		Name: Heartbeat, Summary: "Keep a session and its claims", needs: []string{"session"},
		Notes: "To be sent several times a lease. The answer names claims that the worker has no more.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, out *TaskReply) (err error) {
			out.Pulse, err = e.Heartbeat(ctx, in.Session, in.Have)
			return err
		},
	},
	{
		Name: Load, Summary: "Load a task's slot", short: true, needs: []string{"claim"},
		Notes: "`saved` tells an empty slot from none.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, out *TaskReply) (err error) {
			out.Value, err = e.Load(ctx, *in.Claim)
			out.Saved = out.Value != nil
			return err
		},
	},
	{
		Name: Save, Summary: "Save a task's slot", needs: []string{"claim"},
		Notes: "The next attempt or iteration finds it. An empty value is kept and told apart from none; without a value the slot is cleared.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, _ *TaskReply) error {
			return e.Save(ctx, *in.Claim, in.N, in.Value) // nil without a value
		},
	},
	{
		Name: Signal, Summary: "Send a signal for a task", needs: []string{"claim", "thread", "signal"},
		Notes: "One with a key is sent once.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, _ *TaskReply) error {
			return e.Signal(ctx, *in.Claim, in.Thread, *in.Signal)
		},
	},
	{
		Name: Stream, Summary: "Stream a chunk of a task", needs: []string{"claim", "chunk"},
		Notes: "Those who follow the thread now get it. It is not recorded.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, _ *TaskReply) error {
			return e.Stream(ctx, *in.Claim, in.Chunk)
		},
	},
	{
		Name: Records, Summary: "Show what a task's handler has on record", short: true, needs: []string{"claim"},
		Notes: "Results of its steps, and what it waited for, in pages: what the answer's `next` says is `after` in the request for the next one.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, out *TaskReply) (err error) {
			out.Records, err = e.Records(ctx, *in.Claim, in.After)
			return err
		},
	},
	{
		Name: Record, Summary: "Record the result of a handler's step", needs: []string{"claim", "step"},
		Notes: "The next run of the handler finds it. A result has at most 512 KiB, those of an iteration 16 MiB together.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, _ *TaskReply) error {
			return e.Record(ctx, *in.Claim, *in.Step)
		},
	},
	{
		Name: Begin, Summary: "Begin an effect of a task's handler", needs: []string{"claim", "begin"},
		Notes: "Under a grant that the handler proposed. `begins` says that it is on record and is to run, on what the decision of `gate` licenses. With `result` it is done, with `waits` people are to be asked: park with a wait for it (`act`). The same call again, by its nonce, is the same attempt.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, out *TaskReply) (err error) {
			out.Begun, err = e.Begin(ctx, *in.Claim, *in.Begin)
			return err
		},
	},
	{
		Name: End, Summary: "End an effect of a task's handler", needs: []string{"claim", "end"},
		Notes: "With its result, or why it did not act. What ends in neither way has an unknown outcome once the claim is over. The same call again does nothing.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, _ *TaskReply) error {
			return e.End(ctx, *in.Claim, *in.End)
		},
	},
	{
		Name: Resolve, Summary: "Resolve a task", needs: []string{"claim", "verdict"},
		Notes: "With a verdict: its action is complete, fail, fail-permanent, retry-after, unknown, pause, continue, await or interrupt. The same verdict again does nothing.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, _ *TaskReply) error {
			return e.Resolve(ctx, *in.Claim, in.verdict)
		},
	},
	{
		Name: Disconnect, Summary: "Disconnect a worker", short: true, needs: []string{"session"},
		Notes: "Its claims are free at once, and their attempts count as not made.",
		call: func(ctx context.Context, e task.Engine, in *TaskRequest, _ *TaskReply) error {
			return e.Disconnect(ctx, in.Session)
		},
	},
}

// Methods returns all methods, in the order in which a worker comes to use them.
func Methods() []Method {
	all := methods
	return all[:]
}

// methodOf returns the method of a name, nil for one that is not known.
func methodOf(name string) *Method {
	for i := range methods {
		if methods[i].Name == name {
			return &methods[i]
		}
	}
	return nil
}
