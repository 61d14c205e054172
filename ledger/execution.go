package ledger

import (
	"context"

	"github.com/posthouse/posthouse"
)

// An Execution is what is on record of one execution of a node or handler.
type Execution struct {
	Steps []posthouse.StepRecord // in the order they were recorded
	Gates []*posthouse.Gate      // in the order in which they were opened, with their decisions

	// Edited is the entry of the newest checkpoint in the middle of the execution that
	// changed its state or its program: an update, a fork or a migration. It is 0 if
	// there is no such checkpoint. The program may ask differently after it.
	Edited uint64

	before map[posthouse.ID]int // by gate, see StepsBefore
}

// StepsBefore returns how many of Steps were on record when one of Gates was opened.
// For a question that a fork asks again, it is the place of the original.
func (x *Execution) StepsBefore(gate posthouse.ID) int { return min(x.before[gate], len(x.Steps)) }

// Executions returns what the unfinished executions at a branch's head have on record,
// by task: step results, and questions with their answers.
func Executions(ctx context.Context, l *Ledger, head *posthouse.Header) (map[string]*Execution, error) {
	all, err := l.core.ReadExecutions(ctx, head)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*Execution, len(all))
	for task, x := range all {
		out[task] = &Execution{x.Steps, x.Gates, x.Edited, x.Before}
	}
	return out, nil
}
