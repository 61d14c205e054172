package gate

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
)

// A Withdrawn is what an execution has on record that a new input withdrew: the result of a step, or an
// effect under a grant and how far it came.
type Withdrawn struct {
	Task       string          `json:"task"` // the execution, as in "4/tools"
	Name       string          `json:"name"` // of the step or effect
	Occurrence uint32          `json:"occurrence,omitempty"`
	Status     grants.Status   `json:"status"`           // executed with a result; decided if it did not act; released or unknown if it may have
	Grant      posthouse.ID    `json:"grant,omitempty"`  // the gate that licensed an effect
	Result     json.RawMessage `json:"result,omitempty"` // as the function returned it; empty for another codec than JSON
}

// ReadWithdrawn returns what executions have on record that a new input withdrew, in the order in which
// it was recorded: the state that they would have returned is lost, and what they did is not. Below the
// first node, flow or handler after the input, it lists the steps and effects since the last
// checkpoint of a node or of a run that is done. It is empty for any other execution.
//
// An agent tells its model by it which calls of tools were done before the user typed something else.
// Call it in a step ([step.Do]), so that another execution is told the same.
//
// Errors: [posthouse.ErrInvalid] outside of a node, flow or handler, and those of the store.
func ReadWithdrawn(ctx context.Context) ([]Withdrawn, error) {
	task, err := engine.TaskOf(ctx, "gate.ReadWithdrawn")
	if err != nil {
		return nil, err
	}
	s := task.Session()
	var all []Withdrawn
	var uses []grants.Use
	for h := s.Head(); h != nil && h.Parent != ""; {
		before, err := s.Ledger().GetHeader(ctx, h.Parent)
		if errors.Is(err, posthouse.ErrNotFound) {
			break // removed since
		}
		if err != nil {
			return nil, s.Unanswered(err)
		}
		if h.Kind == posthouse.KindInput && before.Status != posthouse.StatusDone && before.Kind != posthouse.KindNode {
			executions, err := s.Ledger().Core().Executions(ctx, before)
			if err == nil && uses == nil {
				uses, err = ledger.Effects(ctx, s.Ledger(), s.Thread())
			}
			if err != nil {
				return nil, s.Unanswered(err)
			}
			all = append(withdrawnOf(executions, uses), all...)
		}
		if before.Kind == posthouse.KindNode || before.Status == posthouse.StatusDone {
			break
		}
		h = before
	}
	return all, nil
}

// withdrawnOf lists what executions have on record, oldest first.
func withdrawnOf(executions map[string]*threadlog.Execution, uses []grants.Use) []Withdrawn {
	type entry struct {
		Withdrawn
		seq uint64
	}
	var all []entry
	for key, x := range executions {
		for i := range x.Steps {
			r := &x.Steps[i]
			name, n, begun := r.Name, r.Occurrence, false
			if of, ok := strings.CutSuffix(r.Name, handler.Nested+effect.RecordBegins); ok {
				at := slices.IndexFunc(uses, func(u grants.Use) bool {
					return u.Task == key && u.Status != grants.Executed && handler.Call(u.Name, u.Occurrence) == of
				})
				if at < 0 || r.Occurrence > 0 {
					continue // its result is listed, or its first attempt
				}
				name, n, begun = uses[at].Name, uses[at].Occurrence, true
				all = append(all, entry{Withdrawn{Task: key, Name: name, Occurrence: n, Status: uses[at].Status, Grant: uses[at].Grant}, r.Seq})
			}
			if begun || strings.Contains(r.Name, handler.Nested) || r.Value.Codec == threadlog.CodecFailed {
				continue
			}
			w := Withdrawn{Task: key, Name: name, Occurrence: n, Status: grants.Executed, Grant: r.Grant}
			if r.Value.Codec == posthouse.JSON.Name() {
				w.Result = slices.Clone(json.RawMessage(r.Value.Data))
			}
			all = append(all, entry{w, r.Seq})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return int(a.seq) - int(b.seq) })
	list := make([]Withdrawn, len(all))
	for i := range all {
		list[i] = all[i].Withdrawn
	}
	return list
}
