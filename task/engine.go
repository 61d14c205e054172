package task

import (
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
)

// An Engine gives tasks to workers. A claim is good only in the session that it was given to,
// and a session only for the worker that began it: see [Pass]. Its methods are safe for concurrent use. An error that
// is [posthouse.ErrUnavailable] or [posthouse.ErrUnknown] says that the call may be repeated:
// all of them do the same when they are called again.
type Engine interface {
	// Connect begins a session. [posthouse.ErrInvalid] names the field that does not fit,
	// [posthouse.ErrUnsupported] a protocol that the engine does not speak,
	// [posthouse.ErrForbidden] a group or task that the worker's pass does not allow, and
	// [posthouse.ErrBusy] that its pass has as many sessions as it may have.
	Connect(ctx context.Context, h Hello) (*Session, error)

	// Claim waits for a task that the session's worker handles, at most as long as the
	// session says, and claims it. It returns nil if there was no task. It fails with
	// [posthouse.ErrNotFound] if the session is over, or ends: connect again. If more calls
	// of a session wait than the worker handles tasks at once, or more than 100, the oldest
	// ends with [posthouse.ErrUnavailable].
	Claim(ctx context.Context, session string) (*Claim, error)

	// Heartbeat keeps the session and the claims that the worker has, and says which of them
	// are lost. A claim that the worker has not named for a lease never reached it, and goes
	// to others. [posthouse.ErrNotFound] if the session is over: all its claims are lost.
	// [posthouse.ErrInvalid] for more claims than the worker handles tasks at once.
	Heartbeat(ctx context.Context, session string, have []ClaimID) (*Pulse, error)

	// Load returns the task's slot, nil for one that nothing was saved to.
	// [posthouse.ErrConflict] if the claim is lost, as for all that follow.
	Load(ctx context.Context, id ClaimID) ([]byte, error)

	// Save writes the task's slot, at most [MaxSlot] bytes: the next attempt or iteration
	// finds it. [posthouse.ErrUnsupported] for a task without slots. Nil clears it. The n-th
	// save of a claim, from 1, does nothing if a later one was written before: it was late,
	// or was repeated. One with the number 0 is always written.
	Save(ctx context.Context, id ClaimID, n uint64, value []byte) error

	// Signal sends a signal, in the worker's name, to the thread of a task that the worker has.
	// One with an id is sent once. [posthouse.ErrForbidden] for another thread,
	// [posthouse.ErrInvalid] for a signal that says who sent it, or when.
	Signal(ctx context.Context, id ClaimID, thread string, s posthouse.Signal) error

	// Stream sends a chunk to those who follow the thread now, at most [MaxChunk] bytes. It
	// is not recorded.
	Stream(ctx context.Context, id ClaimID, chunk json.RawMessage) error

	// Records returns what the handler has on record: results of its steps, and the gates
	// that it waited for. It comes in pages: after is "" for the first, then the Next of
	// the page before. [posthouse.ErrInvalid] for another.
	Records(ctx context.Context, id ClaimID, after string) (*Records, error)

	// Record puts the result of a handler's step on record, under a name that Records gives.
	// The same again does nothing, and [posthouse.ErrExists] says that another result is there.
	// [posthouse.ErrInvalid] for what does not fit, and [posthouse.ErrTooLarge] for a result
	// beyond [MaxStep], or with which those of the iteration are beyond [MaxSteps].
	Record(ctx context.Context, id ClaimID, r StepResult) error

	// Begin asks whether an effect of the task's handler under a grant may run, by the rules of
	// gate.Act, and puts on record that it does, before it runs. [posthouse.ErrForbidden] for a
	// grant that this task's handler has not proposed, that licenses nothing, or that other
	// effects used, and for an effect that another call of the claim began;
	// [posthouse.ErrConflict] for one that ran on other content.
	Begin(ctx context.Context, id ClaimID, b Beginning) (*Begun, error)

	// End puts on record what became of an effect that the claim began. The same again does
	// nothing. [posthouse.ErrForbidden] for one that it has not begun, [posthouse.ErrExists] for
	// one that ended otherwise, [posthouse.ErrTooLarge] as for Record.
	End(ctx context.Context, id ClaimID, e Ending) error

	// Resolve ends the claim with a verdict. The same verdict again does nothing.
	// [posthouse.ErrConflict] if the claim is lost or had another verdict,
	// [posthouse.ErrInvalid] for one that does not fit; then the claim stays.
	Resolve(ctx context.Context, id ClaimID, v Verdict) error

	// Disconnect ends the session. Its claims are free at once, and their attempts count as
	// not made.
	Disconnect(ctx context.Context, session string) error
}

// Limits of what workers send, in bytes.
const (
	MaxInput  = 1 << 20       // of a task's input, and of what an iteration goes on with
	MaxOutput = 1 << 20       // of a verdict
	MaxSlot   = 1<<20 - 8<<10 // of a slot: stores have 1 MiB for it and what the engine keeps with it
	MaxStep   = 512 << 10     // of the result of a handler's step: each message carries one
	MaxSteps  = 16 << 20      // of all results of an iteration, with their names
	MaxChunk  = 64 << 10      // of a stream
	MaxWaits  = 100           // of a verdict; a number
)

