package people

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/substitutes"
)

// Substitutes are /api/substitutes. Make them with [NewSubstitutes].
type Substitutes struct {
	ledger *ledger.Ledger
	names  *Names
}

// NewSubstitutes returns the substitutions of a Ledger's store.
func NewSubstitutes(l *ledger.Ledger, names *Names) *Substitutes { return &Substitutes{l, names} }

// A Named is a substitution that was put on record.
type Named struct {
	deciders.Substitution
	Warning string `json:"warning,omitempty" doc:"what is not known of the substitute; absent: the name is known"`
}

type substituteBody struct {
	To     string    `json:"to" doc:"who decides in their place; required"`
	Until  time.Time `json:"until" doc:"when it ends, RFC 3339, in at most 366 days; required"`
	From   time.Time `json:"from,omitzero" doc:"when it begins; now unless given"`
	By     string    `json:"by,omitempty" doc:"who is away, if not the token's owner; needs the role operator"`
	Reason string    `json:"reason,omitempty" doc:"at most 500 bytes"`
}

var one = []api.Answer{{Status: http.StatusOK, Help: "the substitution", Body: Named{}, Media: ""}}

// Routes are the lines of the table.
func (ss *Substitutes) Routes() []*api.Route {
	const path = "/api/substitutes"
	return []*api.Route{
		{
			Method: http.MethodGet, Path: path, Role: tokens.Viewer, Summary: "List substitutes", Handle: api.All(ss.list),
			Notes:   "Those that have not ended, in the order in which they were named.",
			Query:   []api.Param{{Name: "person", Kind: api.TextParam, Help: "who is away, or stands in; me is the token's owner"}},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the substitutions", Body: api.List[deciders.Substitution]{}, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: path, Role: tokens.Approver, Summary: "Name a substitute over a period",
			Notes: "What is assigned to by may then be decided by to. It counts as a delegation that is made when it is used: the decision says in whose place it was made, a person has one vote, " +
				"and no right comes from a requester or goes to one. The substitute of a substitute has no right. " +
				"A name whose role does not allow to decide is refused; one that is not known is taken, with a warning.",
			Body: substituteBody{}, Answers: one, Handle: api.Reply(ss.name),
		},
		{
			Method: http.MethodDelete, Path: path + "/{id}", Role: tokens.Approver, Summary: "Withdraw a substitution", Handle: ss.withdraw,
			Notes: "By who is away or the substitute; by an operator for either. What was decided stands.",
			Query: []api.Param{
				{Name: "by", Kind: api.TextParam, Help: "whose withdrawal it is, if not the token's owner's; needs the role operator"},
				{Name: "reason", Kind: api.TextParam, Help: "why, at most 500 bytes"},
			},
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it has ended", Body: nil, Media: ""}},
		},
	}
}

func (ss *Substitutes) list(r *api.Request) ([]deciders.Substitution, error) {
	person := r.Query["person"]
	if person == "me" {
		person = r.Actor.Name
	}
	return substitutes.List(r.Context(), ss.ledger, person)
}

func (ss *Substitutes) name(r *api.Request, b *substituteBody) (*Named, error) {
	by, actor, err := auth.ActingFor(r.Actor, b.By)
	if err != nil {
		return nil, err
	}
	warning := ""
	if b.To != "" && b.To != by { // the Ledger refuses those
		warning, err = ss.names.check(r.Context(), b.To)
	}
	if err != nil {
		return nil, err
	}
	if r.Reserved.Again { // the first attempt may be on record
		all, err := substitutes.List(r.Context(), ss.ledger, by)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if s := &all[i]; s.By == by && s.To == b.To && s.Actor == actor && s.Until.Equal(posthouse.ToMillis(b.Until)) && !s.At.Before(r.Reserved.At) {
				return &Named{*s, warning}, nil
			}
		}
	}
	s, err := substitutes.Name(context.WithoutCancel(r.Context()), ss.ledger, deciders.Substitution{By: by, Actor: actor, To: b.To, From: b.From, Until: b.Until, Reason: b.Reason})
	if err != nil {
		return nil, err
	}
	return &Named{*s, warning}, nil
}

func (ss *Substitutes) withdraw(w http.ResponseWriter, r *api.Request) error {
	by, actor, err := auth.ActingFor(r.Actor, r.Query["by"])
	if err != nil {
		return err
	}
	if actor == "" && r.Actor.Role.May(tokens.Operator) { // in the place of who is away, unless they are one of the two
		by, actor, err = ss.operates(r, by)
		if err != nil {
			return err
		}
	}
	err = substitutes.Withdraw(context.WithoutCancel(r.Context()), ss.ledger, r.ID("id"), substitutes.Withdrawal{By: by, Actor: actor, Reason: r.Query["reason"]})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// operates returns for whom an operator withdraws a substitution.
func (ss *Substitutes) operates(r *api.Request, operator string) (by, actor string, err error) {
	all, err := substitutes.List(r.Context(), ss.ledger, "")
	if err != nil {
		return "", "", err
	}
	for i := range all {
		if s := &all[i]; s.ID == posthouse.ID(r.ID("id")) && s.By != operator && s.To != operator {
			return s.By, operator, nil
		}
	}
	return operator, "", nil
}
