package people

import (
	"context"
	"net/http"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/tokens"
)

// Delegations are the routes below /api/gates/{id} that move the right to decide. Make them with
// [NewDelegations].
type Delegations struct {
	ledger *ledger.Ledger
	names  *Names
}

// NewDelegations returns the delegations of a Ledger's gates.
func NewDelegations(l *ledger.Ledger, names *Names) *Delegations { return &Delegations{l, names} }

// A Delegated is a gate after the right to decide it moved.
type Delegated struct {
	posthouse.Gate
	Warning string `json:"warning,omitempty" doc:"what is not known of the person who may decide now; absent: the name is known"`
}

type delegateBody struct {
	To     string `json:"to" doc:"who shall decide in their place; required"`
	By     string `json:"by,omitempty" doc:"whose right it is, if not the token's owner; needs the role operator"`
	Reason string `json:"reason,omitempty" doc:"at most 4,000 bytes"`
}

type takeBackBody struct {
	To     string `json:"to,omitempty" doc:"to whom it was handed; without, the newest delegation that can be taken back"`
	By     string `json:"by,omitempty" doc:"who handed it on, if not the token's owner; needs the role operator"`
	Reason string `json:"reason,omitempty" doc:"at most 4,000 bytes"`
}

// Routes are the lines of the table.
func (ds *Delegations) Routes() []*api.Route {
	const path = "/api/gates/{id}"
	return []*api.Route{
		{
			Method: http.MethodPost, Path: path + "/delegate", Role: tokens.Approver, Summary: "Delegate: hand the right to decide to somebody else",
			Notes: "Of a gate with assignees, by one who may decide it. It is put on record; the gate stays as it was asked, and the decision says in whose place it was made. " +
				"A name whose role does not allow to decide is refused; one that is not known is taken, with a warning: GET /api/people has the names.",
			Body: delegateBody{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "the gate, with its assignments", Body: Delegated{}, Media: ""}}, Handle: api.Reply(ds.delegate),
		},
		{
			Method: http.MethodPost, Path: path + "/take-back", Role: tokens.Approver, Summary: "Take a delegation back",
			Notes: "By who handed the right on, also if it was handed on further since. They may decide again. A vote or decision that is on record first stands: then it is refused.",
			Body:  takeBackBody{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "the gate, with its assignments", Body: posthouse.Gate{}, Media: ""}}, Handle: api.Reply(ds.takeBack),
		},
	}
}

func (ds *Delegations) delegate(r *api.Request, b *delegateBody) (*Delegated, error) {
	d, err := delegation(r, b.To, b.By, b.Reason)
	if err != nil {
		return nil, err
	}
	g, err := ds.ledger.Gate(r.Context(), r.ID("id"))
	if err != nil {
		return nil, err
	}
	warning := ""
	if d.To != "" { // the Ledger refuses that
		warning, err = ds.names.check(r.Context(), d.To)
	}
	if err != nil {
		return nil, err
	}
	if again := sentAgain(r, g, d, deciders.Delegates); !again {
		g, err = ds.ledger.Delegate(context.WithoutCancel(r.Context()), g.ID, *d)
		if err != nil {
			return nil, err
		}
	}
	return &Delegated{*g, warning}, nil
}

func (ds *Delegations) takeBack(r *api.Request, b *takeBackBody) (*posthouse.Gate, error) {
	d, err := delegation(r, b.To, b.By, b.Reason)
	if err != nil {
		return nil, err
	}
	g, err := ds.ledger.Gate(r.Context(), r.ID("id"))
	if err != nil {
		return nil, err
	}
	if sentAgain(r, g, d, func(a *posthouse.Assignment) bool { return a.TakesBack != 0 }) {
		return g, nil
	}
	return ds.ledger.TakeBack(context.WithoutCancel(r.Context()), g.ID, *d)
}

func delegation(r *api.Request, to, by, reason string) (*posthouse.Delegation, error) {
	d := &posthouse.Delegation{To: to, Reason: reason}
	var err error
	d.By, d.Actor, err = auth.ActingFor(r.Actor, by)
	return d, err
}

// sentAgain reports whether the first attempt of a request is on record.
func sentAgain(r *api.Request, g *posthouse.Gate, d *posthouse.Delegation, is func(*posthouse.Assignment) bool) bool {
	return r.Reserved.Again && slices.ContainsFunc(g.Assignments, func(a posthouse.Assignment) bool {
		same := a.By == d.By && a.Actor == d.Actor && a.Reason == d.Reason && !a.At.Before(r.Reserved.At) && is(&a)
		return same && (a.TakesBack != 0 || slices.Equal(a.To, []string{d.To}))
	})
}
