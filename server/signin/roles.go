package signin

import (
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
)

// Roles say which role people have: by name, by group, or all of them.
type Roles []Rule

// A Rule gives a role to somebody. One of Name, Group and All is set.
type Rule struct {
	Role  tokens.Role
	Name  string
	Group string
	All   bool
}

// ParseRule reads a rule as ROLE=NAME, ROLE=group:GROUP or ROLE=*. [posthouse.ErrInvalid]. The role
// worker is of no person.
func ParseRule(text string) (Rule, error) {
	role, who, ok := strings.Cut(text, "=")
	r := Rule{Role: tokens.Role(strings.TrimSpace(role))}
	who = strings.TrimSpace(who)
	group, isGroup := strings.CutPrefix(who, "group:")
	switch {
	case !ok || who == "" || isGroup && group == "":
		return r, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "role", Message: "is not ROLE=NAME", Hint: "as in approver=ann@example.com, operator=group:platform or viewer=*"}
	case !r.Role.Valid() || r.Role == tokens.Worker:
		return r, posthouse.Invalid("role", "%.40q is not one of viewer, approver and operator", string(r.Role))
	case who == "*":
		r.All = true
	case isGroup:
		r.Group = group
	default:
		r.Name = who
	}
	return r, nil
}

// Of returns the strongest role that a person has; ok is false for somebody without any.
func (rs Roles) Of(name string, groups []string) (role tokens.Role, ok bool) {
	for _, r := range rs {
		mine := r.All || r.Name != "" && posthouse.SameName(r.Name, name) || r.Group != "" && slices.Contains(groups, r.Group)
		if mine && (!ok || r.Role.May(role)) {
			role, ok = r.Role, true
		}
	}
	return role, ok
}
