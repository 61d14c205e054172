package auth

import (
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/server/tokens"
)

// RequireRole returns why a token may not do what needs a role, or nil.
func RequireRole(t tokens.Token, need tokens.Role) error {
	if t.Role.May(need) {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Message: "the token " + t.Name + " has the role " + string(t.Role) + "; this takes the role " + string(need),
		Hint: "use another token: posthouse token create --role " + string(need),
	}
}

// CheckPath is [api.Request.CheckPath], and keeps the record of logins and refused credentials from all but
// operators: it says where people are.
func CheckPath(r *api.Request) error {
	if err := r.CheckPath(); err != nil {
		return err
	}
	if authlog.Private(r.Query["thread"]) || slices.ContainsFunc(r.Names(), authlog.Private) {
		return RequireRole(r.Actor, tokens.Operator)
	}
	return nil
}

// ActingFor returns the name that an action is recorded under and, if that is not
// the token's owner, the owner as its actor.
func ActingFor(t tokens.Token, by string) (name, actor string, err error) {
	if by == "" || by == t.Name {
		return t.Name, "", nil
	}
	if err := posthouse.CheckDecider("by", by); err != nil {
		return "", "", err
	}
	if err := RequireRole(t, tokens.Operator); err != nil {
		return "", "", &posthouse.Error{
			Code: posthouse.CodeForbidden, Field: "by", Message: "may be another than the token's owner with the role operator only",
			Hint: "leave it out: it is recorded as " + t.Name + "'s",
		}
	}
	return by, t.Name, nil
}
