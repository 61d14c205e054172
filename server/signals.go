package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
)

type cancelBody struct {
	Branch string `json:"branch,omitempty" doc:"main unless given"`
	Reason string `json:"reason,omitempty" doc:"goes on record; at most 4,000 bytes"`
}

// A CancelAsked says that whoever runs a branch was asked to cancel it.
type CancelAsked struct {
	Thread     string            `json:"thread"`
	Branch     string            `json:"branch"`
	Cancelling bool              `json:"cancelling" doc:"true: the run was asked to stop, and ends the branch"`
	Head       *posthouse.Header `json:"head,omitempty" doc:"the branch's head for now; none where the run has put nothing on record yet"`
}

func signalRoutes() []*route {
	const path = "/api/threads/{id}"
	return []*route{
		{
			method: http.MethodPost, path: path + "/signals/{signal}", role: tokens.Approver, summary: "Send a signal to a thread", handle: (*Server).sendSignal,
			notes: "The body is its value, any JSON of at most 1 MiB; none is null. It is on record whether or not anything waits for it; what waits goes on. " +
				"Each is taken once on each branch, oldest first. With an id, sending the same again sends nothing and answers as before.",
			query: []param{
				{name: "id", kind: idParam, help: "the signal's id, so that it can be sent again safely"},
				{name: "latch", kind: boolParam, def: "false", help: "true: it answers all that waits for its name"},
				{name: "early", kind: boolParam, def: "false", help: "true: also to a thread that is not there yet"},
			},
			body: json.RawMessage{}, answers: []answer{{http.StatusOK, "the signal, with the gates it answered", posthouse.Signal{}, ""}},
		},
		{
			method: http.MethodPost, path: path + "/cancel", role: tokens.Operator, summary: "Cancel a branch of a thread", handle: (*Server).cancelThread,
			notes: "A branch that nobody runs ends at once, its gates are cancelled. A run is asked to stop and ends its branch. What is done or cancelled stays as it is.",
			body:  cancelBody{}, answers: []answer{
				{http.StatusOK, "the branch's head: it has ended", posthouse.Header{}, ""},
				{http.StatusAccepted, "whoever runs it was asked", CancelAsked{}, ""},
			},
		},
	}
}

func (s *Server) sendSignal(w http.ResponseWriter, r *request) error {
	thread, err := r.name("id")
	if err != nil {
		return err
	}
	var value json.RawMessage
	if err := r.decode(&value); err != nil {
		return err
	}
	name, err := r.name("signal")
	if err != nil {
		return err
	}
	// The client may leave: what it sent is recorded all the same.
	sent, err := s.ledger.Signal(context.WithoutCancel(r.Context()), thread, posthouse.Signal{
		ID: posthouse.ID(r.query["id"]), Name: name, Value: value, By: r.actor.Name,
		Latch: r.query["latch"] == "true", Early: r.query["early"] == "true",
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, sent)
}

func (s *Server) cancelThread(w http.ResponseWriter, r *request) error {
	thread, err := r.name("id")
	if err != nil {
		return err
	}
	var b cancelBody
	if err := r.decode(&b); err != nil {
		return err
	}
	h, err := s.ledger.Cancel(context.WithoutCancel(r.Context()), thread, &posthouse.CancelOptions{
		Branch: b.Branch, By: r.actor.Name, Reason: b.Reason,
	})
	if err != nil {
		return err
	}
	if h.ID != "" && (h.Status == posthouse.StatusCancelled || h.Status == posthouse.StatusDone) {
		return writeJSON(w, http.StatusOK, h)
	}
	asked := &CancelAsked{Thread: h.Thread, Branch: h.Branch, Cancelling: true}
	if h.ID != "" {
		asked.Head = h
	}
	return writeJSON(w, http.StatusAccepted, asked)
}