// Protocol is the version of this interface that [Hello] names. Workers of version 1 do not
// say the session of their claims, and engines take their calls without. Workers of versions 1 and 2
// cannot say that an effect did not happen (NotDone): a verdict of theirs with an error leaves the
// outcome of an effect under a grant unknown. Engines are upgraded first: they refuse a worker of a
// version that they do not know.
const Protocol = 3

// A Hello says who a worker is.
type Hello struct {
	Protocol    int      `json:"protocol"`        // [Protocol]
	Worker      string   `json:"worker"`          // its name, 1 to 200 bytes; several processes may share it
	Group       string   `json:"group,omitempty"` // tasks for a group go to its workers only; tasks without a group go to all
	Tasks       []string `json:"tasks"`           // the names it handles, 1 to 1,000
	Concurrency int      `json:"atOnce"`          // how many it handles at once, 1 to 10,000
}

// A Session is a worker's connection.
type Session struct {
	ID    string        `json:"id"`
	Lease time.Duration `json:"lease"` // without a heartbeat for so long, its claims go to others
	Wait  time.Duration `json:"wait"`  // how long Claim waits for a task
}

// A ClaimID names one claim of a task. A worker sends it back as it came.
type ClaimID struct {
	Gate    posthouse.ID `json:"gate"`
	Fence   uint64       `json:"fence"`             // grows with each claim of the call
	Session string       `json:"session,omitempty"` // that has the claim; workers of protocol 1 leave it out
}

// A Claim is a task that a worker has. It has what the attempt needs.
type Claim struct {
	ID ClaimID `json:"id"`

	Thread string       `json:"thread"` // the seed's run id
	Step   string       `json:"step"`   // of the slot: the same for all attempts
	Call   posthouse.ID `json:"call"`   // the same for all attempts: a key that keeps an effect from happening twice

	// Key, if it is set, is the key of an effect under a grant, which keeps it from happening
	// twice, in place of Call. Grant is the gate that licenses it.
	Key   string       `json:"key,omitempty"`
	Grant posthouse.ID `json:"grant,omitempty"`

	Task      string            `json:"task"`
	Group     string            `json:"group,omitempty"`
	Input     json.RawMessage   `json:"input"`
	Attempt   int               `json:"attempt"`             // from 1
	Iteration int               `json:"iteration"`           // from 0
	Continued json.RawMessage   `json:"continued,omitempty"` // what the last iteration went on with
	Paused    string            `json:"paused,omitempty"`    // the pause it comes back from
	Failure   string            `json:"failure,omitempty"`   // of the last attempt
	Timeout   time.Duration     `json:"timeout,omitempty"`   // of this attempt; 0: no timeout
	NoSlot    bool              `json:"noSlot,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Trace     map[string]string `json:"trace,omitempty"`
}

// Records are a page of what handlers of a task have on record in this iteration. It has at
// most half a MiB of JSON, or one step or gate that is larger.
type Records struct {
	Within string           `json:"within"` // begins all names, followed by ">"
	Steps  []StepResult     `json:"steps,omitempty"`
	Gates  []posthouse.Gate `json:"gates,omitempty"` // questions and signals that were waited for

	// Grants says that effects of class external need a grant: see [Engine].Begin.
	Grants bool `json:"grants,omitempty"`

	Next string `json:"next,omitempty"` // begins the next page; "" on the last
}

// A StepResult is the recorded result of one call of a step in a handler.
type StepResult struct {
	Name       string           `json:"name"` // in full
	Occurrence uint32           `json:"occurrence,omitempty"`
	Effect     posthouse.Effect `json:"effect,omitempty"`
	Value      posthouse.Value  `json:"value"`

	Took  time.Duration    `json:"took,omitempty"`  // the call of the step's function, in nanoseconds
	Notes []posthouse.Note `json:"notes,omitempty"` // on the step
}

// A Wait is what a handler waits for: the answer of a question, a signal, or what is asked about
// an effect before it may run.
type Wait struct {
	// Question is what to ask. Its times count from 1970, since a worker's clock does not count.
	// One with uses proposes an effect.
	Question *posthouse.Gate `json:"question,omitempty"`
	Edited   posthouse.ID    `json:"edited,omitempty"` // the gate with the edit that the question proposes: the editor may have decided that, too
	Act      *Use            `json:"act,omitempty"`    // the engine asks whatever there is to ask about it

	Signal  string        `json:"signal,omitempty"`
	Latch   bool          `json:"latch,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
}

// A Pulse answers a heartbeat.
type Pulse struct {
	// Lost are claims of the session that it no longer has: the task was cancelled, its
	// deadline passed, or its thread is gone. Their handlers should stop.
	Lost []ClaimID `json:"lost,omitempty"`
}
