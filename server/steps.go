package server

import (
	"encoding/json"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/verbatim"
)

// maxResults bounds the results in one answer, in bytes.
const maxResults = 1 << 20

// A Step is a record of a step, or the checkpoint itself with what is told of its node.
type Step struct {
	posthouse.Event
	Result      json.RawMessage    `json:"result,omitempty" doc:"with results=true: what the step returned, as it is on record; where step.codec is not json it is base64 in a string"`
	ResultSize  int                `json:"resultSize,omitempty" doc:"with results=true: bytes of the result on record"`
	ResultState ledger.ResultState `json:"resultState,omitempty" doc:"with results=true, why the result is not there: removed, sealed (there is no key), or large (the answer has 1 MiB of results already, or would have)"`
}

// stepParams are the parameters that ask for steps.
func stepParams() []api.Param {
	return []api.Param{
		{Name: "steps", Kind: api.BoolParam, Def: "false", Help: "true: with what was recorded of steps since its parent, and the notes on them"},
		{Name: "results", Kind: api.BoolParam, Def: "false", Help: "true, with steps=true: also with what the steps returned, at most 1 MiB together"},
	}
}

// readSteps returns the steps of a checkpoint if a request asks for them. [posthouse.ErrInvalid] for results
// without steps.
func readSteps(r *api.Request, l *ledger.Ledger, h *posthouse.Header) ([]*Step, error) {
	withResults := r.Query["results"] == "true"
	if r.Query["steps"] != "true" {
		if withResults {
			return nil, posthouse.Invalid("results", "goes with steps=true")
		}
		return nil, nil
	}
	events, err := ledger.Steps(r.Context(), l, h)
	if err != nil {
		return nil, err
	}
	all := make([]*Step, len(events))
	for i, ev := range events {
		all[i] = &Step{Event: *ev}
	}
	if !withResults {
		return all, nil
	}
	for i, ev := range events {
		if ev.Step != nil && isMark(ev.Step.Name) {
			events[i] = &posthouse.Event{}
		}
	}
	results, err := ledger.StepResults(r.Context(), l, events, maxResults)
	if err != nil {
		return nil, err
	}
	for i, x := range results {
		if x == nil {
			continue
		}
		s := all[i]
		s.ResultSize, s.ResultState = x.Size, x.State
		if x.State == "" {
			s.Result, _ = verbatim.Show(x.Value)
		}
	}
	return all, nil
}

// isMark reports whether a record of this name is the runtime's own, about a step.
func isMark(name string) bool {
	return strings.HasPrefix(name[strings.LastIndexByte(name, '>')+1:], "$")
}
