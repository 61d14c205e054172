package server

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/server/internal/api"
)

func (s *Server) diff(r *api.Request) (*diff.Comparison, error) {
	for _, name := range []string{"a", "b"} {
		if !r.Has(name) {
			return nil, posthouse.Invalid(name, "is required: a checkpoint's id")
		}
	}
	return diff.Compare(r.Context(), s.ledger, posthouse.ID(r.Query["a"]), posthouse.ID(r.Query["b"]))
}
