package accounts

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/tokens"
)

// Routes are /api/people/rebind, /api/people/logins and /api/people/logout.
type Routes struct {
	book *Book
	auth *auth.Authenticator
	log  *slog.Logger
}

// NewRoutes returns the routes of a book, and of the logins of a server.
func NewRoutes(b *Book, a *auth.Authenticator, log *slog.Logger) *Routes { return &Routes{b, a, log} }

// A Login is one with a browser that holds.
type Login struct {
	Name    string      `json:"name" doc:"who is logged in"`
	Role    tokens.Role `json:"role" doc:"what they may do with it"`
	Account bool        `json:"account,omitempty" doc:"with an account elsewhere, not with a token"`
	Since   time.Time   `json:"since"`
	Expires time.Time   `json:"expires" doc:"at the latest"`
	You     bool        `json:"you,omitempty" doc:"it is the one that asks"`
}

type logoutBody struct {
	Name string `json:"name" doc:"whose logins end; required"`
}

// An Outed says how many logins ended.
type Outed struct {
	Name   string `json:"name"`
	Logins int    `json:"logins" doc:"how many browsers were logged in, at the servers of this data directory"`
}

type rebindBody struct {
	Name string `json:"name" doc:"the name that an account has; required"`
}

// A Rebound says that a name is free.
type Rebound struct {
	Name string `json:"name" doc:"the next account that comes with it gets it"`
}

// Routes are the lines of the table.
func (rs *Routes) Routes() []*api.Route {
	return []*api.Route{{
		Method: http.MethodGet, Path: "/api/people/logins", Role: tokens.Operator, Summary: "List logins with a browser", Handle: api.All(rs.list), Query: []api.Param{api.FieldsParam()},
		Notes:   "Those that hold, of tokens and of accounts elsewhere, the newest first, at the servers of this data directory.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "the logins", Body: api.List[Login]{}, Media: ""}},
	}, {
		Method: http.MethodPost, Path: "/api/people/logout", Role: tokens.Operator, Summary: "End the logins of a person", Handle: api.Reply(rs.logout), Body: logoutBody{},
		Notes: "Their browsers are logged out at once; streams and WebSockets end with their next heartbeat. It is on record, and ends their logins with accounts elsewhere at each server " +
			"of the store, within five seconds, with the links to decide that these made. It revokes no token: DELETE /api/tokens/{owner} does.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "they are logged out", Body: Outed{}, Media: ""}},
		Example: logoutBody{Name: "ann@example.com"},
	}, {
		Method: http.MethodPost, Path: "/api/people/rebind", Role: tokens.Operator, Summary: "Free a name for another account", Handle: api.Reply(rs.rebind), Body: rebindBody{},
		Notes: "The first login with an account elsewhere binds that account to the name that its provider sends. Another account with this name, in whatever spelling, is refused " +
			"until an operator frees the name: the next account that comes with it gets it. Both are on record. 404 for a name that is bound to no account.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "the name is free", Body: Rebound{}, Media: ""}},
		Example: rebindBody{Name: "ann@example.com"},
	}}
}

func (rs *Routes) list(r *api.Request) ([]Login, error) {
	all := []Login{}
	for _, l := range rs.auth.LoggedIn() {
		all = append(all, Login{
			Name: l.Token.Name, Role: l.Token.Role, Account: l.Token.SignedIn != "", Since: l.Since.UTC(), Expires: l.Expires.UTC(),
			You: l.ID == r.Actor.Login,
		})
	}
	return all, nil
}

func (rs *Routes) logout(r *api.Request, b *logoutBody) (*Outed, error) {
	if err := posthouse.CheckNamed("name", b.Name, "whose logins end"); err != nil {
		return nil, err
	}
	if err := rs.book.End(r.Context(), b.Name, r.Actor.Name); err != nil {
		return nil, err
	}
	n := rs.auth.EndLogins(b.Name)
	rs.log.Warn("the logins of a person were ended", "name", b.Name, "logins", n, "by", r.Actor.Name)
	return &Outed{Name: b.Name, Logins: n}, nil
}

func (rs *Routes) rebind(r *api.Request, b *rebindBody) (*Rebound, error) {
	if err := check(b.Name); err != nil {
		return nil, err
	}
	if err := rs.book.Unbind(r.Context(), b.Name, r.Actor.Name); err != nil {
		return nil, err
	}
	rs.log.Warn("a name was freed for another account", "name", b.Name, "by", r.Actor.Name)
	return &Rebound{Name: b.Name}, nil
}
