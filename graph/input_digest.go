package graph

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
)

// inputPart is the program's part that says with what input a run began whose id
// the caller gave, so that nobody takes its result for that of another input.
const inputPart = "$input"

// A sent is that part.
type sent struct {
	Run   string            `json:"run"`
	Parts map[string]string `json:"parts"` // digests, by part; a zero value has none
}

// sentParts returns what an input does to the program's parts. Runs without an id of
// their own say nothing.
func (r *run[S]) sentParts(in *S) ([]posthouse.Part, error) {
	digests, ok := r.app.schema.Digests(in)
	if r.opt.Run == "" || !ok {
		if _, stale := r.program[inputPart]; stale {
			return []posthouse.Part{{Name: inputPart, Drop: true}}, nil
		}
		return nil, nil
	}
	data, err := json.Marshal(sent{r.opt.Run, digests})
	if err != nil {
		return nil, err
	}
	return []posthouse.Part{{Name: inputPart, Codec: posthouse.JSON.Name(), Data: data}}, nil
}

// sameInput refuses an input that is not the one that the run began with at h. Where
// that is not on record, as in runs from before it was, nothing is compared; nor are
// parts that the state does not have any more.
func (a *App[S]) sameInput(ctx context.Context, h *posthouse.Header, in *S) error {
	c, err := a.ledger.Get(ctx, h.ID)
	if err != nil {
		return err
	}
	var was sent
	v, ok := c.Program[inputPart]
	if !ok || json.Unmarshal(v.Data, &was) != nil || was.Run != h.Run {
		return nil
	}
	now, ok := a.schema.Digests(in)
	if !ok {
		return nil
	}
	for i := range a.schema.Fields {
		f := &a.schema.Fields[i]
		if was.Parts[f.Part] == now[f.Part] {
			continue
		}
		return &posthouse.Error{
			Code: posthouse.CodeExists, Field: "Run",
			Message: h.Run + " of thread " + h.Thread + " began with another input: field " + f.Name + " differs",
			Hint:    "send the input that the run had, or give this one a run id of its own",
		}
	}
	return nil
}
