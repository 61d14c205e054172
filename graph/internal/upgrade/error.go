package upgrade

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/migrate"
)

// A ChangedError says that this version of a graph cannot go on with a thread of another
// one, see graph.ChangedError. It matches [posthouse.ErrInvalid] and
// [posthouse.ErrOtherVersion].
type ChangedError struct {
	Graph, Thread, Branch string
	Checkpoint            posthouse.ID
	From, To              string // fingerprints, of the checkpoint and of this graph
	Migrated              bool   // migrations were applied, and are not enough
	Mismatches            []*migrate.Mismatch
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

// Unwrap returns the causes of the mismatches.
func (e *ChangedError) Unwrap() []error {
	errs := make([]error, len(e.Mismatches))
	for i, m := range e.Mismatches {
		errs[i] = m
	}
	return errs
}
