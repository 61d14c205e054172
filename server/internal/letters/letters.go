package letters

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

// Letters is the resource of dead letters.
type Letters struct{ Box deadletter.Box } // nil: the server has no box

// The limits of a list.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// Routes are those below /api/dead-letters.
func (dl *Letters) Routes() []*api.Route {
	const path = "/api/dead-letters"
	return []*api.Route{
		{
			Method: http.MethodGet, Path: path, Role: tokens.Operator, Summary: "List dead letters", Handle: api.All(dl.list),
			Notes: "Messages of workers and engines that do not parse or are too large, the newest first. They are bounded in number, bytes and age. A task that failed for good is none: see failed tasks.",
			Query: []api.Param{{Name: "limit", Kind: api.IntParam, Max: maxLimit, Def: "100", Help: "how many"}}, Answers: []api.Answer{{Status: http.StatusOK, Help: "the letters", Body: api.List[deadletter.Letter]{}, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: path + "/{id}/replay", Role: tokens.Operator, Summary: "Send a dead letter again", Handle: dl.replay,
			Notes:   "A hint goes to its queue, and is taken out here. 501 for a request: its sender was answered.",
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is sent", Body: nil, Media: ""}},
		},
		{
			Method: http.MethodDelete, Path: path + "/{id}", Role: tokens.Operator, Summary: "Take a dead letter out", Handle: dl.remove,
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is gone", Body: nil, Media: ""}},
		},
		{
			Method: http.MethodDelete, Path: path, Role: tokens.Operator, Summary: "Take all dead letters out", Handle: api.Show(dl.purge),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "how many there were", Body: Purged{}, Media: ""}},
		},
	}
}

// check fails on a server that has no box.
func (dl *Letters) check() error {
	if dl.Box != nil {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Message: "no messages come here that could be dead letters", Hint: "ask a server that workers reach over NATS",
	}
}

func (dl *Letters) list(r *api.Request) ([]deadletter.Letter, error) {
	if err := dl.check(); err != nil {
		return nil, err
	}
	return dl.Box.Letters(r.Context(), r.Number("limit", defaultLimit))
}

func (dl *Letters) replay(w http.ResponseWriter, r *api.Request) error {
	if err := dl.check(); err != nil {
		return err
	}
	if err := dl.Box.Replay(r.Context(), string(r.ID("id"))); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (dl *Letters) remove(w http.ResponseWriter, r *api.Request) error {
	if err := dl.check(); err != nil {
		return err
	}
	if err := dl.Box.Remove(r.Context(), string(r.ID("id"))); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (dl *Letters) purge(r *api.Request) (*Purged, error) {
	if err := dl.check(); err != nil {
		return nil, err
	}
	n, err := dl.Box.Purge(r.Context())
	return &Purged{n}, err
}
