package accounts

import (
	"log/slog"
	"net/http"

	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// Routes are /api/people/rebind.
type Routes struct {
	book *Book
	log  *slog.Logger
}

// NewRoutes returns the routes of a book.
func NewRoutes(b *Book, log *slog.Logger) *Routes { return &Routes{b, log} }

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
		Method: http.MethodPost, Path: "/api/people/rebind", Role: tokens.Operator, Summary: "Free a name for another account", Handle: api.Reply(rs.rebind), Body: rebindBody{},
		Notes: "The first login with an account elsewhere binds that account to the name that its provider sends. Another account with this name, in whatever spelling, is refused " +
			"until an operator frees the name: the next account that comes with it gets it. Both are on record. 404 for a name that is bound to no account.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "the name is free", Body: Rebound{}, Media: ""}},
		Example: rebindBody{Name: "ann@example.com"},
	}}
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
