package engine

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
)

// taskPrefix begins the names of tasks for workers on record.
const taskPrefix = "task:"

// Remote has a worker do something, and returns the gate with its answer: [posthouse.Respond]
// with the output, or [posthouse.Reject] where no attempt is left. Until then it remembers
// the wait and returns [posthouse.ErrWaiting], as [Gates.Ask] does. What is on record counts
// when the program runs again, whatever call and input say then.
//
// Call, Payload and ExpiresAt of g are used. Errors: [posthouse.ErrExpired] behind its
// deadline, [posthouse.ErrCancelled] if somebody cancelled it, and as for [Task.Do].
func (t *Task) Remote(ctx context.Context, name string, g posthouse.Gate) (*posthouse.Gate, error) {
	if err := CheckName("task", name); err != nil {
		return nil, err
	}
	c := &call{}
	if err := t.beginCall(ctx, taskPrefix+name, false, c); err != nil {
		return nil, err
	}
	defer t.endWait(c)
	have, err := t.waitGate(ctx, c)
	if err != nil {
		return nil, err
	}
	if have == nil {
		return nil, t.await(c, posthouse.Gate{Kind: posthouse.GateTask, Call: g.Call, Payload: g.Payload, ExpiresAt: g.ExpiresAt})
	}
	switch have.Decision.Verdict {
	case posthouse.Respond, posthouse.Reject:
		return have, nil
	case posthouse.Expire:
		return nil, &posthouse.Error{
			Code: posthouse.CodeExpired, Decision: have.Decision,
			Message: "no worker completed task " + have.Call.Task + " before " + have.ExpiresAt.Format(time.RFC3339), Hint: "look whether a worker handles it, or go on without",
		}
	}
	return nil, withdrawn(have)
}
