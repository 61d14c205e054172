package server

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
)

type delegateBody struct {
	To     string `json:"to" doc:"who shall decide in their place; required"`
	By     string `json:"by,omitempty" doc:"whose right it is, if not the token's owner; needs the role operator"`
	Reason string `json:"reason,omitempty" doc:"at most 4,000 bytes"`
}

func delegateRoute(path string) *route {
	return &route{
		method: http.MethodPost, path: path + "/{id}/delegate", role: tokens.Approver, summary: "Delegate: hand the right to decide to somebody else",
		notes: "Of a gate with assignees, by one who may decide it. It is put on record; the gate stays as it was asked, and the decision says in whose place it was made.",
		body:  delegateBody{}, answers: []answer{{http.StatusOK, "the gate, with its assignments", posthouse.Gate{}, ""}}, handle: (*Server).delegate,
	}
}

func (s *Server) delegate(w http.ResponseWriter, r *request) error {
	g, err := s.gate(r)
	if err != nil {
		return err
	}
	var b delegateBody
	if err := r.decode(&b); err != nil {
		return err
	}
	by, actor, err := actingFor(r.actor, b.By)
	if err != nil {
		return err
	}
	g, err = s.ledger.Delegate(context.WithoutCancel(r.Context()), g.ID, posthouse.Delegation{By: by, Actor: actor, To: b.To, Reason: b.Reason})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, g)
}
