package dispatch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/internal/senders"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

func within(g *posthouse.Gate) string {
	return handler.Within(g.Name, g.Occurrence, g.Call.Iteration)
}

// pageSize bounds a page of records, in bytes of JSON. With it, any step fits into a message.
const pageSize = 512 << 10

// A finding is what handlers of a task have on record in an iteration.
type finding struct {
	steps []task.StepResult
	gates []posthouse.Gate
}

// Records implements [task.Engine]. It reads the unfinished execution that handed the task
// out, for the first page: the claim keeps it until the last one.
func (d *Dispatcher) Records(ctx context.Context, id task.ClaimID, after string) (*task.Records, error) {
	at, err := parsePlace(after)
	if err != nil {
		return nil, err
	}
	h, _, err := d.holds(ctx, id)
	if err != nil {
		return nil, err
	}
	all := h.found.Load()
	if after == "" || all == nil {
		if all, err = d.find(ctx, h.gate); err != nil {
			return nil, err
		}
	}
	out := &task.Records{Within: within(h.gate), Grants: commit.RequiresGrants(d.core)}
	if err := all.page(out, at); err != nil {
		return nil, err
	}
	if out.Next == "" {
		all = nil
	}
	h.found.Store(all)
	return out, nil
}

func (d *Dispatcher) find(ctx context.Context, g *posthouse.Gate) (*finding, error) {
	out := &finding{}
	x, err := d.execution(ctx, g)
	if x == nil || err != nil {
		return out, err
	}
	prefix := within(g) + handler.Nested
	for i := range x.Steps {
		if s := &x.Steps[i]; strings.HasPrefix(s.Name, prefix) {
			out.steps = append(out.steps, task.StepResult{Name: s.Name, Occurrence: s.Occurrence, Effect: s.Effect, Value: s.Value})
		}
	}
	at := license.Task{Thread: g.Thread, Branch: g.Branch}
	for _, g := range x.Gates {
		if strings.HasPrefix(g.Name, prefix) && at.Finds(g) {
			out.gates = append(out.gates, *g)
		}
	}
	return out, nil
}

// execution returns the unfinished execution that handed a task out, nil if nothing of it is
// on record.
func (d *Dispatcher) execution(ctx context.Context, g *posthouse.Gate) (*ledger.Execution, error) {
	head, err := d.headOf(ctx, g)
	if head == nil || err != nil {
		return nil, err
	}
	all, err := ledger.Executions(ctx, d.ledger, head)
	return all[g.Task], err
}

// headOf returns the head of the branch that handed a task out, nil if it is gone.
func (d *Dispatcher) headOf(ctx context.Context, g *posthouse.Gate) (*posthouse.Header, error) {
	info, err := d.ledger.Thread(ctx, g.Thread)
	if err != nil {
		return nil, err
	}
	branch, ok := info.Branch(g.Branch)
	if !ok {
		return nil, nil
	}
	return d.ledger.GetHeader(ctx, branch.Head)
}

// onBehalf returns a context for what a worker changes on behalf of all whose request the run is
// that handed the task out.
func (d *Dispatcher) onBehalf(ctx context.Context, g *posthouse.Gate) (context.Context, error) {
	head, err := d.headOf(ctx, g)
	if head == nil || err != nil {
		return ctx, err
	}
	c, err := ledger.GetOf(ctx, d.ledger, head)
	if err != nil {
		return ctx, err
	}
	list, err := posthouse.ReadRequesters(c.Program)
	if err != nil {
		return ctx, err
	}
	all, err := ledger.Executions(ctx, d.ledger, head)
	if err != nil {
		return ctx, err
	}
	sent, err := senders.Of(all)
	return commit.OnBehalf(ctx, senders.Join(list, sent)), err
}

// page adds what fits into a page that begins at a place, at least one step or gate if one is
// left, and says where the next one begins.
func (f *finding) page(out *task.Records, at place) error {
	room := pageSize
	fits := func(v any) (bool, error) {
		b, err := json.Marshal(v)
		if err != nil || len(b) > room && room < pageSize {
			return false, err
		}
		room -= len(b)
		return true, nil
	}
	for ; at.steps < len(f.steps); at.steps++ {
		if ok, err := fits(&f.steps[at.steps]); !ok {
			out.Next = at.String()
			return err
		}
		out.Steps = append(out.Steps, f.steps[at.steps])
	}
	for ; at.gates < len(f.gates); at.gates++ {
		if ok, err := fits(&f.gates[at.gates]); !ok {
			out.Next = at.String()
			return err
		}
		out.Gates = append(out.Gates, f.gates[at.gates])
	}
	return nil
}

