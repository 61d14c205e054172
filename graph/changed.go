package graph

import (
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/upgrade"
	"github.com/posthouse/posthouse/internal/engine"
)

// A ChangedError says that this version of a graph cannot go on with a thread that
// another one left. The thread is untouched: run it with the version that left it,
// register a [Migration], or move it by [App.Update] with Goto. It matches
// [posthouse.ErrInvalid] and [posthouse.ErrOtherVersion].
type ChangedError struct {
	Graph, Thread, Branch string
	Checkpoint            posthouse.ID
	From, To              string // fingerprints, of the checkpoint and of this graph
	Migrated              bool   // migrations were applied, and are not enough
	Mismatches            []*Mismatch
}

// Error lists everything that does not fit.
func (e *ChangedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "posthouse: graph %q (%s) cannot go on with checkpoint %s of thread %q, made by version %s of it",
		e.Graph, e.To, e.Checkpoint, e.Thread, e.From)
	if e.Migrated {
		b.WriteString(", behind its migrations")
	}
	for _, m := range e.Mismatches {
		b.WriteString("\n- " + m.Error())
	}
	b.WriteString("\n(run it with the version that made it, register a Migration, or move it with UpdateOptions.Goto)")
	return b.String()
}

// Is matches [posthouse.ErrInvalid] and [posthouse.ErrOtherVersion].
func (e *ChangedError) Is(target error) bool {
	return target == posthouse.ErrInvalid || target == posthouse.ErrOtherVersion
}

// Unwrap returns the mismatches.
func (e *ChangedError) Unwrap() []error {
	errs := make([]error, len(e.Mismatches))
	for i, m := range e.Mismatches {
		errs[i] = m
	}
	return errs
}

func changedError(r *upgrade.Refusal) *ChangedError {
	e := &ChangedError{
		Graph: r.Graph, Thread: r.Thread, Branch: r.Branch, Checkpoint: r.Checkpoint,
		From: r.From, To: r.To, Migrated: r.Migrated, Mismatches: make([]*Mismatch, len(r.Mismatches)),
	}
	for i, m := range r.Mismatches {
		e.Mismatches[i] = newMismatch(m)
	}
	return e
}

// A MismatchKind says what of a checkpoint does not fit the graph.
type MismatchKind string

// The kinds of mismatch.
const (
	MismatchNode      MismatchKind = "node"      // a node that is to run is gone, or does not run without an input any more
	MismatchPart      MismatchKind = "part"      // a part of the state does not decode into its field
	MismatchInput     MismatchKind = "input"     // what a task was sent does not decode into its input type, or has keys that the type lacks
	MismatchJoin      MismatchKind = "join"      // a join, or a source that arrived at it, is gone; or nothing is left that it waits for
	MismatchResult    MismatchKind = "result"    // a recorded result of a task writes what does not decode, or leads to a node that is gone
	MismatchSubgraph  MismatchKind = "subgraph"  // a call of a subgraph has begun, and it is a plain node now or is kept elsewhere
	MismatchMigration MismatchKind = "migration" // a migration failed
)

// A Mismatch is one thing that does not fit. It matches [posthouse.ErrInvalid].
type Mismatch struct {
	Kind MismatchKind
	Name string // of the node or part; in a subgraph its path, as in "research/plan"
	Text string // a sentence
	Err  error  // the cause; may be nil
}

// Error returns the sentence and its cause.
func (m *Mismatch) Error() string {
	if m.Err == nil {
		return m.Text
	}
	return m.Text + ": " + engine.OneLine(m.Err.Error())
}

// Unwrap returns the cause.
func (m *Mismatch) Unwrap() error { return m.Err }

// Is matches [posthouse.ErrInvalid].
func (m *Mismatch) Is(target error) bool { return target == posthouse.ErrInvalid }

func newMismatch(m *migrate.Mismatch) *Mismatch {
	return &Mismatch{MismatchKind(m.Kind), m.Name, m.Text, m.Err}
}

// mismatchError returns the error of a migration, which is a Mismatch if the migration failed.
func mismatchError(err error) error {
	if m, ok := errors.AsType[*migrate.Mismatch](err); ok {
		return newMismatch(m)
	}
	return err
}
