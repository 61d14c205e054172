package graph

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"

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

// newSent returns what is to be known of an input. An input that JSON cannot write
// is not known: ok is false.
func newSent[S any](p *plan, run string, in *S) (s sent, ok bool) {
	s = sent{Run: run, Parts: map[string]string{}}
	v := reflect.ValueOf(in).Elem()
	for i := range p.fields {
		f := &p.fields[i]
		x, err := v.FieldByIndexErr(f.index) // through an embedded pointer that is nil: zero
		if err != nil || x.IsZero() {
			continue
		}
		data, err := json.Marshal(x.Interface())
		if err != nil {
			return s, false
		}
		sum := sha256.Sum256(data)
		s.Parts[f.part] = hex.EncodeToString(sum[:16])
	}
	return s, true
}

// sentParts returns what an input does to the program's parts. Runs without an id of
// their own say nothing.
func (r *run[S]) sentParts(in *S) ([]posthouse.Part, error) {
	s, ok := newSent(r.app.plan, r.opt.Run, in)
	if r.opt.Run == "" || !ok {
		if _, stale := r.program[inputPart]; stale {
			return []posthouse.Part{{Name: inputPart, Drop: true}}, nil
		}
		return nil, nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return []posthouse.Part{{Name: inputPart, Codec: posthouse.JSON.Name(), Data: data}}, nil
}

// sameInput refuses an input that is not the one that the run began with at h. Where
// that is not on record, as in runs from before it was, nothing is compared; nor are
// parts that the state does not have any more.
func (r *run[S]) sameInput(ctx context.Context, h *posthouse.Header, in *S) error {
	c, err := r.app.ledger.Get(ctx, h.ID)
	if err != nil {
		return err
	}
	var was sent
	v, ok := c.Program[inputPart]
	if !ok || json.Unmarshal(v.Data, &was) != nil || was.Run != h.Run {
		return nil
	}
	now, ok := newSent(r.app.plan, h.Run, in)
	if !ok {
		return nil
	}
	for i := range r.app.plan.fields {
		f := &r.app.plan.fields[i]
		if was.Parts[f.part] == now.Parts[f.part] {
			continue
		}
		return &posthouse.Error{
			Code: posthouse.CodeExists, Field: "Run",
			Message: h.Run + " of thread " + h.Thread + " began with another input: field " + f.name + " differs",
			Hint:    "send the input that the run had, or give this one a run id of its own",
		}
	}
	return nil
}
