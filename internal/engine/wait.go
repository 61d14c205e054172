package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/senders"
	"github.com/posthouse/posthouse/ledger"
)

// Prefixes of the names of waits on record.
const (
	sleepPrefix  = "sleep:"
	signalPrefix = senders.Signal
)

// Until returns nil once the time has come. Before, it remembers the wait and returns
// [posthouse.ErrWaiting], as [Gates.Ask] does. A wait on record keeps its time, whatever
// at says now. A wait that is over at once is not recorded. [posthouse.ErrCancelled] if
// somebody cancelled the wait; [OrderError] as for [Task.Do].
func (t *Task) Until(ctx context.Context, name string, at time.Time) error {
	at = roundUp(at)
	over := !t.session.ledger.Now().Before(at)
	if err := CheckName("sleep", name); err != nil {
		return err
	}
	c := &call{}
	if err := t.beginCall(ctx, sleepPrefix+name, over, c); err != nil {
		return err
	}
	defer t.endWait(c)
	g, err := t.waitGate(ctx, c)
	switch {
	case err != nil:
		return err
	case g == nil && over:
		return nil
	case g == nil:
		return t.await(c, posthouse.Gate{Kind: posthouse.GateTimer, ExpiresAt: at})
	case g.Decision.Verdict == posthouse.Expire:
		return nil
	}
	return withdrawn(g)
}

// roundUp rounds up to milliseconds, which is what can be recorded.
func roundUp(at time.Time) time.Time {
	if r := at.Truncate(time.Millisecond); r.Before(at) {
		return r.Add(time.Millisecond)
	}
	return at
}

// Signal takes the next signal of a name and returns its value. With latch it returns the
// newest one's value and leaves it there. Without a signal it remembers the wait and
// returns [posthouse.ErrWaiting]. A timeout other than 0 ends the wait with
// [posthouse.ErrExpired]. Every later execution returns the same value again.
//
// Errors: [posthouse.ErrCancelled] if somebody cancelled the wait, and as for
// [Task.Do].
func (t *Task) Signal(ctx context.Context, name string, latch bool, timeout time.Duration) (json.RawMessage, error) {
	if err := CheckName("signal", name); err != nil {
		return nil, err
	}
	c := &call{}
	if err := t.beginCall(ctx, signalPrefix+name, false, c); err != nil {
		return nil, err
	}
	if c.recorded != nil {
		return c.recorded.Value.Data, nil
	}
	defer t.endWait(c)
	g, err := t.waitGate(ctx, c)
	if err != nil {
		return nil, err
	}
	if g == nil {
		v, err := t.takeSignal(ctx, c, name, latch)
		if err != nil || v != nil {
			return v, err
		}
		g := posthouse.Gate{Kind: posthouse.GateSignal, Signal: name, Latch: latch}
		if timeout != 0 {
			g.ExpiresAt = roundUp(t.session.ledger.Now().Add(timeout))
		}
		return nil, t.await(c, g)
	}
	switch g.Decision.Verdict {
	case posthouse.Respond:
		return g.Decision.Value, nil
	case posthouse.Expire:
		return nil, &posthouse.Error{
			Code: posthouse.CodeExpired, Decision: g.Decision,
			Message: "no signal " + name + " came before " + g.ExpiresAt.Format(time.RFC3339), Hint: "wait again, or go on without",
		}
	}
	return nil, withdrawn(g)
}

