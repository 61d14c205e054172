package tokens

import (
	"slices"
)

// A Role says what a token may do. Each role may do what those before it may.
type Role string

// The roles, weakest first.
const (
	Viewer   Role = "viewer"   // read
	Approver Role = "approver" // and decide gates
	Operator Role = "operator" // and everything else: send requests, fork, delete, resume, act for others
)

var roles = []Role{Viewer, Approver, Operator}

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return slices.Contains(roles, r) }

// May reports whether r includes what need asks for.
func (r Role) May(need Role) bool {
	return r.Valid() && slices.Index(roles, r) >= slices.Index(roles, need)
}
