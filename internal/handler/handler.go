// Package handler says what steps, questions and waits find in the context of a handler, which
// runs at a worker and has no ledger.
//
// Package worker puts a [Scope] there. Packages step and gate look for one where the context
// carries no task of an engine. So a handler calls step.Do, step.Signal and gate.Ask as a
// program does, and the engine keeps what they record under the names that [Within] gives.
package handler

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// A Scope keeps what a handler records, asks and waits for. A wait that is not over returns
// [posthouse.ErrWaiting], which the handler returns: the task is parked, and the handler runs
// again from its top when the wait is over.
type Scope interface {
	// Do returns the recorded result of the next call of this name. If there is no recorded
	// result it runs fn, and records its result before it returns.
	Do(ctx context.Context, name string, effect posthouse.Effect, fn func(context.Context) (posthouse.Value, error)) (posthouse.Value, error)

	// Ask returns the gate of a question with its decision. Times in g count from [Epoch].
	Ask(g posthouse.Gate) (*posthouse.Gate, error)

	// Propose is Ask for a question that licenses effects once it is approved. Only a decision
	// that was given on the task's own branch answers. Edited names the gate with the edit that is
	// proposed with g, "" for a content that is proposed first.
	Propose(g posthouse.Gate, edited posthouse.ID) (*posthouse.Gate, error)

	// Replaced reports whether another gate was opened in the place of one that was edited: it
	// licenses the edit, if anything does.
	Replaced(edited posthouse.ID) bool

	// Act runs an effect under a grant, once, or returns its recorded result. A record before
	// it runs says that it may have happened, until its result is on record.
	Act(ctx context.Context, a Action) (posthouse.Value, error)

	// Note puts a note on record, with the step of the handler that ctx is in, else with the
	// handler's verdict.
	Note(ctx context.Context, n posthouse.Note) error

	// Signal returns the value of the next signal of a name, or with latch of the newest.
	// It fails with [posthouse.ErrExpired] after the timeout; 0: no timeout.
	Signal(name string, latch bool, timeout time.Duration) (json.RawMessage, error)
}

type key struct{}

// With returns a context below which steps and questions go to the scope.
func With(ctx context.Context, s Scope) context.Context { return context.WithValue(ctx, key{}, s) }

// From returns the scope of a handler's context.
func From(ctx context.Context) (Scope, bool) {
	s, ok := ctx.Value(key{}).(Scope)
	return s, ok
}

// A Wait is what a handler waits for: the answer of a question, a signal, or what is asked about
// an effect before it may run.
type Wait struct {
	Question *posthouse.Gate `json:"question,omitempty"` // its times count from [Epoch]; one with uses proposes an effect
	Edited   posthouse.ID    `json:"edited,omitempty"`   // the gate with the edit that the question proposes: the editor may have decided that, too
	Act      *Use            `json:"act,omitempty"`      // the engine asks whatever there is to ask about it

	Signal  string        `json:"signal,omitempty"`
	Latch   bool          `json:"latch,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Epoch stands for the time at which an engine takes a question: a worker's clock does not
// count.
var Epoch = time.Unix(0, 0).UTC()

// MaxInput bounds the input of a task, in bytes. It travels with every claim.
const MaxInput = 1 << 20

// SignalPrefix begins the names of waits for signals on record.
const SignalPrefix = "signal:"

// Nested separates the names of a call and what is recorded within it.
const Nested = ">"

// Call names one call of a step, as in "price[2]" for the third.
func Call(name string, n uint32) string {
	if n == 0 {
		return name
	}
	return name + "[" + strconv.FormatUint(uint64(n), 10) + "]"
}

// Within returns the name of the call under which an iteration of a task keeps its records:
// the gate's, with the iteration's number after the first.
func Within(gate string, occurrence uint32, iteration int) string {
	name := Call(gate, occurrence)
	if iteration > 0 {
		name += Nested + "iteration-" + strconv.Itoa(iteration)
	}
	return name
}

// CheckName checks the name of a step or question in a handler: 1 to 190 bytes without
// control characters and '>', that do not begin with $. [posthouse.ErrInvalid] names the field.
func CheckName(field, name string) error {
	if err := posthouse.ValidateName(field, name); err != nil {
		return err
	}
	if len(name) > maxName || strings.Contains(name, Nested) || strings.HasPrefix(name, "$") {
		return posthouse.Invalid(field, "name %.40q must have at most %d bytes without '>', and not begin with $", name, maxName)
	}
	return nil
}

// maxName leaves room for the prefixes of waits, in bytes.
const maxName = 190
