package recorded

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
)

// inputPart is the program's part that has the input of a run with an id that the
// caller gave. It keeps the result from being taken for that of another input.
const inputPart = "$input"

// A sent is that part.
type sent struct {
	Run   string            `json:"run"`
	Parts map[string]string `json:"parts"` // digests, by part; a zero value has no digest
}

// InputParts returns what an input does to the program's parts. A run without an id
// that the caller gave has no such part.
func InputParts(schema *state.Schema, run string, in any, program posthouse.State) ([]posthouse.Part, error) {
	var digests map[string]string
	known := false
	if run != "" {
		digests, known = schema.Digests(in)
	}
	if !known {
		if _, stale := program[inputPart]; stale {
			return []posthouse.Part{{Name: inputPart, Drop: true}}, nil
		}
		return nil, nil
	}
	data, err := json.Marshal(sent{run, digests})
	if err != nil {
		return nil, err
	}
	return []posthouse.Part{{Name: inputPart, Codec: posthouse.JSON.Name(), Data: data}}, nil
}

// SameInput refuses an input other than the one that the run began with at c. It
// compares nothing where that is not on record, as in runs of earlier versions, and
// no parts that the state has lost.
func SameInput(schema *state.Schema, c *posthouse.Checkpoint, in any) error {
	h := &c.Header
	var was sent
	v, ok := c.Program[inputPart]
	if !ok || json.Unmarshal(v.Data, &was) != nil || was.Run != h.Run {
		return nil
	}
	now, ok := schema.Digests(in)
	if !ok {
		return nil
	}
	for i := range schema.Fields {
		f := &schema.Fields[i]
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
