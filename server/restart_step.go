package server

import (
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// Anew is the outcome of restarting an unfinished step.
type Anew struct {
	Checkpoint *posthouse.Header `json:"checkpoint,omitempty" doc:"it is interrupted: resume it; absent in a dry run"`
	Dropped    []Result          `json:"dropped" doc:"results that do not count any more"`
	Kept       []Result          `json:"kept" doc:"effects on the world and people's answers: they happened, and nobody does them twice"`

	Stands []ledger.StandingFailure `json:"stands" doc:"calls that failed and are made again, with what the program did because of that: it stays done"`
}

type restartBody struct {
	KeepDone bool `json:"keepDone,omitempty" doc:"agree that a call which failed is made again although an effect that was done because of it stays done"`
}

// A Result is a recorded step without its value.
type Result struct {
	Task       string       `json:"task"`
	Name       string       `json:"name"`
	Occurrence uint32       `json:"occurrence"`
	Effect     string       `json:"effect,omitempty" doc:"pure, read, write, external or human"`
	Grant      posthouse.ID `json:"grant,omitempty" doc:"the gate whose decision licensed it"`
	At         time.Time    `json:"at"`
}

func (cs *checkpoints) restartRoute(path string) *api.Route {
	return &api.Route{
		Method: http.MethodPost, Path: path + "/{id}/anew", Role: tokens.Operator, Summary: "Begin an unfinished step anew", Handle: api.Take(cs.restartStep),
		Notes: "For a program that goes another way than the one on record. Results that the step recorded so far do not count any more, but for effects on the world and people's answers. Calls that failed are made again: stands says what the program did because of that, and an effect that stays behind one needs keepDone. The checkpoint must be its branch's head; nothing runs until it is resumed.",
		Query: []api.Param{{Name: "dryRun", Kind: api.BoolParam, Def: "false", Help: "true writes nothing, and says what would become of the results; it fails as the restart would"}}, Body: restartBody{},
		Answers: []api.Answer{{Status: http.StatusOK, Help: "the new checkpoint, and what became of the results", Body: Anew{}, Media: ""}},
	}
}

func (cs *checkpoints) restartStep(w http.ResponseWriter, r *api.Request, b *restartBody) error {
	if h := cs.restarted(r); h != nil {
		w.Header().Set("ETag", api.ETag(h.Hash))
		return api.WriteJSON(w, http.StatusOK, &Anew{Checkpoint: h, Dropped: []Result{}, Kept: []Result{}, Stands: []ledger.StandingFailure{}})
	}
	a, err := cs.ledger.RestartStep(r.Context(), r.ID("id"), &ledger.RestartStepOptions{By: r.Actor.Name, KeepDone: b.KeepDone, DryRun: r.Query["dryRun"] == "true"})
	if err != nil {
		return err
	}
	if a.Checkpoint != nil {
		w.Header().Set("ETag", api.ETag(a.Checkpoint.Hash))
	}
	return api.WriteJSON(w, http.StatusOK, &Anew{Checkpoint: a.Checkpoint, Dropped: results(a.Dropped), Kept: results(a.Kept), Stands: append([]ledger.StandingFailure{}, a.Stands...)})
}

// restarted returns the checkpoint that an earlier attempt of the request has made, or nil.
// The answer then does not tell again which results were dropped and kept.
func (cs *checkpoints) restarted(r *api.Request) *posthouse.Header {
	if !r.Reserved.Again {
		return nil
	}
	source, err := cs.ledger.GetHeader(r.Context(), r.ID("id"))
	if err != nil {
		return nil
	}
	for h, err := range cs.ledger.List(r.Context(), posthouse.Query{Thread: source.Thread, Branch: source.Branch, After: source.Cursor(), Limit: 100}) {
		if err == nil && h.Parent == source.ID && h.Kind == posthouse.KindRestartStep && h.By == r.Actor.Name && !h.CreatedAt.Before(r.Reserved.At) {
			return h
		}
	}
	return nil
}

func results(steps []posthouse.StepRecord) []Result {
	rs := make([]Result, len(steps))
	for i := range steps {
		x := &steps[i]
		rs[i] = Result{x.Task, x.Name, x.Occurrence, x.Effect.String(), x.Grant, x.At}
	}
	return rs
}
