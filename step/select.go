package step

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/handler"
)

// A Case is one of the waits of a [Select].
type Case[T any] struct {
	// Name tells the cases of a select apart, and what they have on record. As of a step.
	Name string

	// Wait asks, waits, or runs steps, with the context that it is given. It returns what that
	// came to, or [posthouse.ErrWaiting] while it waits.
	Wait func(ctx context.Context) (T, error)
}

// When returns a case.
func When[T any](name string, wait func(ctx context.Context) (T, error)) Case[T] {
	return Case[T]{Name: name, Wait: wait}
}

// A Selected is the case of a [Select] that was over first.
type Selected[T any] struct {
	Case  string // its name
	Value T      // what it returned
}

// Select waits for the first of several things: answers (gate.Ask, gate.Propose), signals,
// times, tasks of workers. It returns the case that is over first, and what it returned. While
// all of them wait it returns [posthouse.ErrWaiting], which parks the thread with all their
// questions and waits open.
//
//	first, err := step.Select(ctx, "approval",
//		step.When("manager", func(ctx context.Context) (bool, error) {
//			a, err := gate.Ask[any](ctx, gate.Question{Name: "ship"})
//			return a.Approved(), err
//		}),
//		step.When("too late", func(ctx context.Context) (bool, error) {
//			return false, step.Sleep(ctx, "deadline", 48*time.Hour)
//		}))
//
// The commit that records the winner withdraws what the others wait for: questions leave the
// inbox, and a late answer is [posthouse.ErrDecided]; timers and waits for signals end; tasks
// are cancelled, and one that a worker had claimed under a grant has an unknown outcome. Nothing
// else withdraws a question of a program that goes on. Executed again, Select returns the same
// winner and runs no case.
//
// If several are over by the time the program is executed, the one that was over first on record
// wins, whatever their order in the code. Cases run one after another, and a case may run more than
// once, as the program may. A case that waits for nothing wins unless one before it in the list is
// over. Answers to the others stay on record and are not used. A signal for one of them is not
// taken: the next wait for its name gets it. A wait that ends without a value (its deadline
// passed, the question was refused or withdrawn, a worker gave up) is over, too: Select returns its
// error, read from the record as a [runs.Failure] is, with the case. Any other error of a case is that
// of the select, as of a step: it withdraws nothing.
//
// Errors: those; [posthouse.ErrInvalid] without cases, for two of one name, and as for [Do];
// [posthouse.ErrUnsupported] in a worker's handler.
func Select[T any](ctx context.Context, name string, cases ...Case[T]) (won Selected[T], err error) {
	if _, ok := handler.From(ctx); ok {
		return won, &posthouse.Error{
			Code: posthouse.CodeUnsupported, Field: "select", Message: name + " is not for handlers",
			Hint: "wait for the first of several things in the program that hands the task out",
		}
	}
	task, err := engine.TaskOf(ctx, "select "+name)
	if err != nil {
		return won, err
	}
	if len(cases) == 0 {
		return won, posthouse.Invalid("cases", "of select %.40q are missing", name)
	}
	list, names := make([]engine.SelectCase, len(cases)), make(map[string]bool, len(cases))
	for i, c := range cases {
		if err := engine.CheckName("case", c.Name); err != nil {
			return won, err
		}
		if c.Wait == nil || names[c.Name] {
			return won, posthouse.Invalid("cases", "of select %.40q: %.40q has no function, or is there twice", name, c.Name)
		}
		names[c.Name] = true
		list[i] = engine.SelectCase{Name: c.Name, Wait: workOf(name, &Options{}, c.Wait)}
	}
	winner, v, failed, err := task.Select(ctx, name, list)
	if err != nil {
		return won, err
	}
	won.Case = winner
	if failed != nil {
		return won, failed
	}
	won.Value, err = posthouse.Decode[T](v)
	return won, err
}
