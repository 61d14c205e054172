package commit

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
)

// A HandlerUse is what an attempt of a handler's effect has on record: which claim made it.
type HandlerUse struct {
	UseRecord
	Fence uint64 `json:"fence"`           // of the claim
	Nonce string `json:"nonce"`           // of the call that began it: the same call again is the same attempt
	Error string `json:"error,omitempty"` // of one that did not act: why
}

// ReadHandlerUse reads it from a record.
func ReadHandlerUse(data []byte) (u HandlerUse, err error) {
	if err := json.Unmarshal(data, &u); err != nil {
		return u, posthouse.Corrupt("the attempt of a handler's effect does not decode: %v", err)
	}
	return u, nil
}

// Step returns a record of the attempt within an effect, as the n-th of its name.
func (u *HandlerUse) Step(effect, what string, n uint32, class posthouse.Effect, grant posthouse.ID) (posthouse.Step, error) {
	data, err := json.Marshal(u)
	return posthouse.Step{
		Name: effect + handler.Nested + what, Occurrence: n, Effect: class, Grant: grant, Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: data},
	}, err
}

// ErrMoved says that the log went on since it was read.
var ErrMoved = errors.New("the log has moved")

// RecordUse puts the records of a handler's effect on record in one entry, unless the log continued
// after tail: what was read of it then decided what is recorded. [ErrMoved]. A record that its outcome
// is unknown comes with the question to people about it. Other errors are those of
// [TaskSteps.Record].
func (t *TaskSteps) RecordUse(ctx context.Context, c *Committer, at GateRef, tail uint64, steps []posthouse.Step) error {
	_, err := Assign(ctx, c, at, func(tx *core.Tx, g *posthouse.Gate) error {
		if tx.Seq != tail+1 {
			return ErrMoved
		}
		for i := range steps {
			steps[i].Task = g.Task
		}
		p := &Plan{Thread: g.Thread, Branch: g.Branch, Steps: steps}
		if err := (&Commit{tx: tx, plan: p}).recordSteps(); err != nil {
			return err
		}
		for i := range steps {
			if strings.HasSuffix(steps[i].Name, handler.Nested+effect.RecordUnknown) {
				return askEnded(tx, g, &posthouse.Decision{Verdict: posthouse.Cancel, By: posthouse.RuntimeActor, Successor: g.ID}, &steps[i])
			}
		}
		return nil
	})
	return err
}

// FitsUse returns [posthouse.ErrTooLarge] for the result of an effect with which those of the
// iteration are beyond the limit.
func (t *TaskSteps) FitsUse(s *posthouse.Step, have []posthouse.StepRecord) error {
	size := len(s.Name) + len(s.Value.Data)
	for i := range have {
		size += len(have[i].Name) + len(have[i].Value.Data)
	}
	if t.Limit > 0 && size > t.Limit {
		return overLimit("", s.Name, size, t.Limit)
	}
	return nil
}
