package server

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
)

type holdBody struct {
	Reason string `json:"reason,omitempty" doc:"goes on record; at most 4,000 bytes"`
}

func holdRoutes() []*route {
	const path = "/api/threads/{id}/hold"
	return []*route{
		{
			method: http.MethodPost, path: path, role: tokens.Operator, summary: "Put a thread under legal hold", handle: (*Server).hold,
			notes: "Until it is lifted nothing of the thread can be deleted, and retention passes it over. One that is held already stays as it is.",
			body:  holdBody{}, answers: []answer{{http.StatusOK, "who holds it since when", posthouse.Hold{}, ""}},
		},
		{
			method: http.MethodDelete, path: path, role: tokens.Operator, summary: "Lift a thread's legal hold", handle: (*Server).unhold,
			query:   []param{{name: "reason", kind: textParam, help: "goes on record"}},
			answers: []answer{{http.StatusNoContent, "it is not held", nil, ""}},
		},
	}
}

func (s *Server) hold(w http.ResponseWriter, r *request) error {
	thread, err := r.name("id")
	if err != nil {
		return err
	}
	var b holdBody
	if err := r.decode(&b); err != nil {
		return err
	}
	h, err := s.ledger.Hold(context.WithoutCancel(r.Context()), thread, posthouse.HoldOptions{By: r.actor.Name, Reason: b.Reason})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, h)
}

func (s *Server) unhold(w http.ResponseWriter, r *request) error {
	thread, err := r.name("id")
	if err == nil {
		err = s.ledger.Unhold(context.WithoutCancel(r.Context()), thread, posthouse.HoldOptions{By: r.actor.Name, Reason: r.query["reason"]})
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
