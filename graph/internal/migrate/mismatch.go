package migrate

import (
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Kind says what of a checkpoint does not fit the graph.
type Kind string

// The kinds of mismatch.
const (
	MismatchNode      Kind = "node"      // a node that is to run is gone, or does not run without an input any more
	MismatchPart      Kind = "part"      // a part of the state has no field, or does not decode into it, or has keys that its type lacks
	MismatchInput     Kind = "input"     // what a task was sent does not decode into its input type, or has keys that the type lacks
	MismatchJoin      Kind = "join"      // a join, or a source that arrived at it, is gone; or nothing is left that it waits for
	MismatchResult    Kind = "result"    // a recorded result of a task writes what does not decode, or leads to a node that is gone
	MismatchSubgraph  Kind = "subgraph"  // a call of a subgraph has begun, and it is a plain node now or is kept elsewhere
	MismatchMigration Kind = "migration" // a migration failed
)

// A Mismatch is one thing that does not fit, see graph.Mismatch. It matches [posthouse.ErrInvalid].
type Mismatch struct {
	Kind Kind
	Name string // of the node or part; in a subgraph its path, as in "research/plan"
	Text string // a sentence
	Err  error  // the cause; may be nil
}

// Misfit returns a mismatch with its sentence, and the cause or nil.
func Misfit(kind Kind, name string, cause error, format string, args ...any) *Mismatch {
	return &Mismatch{Kind: kind, Name: name, Text: fmt.Sprintf(format, args...), Err: cause}
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
