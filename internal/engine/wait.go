package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/internal/senders"
	"github.com/posthouse/posthouse/ledger"
)

// Prefixes of the names of waits on record.
const (
	sleepPrefix  = "sleep:"
	signalPrefix = senders.Signal
)

// A wait is one use of a sleep, a signal or a task for a worker.
type wait struct {
	task *Task
	call
}

// beginWait counts a wait and finds its record: see [Task.beginCall].
func (t *Task) beginWait(ctx context.Context, name string, free bool) (*wait, error) {
	w := &wait{task: t}
	if err := t.beginCall(ctx, name, free, &w.call); err != nil {
		return nil, err
	}
	return w, nil
}

// Until returns nil once the time has come. Before, it remembers the wait and returns
// [posthouse.ErrWaiting], as [Gates.Ask] does. A wait on record keeps its time, whatever
// at says now. A wait that is over at once is not recorded. [posthouse.ErrCancelled] if
// somebody cancelled the wait; [OrderError] as for [Task.Do].
func (t *Task) Until(ctx context.Context, name string, at time.Time) error {
	at = session.RoundUp(at)
	over := !t.session.Ledger().Now().Before(at)
	if err := CheckName("sleep", name); err != nil {
		return err
	}
	w, err := t.beginWait(ctx, sleepPrefix+name, over)
	if err != nil {
		return err
	}
	defer w.end()
	g, err := w.gate(ctx)
	switch {
	case err != nil:
		return err
	case g == nil && over:
		return nil
	case g == nil:
		return w.park(posthouse.Gate{Kind: posthouse.GateTimer, ExpiresAt: at})
	case g.Decision.Verdict == posthouse.Expire:
		return nil
	}
	return withdrawn(g)
}

// Signal takes the next signal of a name and returns its value. With latch it returns the
// newest one's value and leaves it there. Without a signal it remembers the wait and
// returns [posthouse.ErrWaiting]. A timeout other than 0 ends the wait with
// [posthouse.ErrExpired]. Every later execution returns the same value again.
//
// Errors: [posthouse.ErrCancelled] if somebody cancelled the wait, and as for
// [Task.Do].
func (t *Task) Signal(ctx context.Context, name string, latch bool, timeout time.Duration) (json.RawMessage, error) {
	return t.FittingSignal(ctx, name, latch, timeout, func(json.RawMessage) error { return nil })
}

// FittingSignal is Signal for a value that the program can take. Otherwise it returns the error of
// fits. A run that failed with that error and is resumed takes the next signal of the name in place
// of it, if there is one.
func (t *Task) FittingSignal(ctx context.Context, name string, latch bool, timeout time.Duration, fits func(json.RawMessage) error) (json.RawMessage, error) {
	if err := CheckName("signal", name); err != nil {
		return nil, err
	}
	w, err := t.beginWait(ctx, signalPrefix+name, false)
	if err != nil {
		return nil, err
	}
	if w.recorded != nil {
		horizonOf(ctx).found()
		return w.fitting(ctx, name, latch, w.recorded.Value.Data, fits)
	}
	defer w.end()
	g, err := w.gate(ctx)
	if err != nil {
		return nil, err
	}
	if g == nil {
		v, err := w.takeSignal(ctx, name, latch, w.name, w.occurrence)
		if err != nil {
			return nil, err
		}
		if v != nil {
			return w.fitting(ctx, name, latch, v, fits)
		}
		g := posthouse.Gate{Kind: posthouse.GateSignal, Signal: name, Latch: latch}
		if timeout != 0 {
			g.ExpiresAt = session.RoundUp(t.session.Ledger().Now().Add(timeout))
		}
		return nil, w.park(g)
	}
	switch g.Decision.Verdict {
	case posthouse.Respond:
		return w.fitting(ctx, name, latch, g.Decision.Value, fits)
	case posthouse.Expire:
		return nil, &posthouse.Error{
			Code: posthouse.CodeExpired, Decision: g.Decision,
			Message: "no signal " + name + " came before " + g.ExpiresAt.Format(time.RFC3339), Hint: "wait again, or go on without",
		}
	}
	return nil, withdrawn(g)
}

// nextSignal is the name, within a wait, of the signal that took the place of one that did not fit.
const nextSignal = "$next"

