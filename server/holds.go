package server

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

type holdBody struct {
	Reason string `json:"reason,omitempty" doc:"goes on record; at most 4,000 bytes"`
}

// holds are /api/threads/{id}/hold: threads under legal hold.
type holds struct{ ledger *ledger.Ledger }

func (hs *holds) Routes() []*api.Route {
	const path = "/api/threads/{id}/hold"
	return []*api.Route{
		{
			Method: http.MethodPost, Path: path, Role: tokens.Operator, Summary: "Put a thread under legal hold", Handle: api.Reply(hs.put),
			Notes: "Until it is lifted nothing of the thread can be deleted, and retention passes it over. One that is held already stays as it is.",
			Body:  holdBody{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "who holds it since when", Body: Hold{}, Media: ""}},
		},
		{
			Method: http.MethodDelete, Path: path, Role: tokens.Operator, Summary: "Lift a thread's legal hold", Handle: hs.lift,
			Query:   []api.Param{reasonParam},
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is not held", Body: nil, Media: ""}},
		},
	}
}

// A Hold is a thread's legal hold as the API shows it.
type Hold struct {
	By    string    `json:"by"`
	Since time.Time `json:"since"`
	Seq   uint64    `json:"seq" doc:"of the entry that records it"`
}

// showHold is nil for a thread that is not held.
func showHold(h *posthouse.Hold) *Hold {
	if h == nil || h.Seq == 0 {
		return nil
	}
	return &Hold{By: h.By, Since: toTime(h.Since), Seq: h.Seq}
}

func (hs *holds) put(r *api.Request, b *holdBody) (*Hold, error) {
	h, err := retain.Hold(context.WithoutCancel(r.Context()), hs.ledger, r.Name("id"), retain.HoldOptions{By: r.Actor.Name, Reason: b.Reason})
	if err != nil {
		return nil, err
	}
	return showHold(h), nil
}

func (hs *holds) lift(w http.ResponseWriter, r *api.Request) error {
	err := retain.Unhold(context.WithoutCancel(r.Context()), hs.ledger, r.Name("id"), retain.HoldOptions{By: r.Actor.Name, Reason: r.Query["reason"]})
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
