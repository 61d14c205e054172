package coord

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
)

// An Agent does what a coordinator asks of it, by named skills.
type Agent struct {
	Name        string // see posthouse.ValidateName
	Description string
	Skills      map[string]Skill // by names like the agent's
}

// A Skill is one thing an agent can do. Its error is the agent's failure, which the
// coordinator sees as a [Result] without Success. An error that wraps
// [posthouse.ErrWaiting] parks the whole request instead.
//
// Until its completion is on record a skill may run again after a crash. Put effects that
// must happen once into step.Do with this ctx.
type Skill func(ctx context.Context, call Call) (Result, error)

// A Call is what a skill is asked.
type Call struct {
	Agent string          `json:"agent"`
	Skill string          `json:"skill"`
	Args  json.RawMessage `json:"args,omitempty"`
	By    string          `json:"by,omitempty"` // who sent the request
}

// Bind decodes the arguments into v, a pointer. Without arguments v is left as
// it is. [posthouse.ErrInvalid].
func (c Call) Bind(v any) error {
	if len(c.Args) == 0 {
		return nil
	}
	return posthouse.JSON.Unmarshal(c.Args, v)
}

// A Result is the outcome of a call.
type Result struct {
	Success bool            `json:"success"` // set by the fleet
	Text    string          `json:"text,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// NewResult returns a result with v as JSON in its Data.
func NewResult(text string, v any) (Result, error) {
	data, err := posthouse.JSON.Marshal(v)
	return Result{Text: text, Data: data}, err
}

// Bind decodes Data into v, a pointer. Without data v is left as it is.
// [posthouse.ErrInvalid].
func (r Result) Bind(v any) error {
	if len(r.Data) == 0 {
		return nil
	}
	return posthouse.JSON.Unmarshal(r.Data, v)
}