// fitting returns the value of a wait if the program can take it. If not, and the run failed with
// just that error, it takes the next signal of the name that is there.
func (w *wait) fitting(ctx context.Context, name string, latch bool, v json.RawMessage, fits func(json.RawMessage) error) (json.RawMessage, error) {
	t, within := w.task, w.within(nextSignal)
	for n := uint32(0); ; n++ {
		misfit := fits(v)
		if misfit == nil {
			return v, nil
		}
		t.mu.Lock()
		next := t.replay.Result(within, n)
		t.mu.Unlock()
		if next != nil {
			v = next.Value.Data
			continue
		}
		h := t.session.Head()
		if latch || h == nil || h.Status != posthouse.StatusFailed || !failedWith(h, misfit) {
			return nil, misfit
		}
		data, err := w.takeSignal(ctx, name, false, within, n)
		switch {
		case err != nil:
			return nil, err
		case data == nil:
			return nil, misfit
		}
		v = data
	}
}

// failedWith reports whether a run failed with an error, by its text without the advice.
func failedWith(h *posthouse.Header, err error) bool {
	e, ok := errors.AsType[*posthouse.Error](err)
	return ok && strings.Contains(h.Error, OneLine(e.Message))
}

// takeSignal records and returns the value of a signal that is there already, nil
// if there is no signal. The record has a name of its own.
func (w *wait) takeSignal(ctx context.Context, name string, latch bool, as string, n uint32) (json.RawMessage, error) {
	t := w.task
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if t.before != nil {
		if err := t.before(ctx); err != nil {
			return nil, err
		}
	}
	step := posthouse.Step{Task: t.Key(), Name: as, Occurrence: n, Effect: posthouse.EffectRead}
	err := t.recordWith(&w.call, func(steps []posthouse.Step) (bool, error) {
		s, err := t.session.TakeSignal(ctx, name, latch, func(s *posthouse.Signal) ([]posthouse.Step, error) {
			if !horizonOf(ctx).sees(s.Seq) {
				return nil, posthouse.ErrWaiting
			}
			step.Value = posthouse.Value{Codec: "json", Data: s.Value}
			sent, err := senders.Steps(t.Key(), w.label(), s)
			return append(append(steps, sent...), step), err
		})
		if s == nil {
			step.Value = posthouse.Value{}
			return false, err
		}
		t.rememberResult(step)
		return true, err
	})
	return step.Value.Data, err
}

// gate returns the gate of a wait that is over, nil for a wait that is not on
// record. For one that goes on it returns [posthouse.ErrWaiting].
func (w *wait) gate(ctx context.Context) (*posthouse.Gate, error) {
	t := w.task
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.replay.TakeWait(w.name, w.occurrence)
	if g == nil {
		return nil, nil
	}
	g, err := t.decidedGate(ctx, g)
	if err != nil {
		return nil, err
	}
	return g, horizonOf(ctx).give(g)
}

// park remembers a wait, for the checkpoint that parks the task.
func (w *wait) park(g posthouse.Gate) error {
	t := w.task
	t.mu.Lock()
	defer t.mu.Unlock()
	g.Name, g.Task, g.Branch, g.Occurrence = w.name, t.Key(), t.session.Branch(), w.occurrence
	t.made().asksAfter(w.label(), w.after.before, w.after.known)
	t.made().questions = append(t.made().questions, g)
	return posthouse.ErrWaiting
}

// end ends a wait: it ran nothing that could fail.
func (w *wait) end() {
	w.done = true
	w.task.endCall(&w.call, nil)
}

func withdrawn(g *posthouse.Gate) error {
	d := g.Decision
	message := "the wait " + g.Name + " was cancelled by " + d.By
	if d.Reason != "" {
		message += ": " + d.Reason
	}
	return &posthouse.Error{Code: posthouse.CodeCancelled, Decision: d, Message: message}
}

// WithClock returns a context below which a wait that is too short to park for moves the
// clock: the wait calls move with the time that it is for, and goes on. The Ledger's time is
// that late once move has returned. It is for tests, in which nothing waits.
func WithClock(ctx context.Context, move func(time.Time)) context.Context {
	return context.WithValue(ctx, keyClock, move)
}

// longestNap bounds how late WaitOrDrain notices that the ledger's clock jumped.
const longestNap = time.Second

// WaitOrDrain waits in this process until the ledger's time is at. It serves waits that
// are too short to park for. Come is false if the program was asked to stop first. It
// returns the context's error if that ends first.
func WaitOrDrain(ctx context.Context, l *ledger.Ledger, at time.Time) (come bool, err error) {
	drain := DrainOf(ctx)
	move, _ := ctx.Value(keyClock).(func(time.Time))
	for {
		left := at.Sub(l.Now())
		if left <= 0 {
			return true, nil
		}
		if move != nil && !Closed(drain) && ctx.Err() == nil {
			move(at)
			continue
		}
		select {
		case <-time.After(min(left, longestNap)):
		case <-drain:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}
