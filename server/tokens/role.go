package tokens

import (
	"slices"
)

// A Role says what a token may do. A viewer, an approver and an operator may do what those
// before them may. A worker may do nothing but what workers do, and an operator that, too.
type Role string

// The roles, weakest first, and that of workers, which reads nothing.
const (
	Viewer   Role = "viewer"   // read
	Approver Role = "approver" // and decide gates
	Operator Role = "operator" // and everything else: send requests, fork, delete, resume, act for others
	Worker   Role = "worker"   // claim and resolve tasks
)

var ranked = []Role{Viewer, Approver, Operator}

// Roles returns all roles.
func Roles() []Role { return append(slices.Clone(ranked), Worker) }

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return r == Worker || slices.Contains(ranked, r) }

// May reports whether r includes what need asks for.
func (r Role) May(need Role) bool {
	if r == Worker || need == Worker {
		return r == need || r == Operator && need == Worker
	}
	return r.Valid() && need.Valid() && slices.Index(ranked, r) >= slices.Index(ranked, need)
}
