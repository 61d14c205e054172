package grants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/worker"
)

var errDeclined = errors.New("the bank declines")

// place returns the branch of a step's key, as thread~branch. The generation of the thread is
// left out, and where a branch begins that has the name of one that is gone.
func place(key string) string {
	at, _, _ := strings.Cut(key, "/")
	thread, branch, forked := strings.Cut(at, "~")
	thread, _, _ = strings.Cut(thread, "@")
	branch, _, _ = strings.Cut(branch, "@")
	if forked && branch != posthouse.MainBranch {
		return thread + "~" + branch
	}
	return thread
}

// pay is an effect that is carried out in place.
func (p *process) pay(ctx context.Context, d *deal, c payment) (string, error) {
	return p.payUnder(ctx, d, c, gate.Granted(ctx))
}

func (p *process) payUnder(ctx context.Context, d *deal, c payment, g *posthouse.Gate) (string, error) {
	x := &execution{key: step.Key(ctx), deal: d.name, content: encode(c), process: p.name, number: p.number, idempotent: d.idempotent}
	x.at = place(x.key)
	if g != nil {
		x.grant, x.under = g.ID, g
	}
	if d.asks {
		p.w.witness.mu.Lock()
		p.w.witness.fault(noAnswer, "%s is paid on an answer", d.name)
		p.w.witness.mu.Unlock()
	}
	n := p.w.witness.begin(x)
	r := p.w.witness.draw(100, x.at, x.deal, n)
	if d.slow {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			p.w.witness.tally("effects ended by a timeout")
			p.w.witness.end(x, []fate{lostActed, lost}[r%2])
			return "", context.Cause(ctx)
		}
	}
	switch {
	case r < 60:
		p.w.witness.end(x, acted)
		return fmt.Sprint("paid ", c.Amount), nil
	case r < 75:
		p.w.witness.end(x, undone)
		return "", gate.NotDone(errDeclined)
	case r < 90:
		p.w.witness.end(x, []fate{lostActed, lost}[boolInt(r >= 83)])
		if n := p.w.witness.draw(8, x.at, x.deal, n, "death"); n < 2 { // after its state is on record, or the question about it
			p.w.witness.tally("deaths after the outcome")
			p.store.Die(2+n, n == 0)
		}
		return p.w.witness.loses(x)
	default: // the process is lost in the middle
		p.store.Die(1, r < 95)
		p.w.witness.end(x, []fate{lostActed, lost}[r%2])
		return "", fmt.Errorf("the process dies: %w", posthouse.ErrUnknown)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// errorIsUnknown says that an error of an effect's function leaves its outcome unknown unless it is
// marked by gate.NotDone, and that people are asked at once. Without it only an error that wraps
// ErrUnknown does, people are asked when the thread is resumed, and the rule [asked] is not tried.
const errorIsUnknown = true

// loses returns what a function does that does not know whether it acted.
func (w *witness) loses(x *execution) (string, error) {
	n := w.draw(6, x.key, x.at, "error")
	switch {
	case w.lies:
		return "", gate.NotDone(errors.New("nothing happened"))
	case w.arm == asked:
		return "paid, most likely", nil
	case !errorIsUnknown || n == 0:
		return "", fmt.Errorf("the line went dead: %w", posthouse.ErrUnknown)
	case n == 1:
		return "", errors.Join(io.ErrUnexpectedEOF, gate.NotDone(errDeclined))
	case n == 2:
		return "", posthouse.Invalid("reply", "of the bank is cut off")
	case n == 3:
		panic("in the middle of the payment")
	}
	return "", errors.New("read: connection reset by peer")
}

// handle is a worker's handler, which pays.
func (w *world) handle(l *line, name string, t worker.Task, c payment) (string, error) {
	claim := l.claim(t.Key())
	d := w.dealOf(c.Deal)
	w.witness.verbose("%s handles %s of %s, gate %s", name, t.Key(), claim.Thread, claim.ID.Gate)
	x := &execution{key: t.Key(), at: place(t.Key()), deal: c.Deal, content: encode(c), process: name, idempotent: d.idempotent, grant: claim.Grant}
	x.under, _ = w.lookUp(claim.Grant)
	if thread, _, _ := strings.Cut(x.at, "~"); thread != placeOf(claim.Thread, posthouse.MainBranch) {
		w.witness.mu.Lock()
		w.witness.fault(ownGrant, "a task of %s has the use of %s", claim.Thread, x.at)
		w.witness.mu.Unlock()
	}
	pay := func() (int, error) {
		n := w.witness.begin(x)
		r := w.witness.draw(100, x.at, x.deal, n)
		return r, nil
	}
	switch w.witness.draw(8, x.at, x.deal, "way") {
	case 0: // it records the effect, and pauses
		out, err := step.Do(t.Context(), "pay", func(context.Context) (string, error) { return w.finish(l, t, x, pay) })
		if err != nil || t.Resumed() != "" {
			return out, err
		}
		return "", t.Pause("rest", time.Minute)
	case 1: // it records the effect, and goes on in another iteration
		if t.Iteration() > 0 {
			return "paid", nil
		}
		_, err := step.Do(t.Context(), "pay", func(context.Context) (string, error) { return w.finish(l, t, x, pay) })
		if err != nil {
			return "", err
		}
		return "", t.Continue(1)
	case 2: // it asks, and its own question licenses nothing more
		a, err := gate.Ask[struct{}](t.Context(), gate.Question{Name: "sure", Text: "Are you sure?", Show: c.Deal})
		if err != nil {
			return "", err
		}
		if !a.Approved() {
			return "", worker.Permanent(gate.NotDone(errDeclined))
		}
	case 3: // it waits for a signal, after the effect
		out, err := step.Do(t.Context(), "pay", func(context.Context) (string, error) { return w.finish(l, t, x, pay) })
		if err != nil {
			return "", err
		}
		if _, err := t.WaitSignal("cleared", time.Minute); err != nil && !errors.Is(err, posthouse.ErrExpired) {
			return "", err
		}
		return out, nil
	}
	return w.finish(l, t, x, pay)
}

// handleDeal is a worker's handler, which proposes a payment and makes it.
func (w *world) handleDeal(l *line, name string, t worker.Task, c payment) (string, error) {
	d := w.dealOf(c.Deal)
	task, err := w.lookUp(l.claim(t.RunID() + "/" + t.StepID()).ID.Gate)
	if err != nil {
		return "", err
	}
	at := placeOf(task.Thread, task.Branch)
	w.witness.verbose("%s handles the deal %s of %s, gate %s, attempt %d", name, c.Deal, at, task.ID, t.Attempt())
	grant, err := w.approval(t.Context(), d, c)
	if errors.Is(err, posthouse.ErrForbidden) {
		return "refused", nil
	}
	if err != nil || grant == "" {
		return "", err
	}
	under := posthouse.ID(grant)
	pay := func(c payment, x *execution) (string, error) {
		under = x.grant
		if d.asks {
			w.witness.mu.Lock()
			w.witness.fault(noAnswer, "%s is paid in a handler on an answer", d.name)
			w.witness.mu.Unlock()
		}
		w.witness.tally("effects of handlers")
		x.at, x.deal, x.content, x.process, x.idempotent = at, d.name, encode(c), name, d.idempotent
		return w.finish(l, t, x, func() (int, error) { return w.witness.draw(100, at, d.name, w.witness.begin(x)), nil })
	}
	if arm := w.witness.arm; arm == ownGrant || arm == noAnswer { // a handler that takes any decision for a license
		return step.Do(t.Context(), "pay-"+d.name, func(context.Context) (string, error) {
			g, err := w.lookUp(under)
			if err != nil {
				return "", err
			}
			var c payment
			if err := json.Unmarshal(g.Licensed(), &c); err != nil {
				return "", err
			}
			return pay(c, &execution{key: at + "/" + t.Key(), grant: g.ID, under: g})
		})
	}
	out, err := gate.Act(t.Context(), "pay-"+d.name, grant, func(ctx context.Context, c payment) (string, error) {
		g := gate.Granted(ctx)
		return pay(c, &execution{key: step.Key(ctx), grant: g.ID, under: g})
	}, gate.ActOptions[payment, string]{Idempotent: d.idempotent})
	if d.asks && errors.Is(err, posthouse.ErrForbidden) {
		return "refused", nil
	}
	if err == nil {
		w.witness.mu.Lock()
		w.witness.paid[under] = true
		w.witness.mu.Unlock()
	}
	return out, err
}

// finish pays, and gives one of the verdicts.
func (w *world) finish(l *line, t worker.Task, x *execution, pay func() (int, error)) (string, error) {
	r, err := pay()
	if err != nil {
		return "", err
	}
	switch {
	case r < 50:
		w.witness.end(x, acted)
		return "paid", nil
	case r < 60:
		w.witness.end(x, undone)
		return "", gate.NotDone(errDeclined)
	case r < 68:
		w.witness.end(x, undone)
		return "", worker.Permanent(gate.NotDone(errDeclined))
	case r < 72:
		w.witness.end(x, undone)
		return "", worker.RetryAfter(gate.NotDone(errDeclined), 2*time.Second)
	case r < 80:
		w.witness.end(x, []fate{lostActed, lost}[r%2])
		return w.witness.loses(x)
	case r < 85:
		w.witness.end(x, lostActed)
		panic("after the effect")
	default: // silence, until its lease has ended
		w.witness.end(x, []fate{lostActed, lost}[r%2])
		l.cut(6 * time.Second)
		<-t.Context().Done()
		return "", context.Cause(t.Context())
	}
}
