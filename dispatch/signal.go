package dispatch

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/task"
)

// Signal implements [task.Engine].
func (d *Dispatcher) Signal(ctx context.Context, id task.ClaimID, thread string, s posthouse.Signal) error {
	c, slot, err := d.claims.Find(ctx, id)
	if err != nil {
		return err
	}
	if err := checkSignal(&s); err != nil {
		return err
	}
	if !d.claims.HasTaskIn(c.ID.Session, thread) {
		if thread == c.Gate.Thread {
			return claims.Lost(id) // since it was found
		}
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Field: "thread", Message: fmt.Sprintf("thread %.200q has no task that this worker has", thread),
			Hint: "a worker signals threads of its own tasks; have the program that handed the task out signal others",
		}
	}
	s.By = WorkerPrefix + slot.Worker
	ctx, err = d.log.OnBehalf(ctx, c.Gate)
	if err != nil {
		return err
	}
	_, err = d.ledger.Signal(ctx, thread, s)
	return err
}

// checkSignal refuses a signal that says what the engine says: who sends it, when and where.
func checkSignal(s *posthouse.Signal) error {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"by", s.By != ""}, {"thread", s.Thread != ""}, {"at", !s.At.IsZero()}, {"seq", s.Seq != 0}, {"gates", len(s.Gates) > 0}, {"requesters", len(s.Requesters) > 0},
	} {
		if f.set {
			e := posthouse.Invalid(f.name, "of signal %.40q is the engine's to say", s.Name)
			e.Hint = "leave it out: a worker signals in its own name"
			return e
		}
	}
	return nil
}