// A place is where a page begins: behind so many steps and gates. Both only grow while the
// task is claimed.
type place struct{ steps, gates int }

func (p place) String() string { return strconv.Itoa(p.steps) + "." + strconv.Itoa(p.gates) }

func parsePlace(after string) (place, error) {
	if after == "" {
		return place{}, nil
	}
	steps, gates, _ := strings.Cut(after, ".")
	s, err := strconv.ParseUint(steps, 10, 31)
	g, other := strconv.ParseUint(gates, 10, 31)
	if err != nil || other != nil {
		return place{}, posthouse.Invalid("after", "%.40q is not the next of a page of records", after)
	}
	return place{int(s), int(g)}, nil
}

// Record implements [task.Engine]. The result is refused once the task's gate is decided.
func (d *Dispatcher) Record(ctx context.Context, id task.ClaimID, r task.StepResult) error {
	h, _, err := d.holds(ctx, id)
	if err != nil {
		return err
	}
	name, ok := strings.CutPrefix(r.Name, within(h.gate)+handler.Nested)
	switch {
	case !ok:
		return posthouse.Invalid("name", "%.200q is not that of a step of this task", r.Name)
	case r.Effect > posthouse.EffectExternal:
		return posthouse.Invalid("effect", "of step %.200q is not known", name)
	case r.Effect == posthouse.EffectExternal && commit.RequiresGrants(d.core):
		return posthouse.NeedsGrant(r.Name)
	}
	if err := handler.CheckName("step", name); err != nil {
		return err
	}
	if err := r.Value.Validate(name); err != nil {
		return err
	}
	if n := len(r.Value.Data); n > task.MaxStep {
		e := posthouse.TooLarge("step "+name, n, task.MaxStep)
		e.Hint = "keep large values elsewhere and record a reference"
		return e
	}
	err = h.steps.Record(ctx, d.core, commit.PlaceOf(h.gate), posthouse.Step{Name: r.Name, Occurrence: r.Occurrence, Effect: r.Effect, Value: r.Value})
	if isOver(err) {
		d.forget(h)
		return claimLost(id)
	}
	return err
}

// parked encodes what the handler of a session waits for, with the times of questions by the
// engine's clock; the escalation of an edit's question counts from when the edited one was asked. A worker of another session may be of another version, and ask otherwise.
func (d *Dispatcher) parked(ctx context.Context, task *posthouse.Gate, waits []handler.Wait, session string) (json.RawMessage, error) {
	have, err := d.onRecord(ctx, task)
	if err != nil {
		return nil, err
	}
	out := make([]handler.Wait, len(waits))
	for i, w := range waits {
		edited, err := checkWait(&have, &w)
		if err != nil {
			return nil, err
		}
		if w.Question != nil {
			g := w.Question.Clone()
			shift(&g.ExpiresAt, d.core.Now())
			if g.Escalation != nil {
				e, from := *g.Escalation, d.core.Now()
				if edited != nil {
					from = edited.CreatedAt
				}
				shift(&e.At, from)
				g.Escalation = &e
			}
			if err := cmp.Or(handler.CheckName("question", g.Name), commit.ValidateGate(g, false), commit.MayOpen(d.core, g)); err != nil {
				return nil, err
			}
			g.Instance = session
			w.Question = g
		}
		out[i] = w
	}
	return json.Marshal(out)
}

// sameWaits reports whether waits on record are those of a verdict, whenever it is repeated: the
// times that a handler gives count from when the engine reads them.
func sameWaits(recorded json.RawMessage, waits []task.Wait) bool {
	plain := func(data []byte) (out []byte) {
		var list []task.Wait
		if json.Unmarshal(data, &list) != nil {
			return nil
		}
		for i := range list {
			if g := list[i].Question; g != nil {
				g.Instance, g.ExpiresAt = "", time.Time{}
				if g.Escalation != nil {
					g.Escalation.At = time.Time{}
				}
			}
		}
		out, _ = json.Marshal(list)
		return out
	}
	again, err := json.Marshal(waits)
	was := plain(recorded)
	return err == nil && was != nil && bytes.Equal(was, plain(again))
}

func shift(t *time.Time, now time.Time) {
	if !t.IsZero() {
		*t = now.Add(t.Sub(handler.Epoch))
	}
}
