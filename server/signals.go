package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

type cancelBody struct {
	Branch string `json:"branch,omitempty" doc:"main unless given"`
	Reason string `json:"reason,omitempty" doc:"goes on record; at most 4,000 bytes"`
}

// A CancelAsked says that the run of a branch was asked to cancel it.
type CancelAsked struct {
	Thread     string            `json:"thread"`
	Branch     string            `json:"branch"`
	Cancelling bool              `json:"cancelling" doc:"true: the run was asked to stop, and ends the branch"`
	Head       *posthouse.Header `json:"head,omitempty" doc:"the branch's head for now; none where the run has put nothing on record yet"`
}

// signals are /api/threads/{id}/signals and cancel: what is told to the run of a thread.
type signals struct{ ledger *ledger.Ledger }

func (ss *signals) Routes() []*api.Route {
	const path = "/api/threads/{id}"
	return []*api.Route{
		{
			Method: http.MethodPost, Path: path + "/signals/{signal}", Role: tokens.Approver, Summary: "Send a signal to a thread", Handle: api.Reply(ss.send),
			Notes: "The body is its value, any JSON of at most 1 MiB; none is null. It is on record whether or not anything waits for it; what waits goes on. " +
				"Each is taken once on each branch, oldest first. With an id, sending the same again sends nothing and answers as before.",
			Query: []api.Param{
				{Name: "id", Kind: api.IDParam, Help: "the signal's id, so that it can be sent again safely"},
				{Name: "latch", Kind: api.BoolParam, Def: "false", Help: "true: it answers all that waits for its name"},
				{Name: "early", Kind: api.BoolParam, Def: "false", Help: "true: also to a thread that is not there yet"},
			},
			Body: json.RawMessage{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "the signal, with the gates it answered", Body: posthouse.Signal{}, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: path + "/cancel", Role: tokens.Operator, Summary: "Cancel a branch of a thread", Handle: api.Take(ss.cancel),
			Notes: "A branch that nobody runs ends at once, its gates are cancelled. A run is asked to stop and ends its branch. What is done or cancelled stays as it is.",
			Body:  cancelBody{}, Answers: []api.Answer{
				{Status: http.StatusOK, Help: "the branch's head: it has ended", Body: posthouse.Header{}, Media: ""},
				{Status: http.StatusAccepted, Help: "the run was asked to stop", Body: CancelAsked{}, Media: ""},
			},
		},
	}
}

func (ss *signals) send(r *api.Request, value *json.RawMessage) (*posthouse.Signal, error) {
	// The client may leave: what it sent is recorded all the same.
	return ss.ledger.Signal(context.WithoutCancel(r.Context()), r.Name("id"), posthouse.Signal{
		ID: posthouse.ID(r.Query["id"]), Name: r.Name("signal"), Value: *value, By: r.Actor.Name,
		Latch: r.Query["latch"] == "true", Early: r.Query["early"] == "true",
	})
}

func (ss *signals) cancel(w http.ResponseWriter, r *api.Request, b *cancelBody) error {
	h, err := ss.ledger.Cancel(context.WithoutCancel(r.Context()), r.Name("id"), &ledger.CancelOptions{
		Branch: b.Branch, By: r.Actor.Name, Reason: b.Reason,
	})
	if err != nil {
		return err
	}
	if h.ID != "" && (h.Status == posthouse.StatusCancelled || h.Status == posthouse.StatusDone) {
		return api.WriteJSON(w, http.StatusOK, h)
	}
	asked := &CancelAsked{Thread: h.Thread, Branch: h.Branch, Cancelling: true}
	if h.ID != "" {
		asked.Head = h
	}
	return api.WriteJSON(w, http.StatusAccepted, asked)
}
