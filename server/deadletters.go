package server

import (
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task/deadletter"
)

// Purged says how many dead letters were taken out.
type Purged struct {
	Purged int `json:"purged"`
}

func (s *Server) letterRoutes() []*api.Route {
	const path = "/api/dead-letters"
	return []*api.Route{
		{
			Method: http.MethodGet, Path: path, Role: tokens.Operator, Summary: "List dead letters", Handle: api.Show(s.listLetters),
			Notes: "Messages of workers and engines that do not parse or are too large, the newest first. They are bounded in number, bytes and age. A task that failed for good is none: see failed tasks.",
			Query: []api.Param{limitParam}, Answers: []api.Answer{{Status: http.StatusOK, Help: "the letters", Body: []deadletter.Letter{}, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: path + "/{id}/replay", Role: tokens.Operator, Summary: "Send a dead letter again", Handle: s.replayLetter,
			Notes:   "A hint goes to its queue, and is taken out here. 501 for a request: its sender was answered.",
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is sent", Body: nil, Media: ""}},
		},
		{
			Method: http.MethodDelete, Path: path + "/{id}", Role: tokens.Operator, Summary: "Take a dead letter out", Handle: s.removeLetter,
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is gone", Body: nil, Media: ""}},
		},
		{
			Method: http.MethodDelete, Path: path, Role: tokens.Operator, Summary: "Take all dead letters out", Handle: api.Show(s.purgeLetters),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "how many there were", Body: Purged{}, Media: ""}},
		},
	}
}

func (s *Server) noLetters() error {
	if s.letters != nil {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Message: "no messages come here that could be dead letters", Hint: "ask a server that workers reach over NATS",
	}
}

func (s *Server) listLetters(r *api.Request) ([]deadletter.Letter, error) {
	if err := s.noLetters(); err != nil {
		return nil, err
	}
	all, err := s.letters.Letters(r.Context(), r.Number("limit", defaultLimit))
	if all == nil {
		all = []deadletter.Letter{}
	}
	return all, err
}

func (s *Server) replayLetter(w http.ResponseWriter, r *api.Request) error {
	if err := s.noLetters(); err != nil {
		return err
	}
	if err := s.letters.Replay(r.Context(), string(r.ID("id"))); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) removeLetter(w http.ResponseWriter, r *api.Request) error {
	if err := s.noLetters(); err != nil {
		return err
	}
	if err := s.letters.Remove(r.Context(), string(r.ID("id"))); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) purgeLetters(r *api.Request) (*Purged, error) {
	if err := s.noLetters(); err != nil {
		return nil, err
	}
	n, err := s.letters.Purge(r.Context())
	return &Purged{n}, err
}
