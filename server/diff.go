package server

import (
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/server/internal/api"
)

func (s *Server) diff(w http.ResponseWriter, r *api.Request) error {
	for _, name := range []string{"a", "b"} {
		if !r.Has(name) {
			return posthouse.Invalid(name, "is required: a checkpoint's id")
		}
	}
	c, err := diff.Compare(r.Context(), s.ledger, posthouse.ID(r.Query["a"]), posthouse.ID(r.Query["b"]))
	if err != nil {
		return err
	}
	return api.WriteJSON(w, http.StatusOK, c)
}
