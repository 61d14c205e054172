package server

import (
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/strict"
)

func (s *Server) diff(w http.ResponseWriter, r *request) error {
	for _, name := range []string{"a", "b"} {
		if !r.has(name) {
			return strict.Invalid(name, "is required: a checkpoint's id")
		}
	}
	c, err := s.ledger.Compare(r.Context(), posthouse.ID(r.query["a"]), posthouse.ID(r.query["b"]))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, c)
}