// takeSignal records and returns the value of a signal that is there already, nil
// without one.
func (t *Task) takeSignal(ctx context.Context, c *call, name string, latch bool) (json.RawMessage, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if t.before != nil {
		if err := t.before(ctx); err != nil {
			return nil, err
		}
	}
	step := posthouse.Step{Task: t.Key(), Name: c.name, Occurrence: c.occurrence, Effect: posthouse.EffectRead}
	err := t.recordWith(c, func(steps []posthouse.Step) (bool, error) {
		s, err := t.session.takeSignal(ctx, name, latch, func(s *posthouse.Signal) ([]posthouse.Step, error) {
			step.Value = posthouse.Value{Codec: "json", Data: s.Value}
			sent, err := senders.Steps(t.Key(), c.label(), s)
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

// waitGate returns the gate of a wait that is over, nil for a wait that is not on
// record. For one that goes on it returns [posthouse.ErrWaiting].
func (t *Task) waitGate(ctx context.Context, c *call) (*posthouse.Gate, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.replay.takeWait(c.name, c.occurrence)
	if g == nil {
		return nil, nil
	}
	return t.decidedGate(ctx, g)
}

// await remembers a wait, for the checkpoint that parks the task.
func (t *Task) await(c *call, g posthouse.Gate) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	g.Name, g.Task, g.Branch, g.Occurrence = c.name, t.Key(), t.session.branch, c.occurrence
	if g.Kind != posthouse.GateTimer { // a program may sleep before it tries again
		t.made().asksBehind(c.before)
	}
	t.made().questions = append(t.made().questions, g)
	return posthouse.ErrWaiting
}

// endWait ends a call that ran nothing.
func (t *Task) endWait(c *call) {
	c.done = true
	t.endCall(c, nil)
}

func withdrawn(g *posthouse.Gate) error {
	d := g.Decision
	message := "the wait " + g.Name + " was cancelled by " + d.By
	if d.Reason != "" {
		message += ": " + d.Reason
	}
	return &posthouse.Error{Code: posthouse.CodeCancelled, Decision: d, Message: message}
}

// TimerSoon returns when the first of the gates is over, if the run is to wait for that
// itself. The zero time says that one of them is no timer, or the first is due too late.
func (s *Session) TimerSoon(gates []posthouse.Gate) (first time.Time) {
	for i := range gates {
		if gates[i].Kind != posthouse.GateTimer {
			return time.Time{}
		}
		if at := gates[i].ExpiresAt; i == 0 || at.Before(first) {
			first = at
		}
	}
	if first.Sub(s.ledger.Now()) > s.hold {
		return time.Time{}
	}
	return first
}

// Parked reports whether the branch waits.
func (s *Session) Parked(ctx context.Context) (bool, error) {
	info, err := s.ledger.Thread(ctx, s.thread)
	if err != nil {
		return false, s.Unanswered(err)
	}
	b, _ := info.Branch(s.branch)
	return b.Status == posthouse.StatusWaiting, nil
}

// foundParked is [Session.Parked] as the claim found it, which spares a call, unless this run has
// gone on. A decision since then wakes the thread again.
func (s *Session) foundParked(ctx context.Context) (bool, error) {
	if found, head := s.claim.Found(), s.Head(); found != nil && head != nil {
		if b, ok := found.Branch(s.branch); ok && b.Head == head.ID && b.Seq == head.Seq {
			return b.Status == posthouse.StatusWaiting, nil
		}
	}
	return s.Parked(ctx)
}

// Undecided returns the gates of a branch that waits for all of them still. Executed
// again, its code would only ask again. It returns nil if the run is to wait itself.
func (s *Session) Undecided(ctx context.Context) (waiting []posthouse.Gate, err error) {
	if parked, err := s.foundParked(ctx); !parked || err != nil {
		return nil, err
	}
	for g, err := range s.ledger.Gates(ctx, ledger.GateQuery{Thread: s.thread, All: true}) {
		switch {
		case err != nil:
			return nil, err
		case g.Branch != s.branch:
		case g.Kind == posthouse.GateThread: // that thread may have gone on
			return nil, nil
		case !g.ExpiresAt.IsZero() && !s.ledger.Now().Before(g.ExpiresAt):
			return nil, nil
		default:
			waiting = append(waiting, *g)
		}
	}
	if len(waiting) == 0 || !s.TimerSoon(waiting).IsZero() {
		return nil, nil
	}
	return waiting, nil
}

// longestNap bounds how late WaitOrDrain notices that the ledger's clock jumped.
const longestNap = time.Second

// WaitOrDrain waits in this process until the ledger's time is at. It serves waits that
// are too short to park for. Come is false if the program was asked to stop first. It
// returns the context's error if that ends first.
func WaitOrDrain(ctx context.Context, l *ledger.Ledger, at time.Time) (come bool, err error) {
	drain := DrainOf(ctx)
	for {
		left := at.Sub(l.Now())
		if left <= 0 {
			return true, nil
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
