package server

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

type delegateBody struct {
	To     string `json:"to" doc:"who shall decide in their place; required"`
	By     string `json:"by,omitempty" doc:"whose right it is, if not the token's owner; needs the role operator"`
	Reason string `json:"reason,omitempty" doc:"at most 4,000 bytes"`
}

func (s *Server) delegateRoute(path string) *api.Route {
	return &api.Route{
		Method: http.MethodPost, Path: path + "/{id}/delegate", Role: tokens.Approver, Summary: "Delegate: hand the right to decide to somebody else",
		Notes: "Of a gate with assignees, by one who may decide it. It is put on record; the gate stays as it was asked, and the decision says in whose place it was made.",
		Body:  delegateBody{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "the gate, with its assignments", Body: posthouse.Gate{}, Media: ""}}, Handle: api.Reply(s.delegate),
	}
}

func (s *Server) delegate(r *api.Request, b *delegateBody) (*posthouse.Gate, error) {
	g, err := s.gate(r)
	if err != nil {
		return nil, err
	}
	by, actor, err := actingFor(r.Actor, b.By)
	if err != nil {
		return nil, err
	}
	return s.ledger.Delegate(context.WithoutCancel(r.Context()), g.ID, posthouse.Delegation{By: by, Actor: actor, To: b.To, Reason: b.Reason})
}
