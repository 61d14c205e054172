package server

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

type holdBody struct {
	Reason string `json:"reason,omitempty" doc:"goes on record; at most 4,000 bytes"`
}

func (s *Server) holdRoutes() []*api.Route {
	const path = "/api/threads/{id}/hold"
	return []*api.Route{
		{
			Method: http.MethodPost, Path: path, Role: tokens.Operator, Summary: "Put a thread under legal hold", Handle: s.hold,
			Notes: "Until it is lifted nothing of the thread can be deleted, and retention passes it over. One that is held already stays as it is.",
			Body:  holdBody{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "who holds it since when", Body: posthouse.Hold{}, Media: ""}},
		},
		{
			Method: http.MethodDelete, Path: path, Role: tokens.Operator, Summary: "Lift a thread's legal hold", Handle: s.unhold,
			Query:   []api.Param{{Name: "reason", Kind: api.TextParam, Help: "goes on record"}},
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is not held", Body: nil, Media: ""}},
		},
	}
}

func (s *Server) hold(w http.ResponseWriter, r *api.Request) error {
	thread, err := r.Name("id")
	if err != nil {
		return err
	}
	var b holdBody
	if err := r.Decode(&b); err != nil {
		return err
	}
	h, err := retain.Hold(context.WithoutCancel(r.Context()), s.ledger, thread, retain.HoldOptions{By: r.Actor.Name, Reason: b.Reason})
	if err != nil {
		return err
	}
	return api.WriteJSON(w, http.StatusOK, h)
}

func (s *Server) unhold(w http.ResponseWriter, r *api.Request) error {
	thread, err := r.Name("id")
	if err == nil {
		err = retain.Unhold(context.WithoutCancel(r.Context()), s.ledger, thread, retain.HoldOptions{By: r.Actor.Name, Reason: r.Query["reason"]})
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
