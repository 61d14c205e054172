package server

import (
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/asked"
	"github.com/posthouse/posthouse/server/tokens"
)

// resumeRoutes are the routes that run a branch on from the checkpoint that the path
// names, by its own id or a gate's.
func (cs *checkpoints) resumeRoutes(path, by string) []*api.Route {
	return []*api.Route{
		{
			Method: http.MethodPost, Path: path + "/{id}/resume", Role: tokens.Operator, Summary: "Resume an interrupted or failed branch" + by, Handle: cs.resumeHead,
			Notes: "The checkpoint must be its branch's head. Waits like a decision. With dryRun nothing runs, and the answer says in resumes what would run, and act again under decisions that stand; it fails as a resume would.",
			Query: []api.Param{{Name: "dryRun", Kind: api.BoolParam, Def: "false", Help: "true runs nothing, and says what a resume would run and do"}}, Answers: waited,
		},
		{
			Method: http.MethodPost, Path: path + "/{id}/replay", Role: tokens.Operator, Summary: "Run again from a checkpoint" + by, Handle: api.Take(cs.replay),
			Notes: "Forks the checkpoint and resumes the fork.", Body: replayBody{}, Answers: waited,
		},
	}
}

// origin returns the checkpoint that a path names, or the checkpoint of the gate that it names.
func (cs *checkpoints) origin(r *api.Request) (*posthouse.Header, error) {
	if !strings.HasPrefix(r.Route.Path, "/api/gates/") {
		return cs.ledger.GetHeader(r.Context(), r.ID("id"))
	}
	g, err := cs.ledger.Gate(r.Context(), r.ID("id"))
	if err != nil {
		return nil, err
	}
	return cs.ledger.GetHeader(r.Context(), g.Checkpoint)
}

func (cs *checkpoints) resumeHead(w http.ResponseWriter, r *api.Request) error {
	h, err := cs.origin(r)
	if err != nil {
		return err
	}
	id := h.ID
	info, err := cs.ledger.Thread(r.Context(), h.Thread)
	if err != nil {
		return err
	}
	head, _ := info.Branch(h.Branch)
	switch {
	case head.Head != id && r.Reserved.Again:
		return cs.outcomes.await(w, r, &pending{checkpoint: h, after: h.Seq}) // an earlier attempt has resumed it
	case head.Head != id:
		return &posthouse.Error{
			Code: posthouse.CodeConflict, Head: head.Head, Message: "checkpoint " + string(id) + " is not the head of its branch any more",
			Hint: "resume the head, or replay from here",
		}
	case head.Status == posthouse.StatusWaiting:
		open, err := asked.Open(r.Context(), cs.ledger, h)
		if err != nil {
			return err
		}
		e := &posthouse.Error{
			Code: posthouse.CodeConflict, Gates: asked.IDs(open), Message: "checkpoint " + string(id) + " waits for a decision", Hint: "decide its gate: that resumes it",
		}
		if len(open) == 0 {
			e.Message, e.Hint = "checkpoint "+string(id)+" waits for a time, a signal or another thread", "it goes on by itself; cancel its gate to end the wait: GET /api/gates?checkpoint="+string(id)+"&kind=timer, signal or thread lists it"
		}
		return e
	case len(h.Next) == 0 || head.Status == posthouse.StatusDone || head.Status == posthouse.StatusCancelled:
		return nothingNext(id)
	case r.Query["dryRun"] == "true":
		return cs.planResume(w, r, h)
	}
	return cs.goOn(w, r, h)
}

func (cs *checkpoints) planResume(w http.ResponseWriter, r *api.Request, h *posthouse.Header) error {
	if cs.runner == nil {
		return noPrograms()
	}
	plan, err := ledger.PlanResume(r.Context(), cs.ledger, h.Thread, h.Branch)
	if err != nil {
		return err
	}
	return api.WriteJSON(w, http.StatusOK, &Checkpoint{Header: *h, Resumes: plan})
}

func nothingNext(id posthouse.ID) error {
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Message: "nothing is to be run after checkpoint " + string(id), Hint: "replay from an earlier one",
	}
}

// goOn runs a branch on from its head and answers once no run holds it.
func (cs *checkpoints) goOn(w http.ResponseWriter, r *api.Request, h *posthouse.Header) error {
	if cs.runner == nil {
		return noPrograms()
	}
	if r.Reserved.Again {
		info, err := cs.ledger.Thread(r.Context(), h.Thread)
		if err != nil {
			return err
		}
		if b, _ := info.Branch(h.Branch); b.Head != h.ID {
			return cs.outcomes.await(w, r, &pending{checkpoint: h, after: h.Seq})
		}
	}
	if err := cs.runner.Resume(r.Context(), h.Thread, h.Branch); err != nil {
		return err
	}
	return cs.outcomes.await(w, r, &pending{checkpoint: h, after: h.Seq})
}

func noPrograms() error {
	return &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this server runs no programs", Hint: "start one that has the program"}
}

type replayBody struct {
	Branch string `json:"branch,omitempty" doc:"the new branch's name; fork-1, fork-2, ... unless given"`
	Thread string `json:"thread,omitempty" doc:"replay in this new thread instead"`
}

func (cs *checkpoints) replay(w http.ResponseWriter, r *api.Request, b *replayBody) error {
	src, err := cs.origin(r)
	if err != nil {
		return err
	}
	if len(src.Next) == 0 {
		return nothingNext(src.ID)
	}
	o := &ledger.ForkOptions{Thread: b.Thread, Branch: b.Branch, By: r.Actor.Name, ID: r.Reserved.ID}
	if cs.runner != nil || src.Status != posthouse.StatusWaiting {
		if err := cs.mayRunFork(r.Context(), src.ID, o); err != nil {
			return err
		}
	}
	c, err := cs.makeFork(r, src.ID, o)
	if err != nil {
		return err
	}
	if c.Status == posthouse.StatusWaiting { // it asks again
		return writeCheckpoint(w, c)
	}
	return cs.goOn(w, r, &c.Header)
}
