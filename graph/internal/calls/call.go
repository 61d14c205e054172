package calls

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/internal/requesters"
	"github.com/posthouse/posthouse/internal/senders"
	"github.com/posthouse/posthouse/ledger"
)

// A Call is a call of a subgraph that runs in a thread of its own, as its caller has it on record.
type Call struct {
	Ledger  *ledger.Ledger
	Session *session.Session  // of the caller
	Task    *engine.Task      // that calls
	Thread  string            // that is called
	Labels  map[string]string // of its input
}

// State reports whether the thread of the call has been given its input. If the thread
// has gone on with another call since, State returns where this one ended: the caller
// lost the results of its calls, and makes them again. A fork of the caller goes on, in a
// thread of its own, from what the original's subgraph had done when the caller parked,
// or else from where its earlier calls ended, which kept returns.
func (c *Call) State(ctx context.Context, kept func() (Position, error)) (begun bool, ended posthouse.ID, err error) {
	was := Position{}
	for !c.Task.Fresh() {
		rec, ok := c.Task.Records().Recorded(PositionStep)
		if !ok {
			break
		}
		if err := json.Unmarshal(rec.Value.Data, &was); err != nil {
			return false, "", err
		}
	}
	q := posthouse.Query{Thread: c.Thread, Label: LabelCall, LabelValue: c.Labels[LabelCall], Limit: 1}
	for h, err := range c.Ledger.List(ctx, q) {
		if err != nil {
			return false, "", err
		}
		ended, err = EndOf(ctx, c.Ledger, h)
		return err == nil, ended, err
	}
	labels := c.Labels
	begun = was.Thread != ""
	if !begun {
		was, err = kept()
		if err != nil {
			return false, "", err
		}
		labels = maps.Clone(labels)
		delete(labels, LabelCall) // the copy's call has not begun
	}
	if was.Thread == "" || was.Thread == c.Thread {
		return false, "", nil
	}
	_, err = c.Ledger.Fork(ctx, was.Checkpoint, &ledger.ForkOptions{Thread: c.Thread, Labels: labels})
	if errors.Is(err, posthouse.ErrExists) {
		return false, "", nil // it lives per thread and was called before
	}
	return begun && err == nil, "", err
}

// lookAgain is how long a caller waits before it looks itself whether the thread that it
// called went on. Whoever ends that thread wakes it earlier, and else the look of a runner does.
const lookAgain = 24 * time.Hour

// Park keeps where the thread stands with the caller, which parks. If the thread waits, Park
// asks to be woken when it goes on, and returns true.
func (c *Call) Park(ctx context.Context, at posthouse.ID, status posthouse.Status) (waits bool, err error) {
	data, err := json.Marshal(Position{Thread: c.Thread, Checkpoint: at})
	if err != nil {
		return false, err
	}
	c.Task.Records().Hold(posthouse.Step{Name: PositionStep, Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: data}})
	if status != posthouse.StatusWaiting {
		return false, nil
	}
	for {
		_, err := c.Task.Gates().Ask(ctx, posthouse.Gate{
			Name: "$thread", Kind: posthouse.GateThread, Text: c.Thread, Payload: data,
			ExpiresAt: c.Ledger.Now().Add(lookAgain),
		})
		if errors.Is(err, posthouse.ErrWaiting) {
			return true, c.Session.Unanswered(CancelInherited(ctx, c.Ledger, c.Task.Gates().Open(), c.Thread))
		}
		if err != nil {
			return false, err
		}
	}
}

// Ended returns what the end of the call does to the program's parts of the caller: where the
// next call goes on if it is kept under a path, and who else requested what it returned.
func (c *Call) Ended(ctx context.Context, at posthouse.ID, keep string) (parts []posthouse.Part, err error) {
	if keep != "" {
		data, err := json.Marshal(Position{Thread: c.Thread, Checkpoint: at})
		if err != nil {
			return nil, err
		}
		parts = append(parts, posthouse.Part{Name: KeptPrefix + keep, Codec: posthouse.JSON.Name(), Data: data})
	}
	list, err := c.otherRequesters(ctx, at)
	if err != nil || len(list) == 0 {
		return parts, err
	}
	data, err := json.Marshal(list)
	return append(parts, posthouse.Part{Name: posthouse.RequestersPart, Codec: posthouse.JSON.Name(), Data: data}), err
}

// NoteRequesters makes who changed the thread, whose call did not complete, requesters of the
// caller's run: what its error says becomes part of what the caller does. The record goes with
// that of the failure.
func (c *Call) NoteRequesters(ctx context.Context) error {
	info, err := c.Ledger.Thread(ctx, c.Thread)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	if err != nil {
		return c.Session.Unanswered(err)
	}
	b, ok := info.Branch(posthouse.MainBranch)
	if !ok {
		return nil
	}
	list, err := c.otherRequesters(ctx, b.Head)
	if err != nil || len(list) == 0 {
		return err
	}
	step, err := senders.Others(PositionStep, list)
	if err != nil {
		return err
	}
	c.Task.Records().Hold(step)
	c.Session.Record().NoteRequesters(list)
	return nil
}

// otherRequesters returns who is a requester of the thread at its end, and not of the caller's
// run.
func (c *Call) otherRequesters(ctx context.Context, end posthouse.ID) ([]posthouse.Requester, error) {
	at, err := c.Ledger.Get(ctx, end)
	if err != nil {
		return nil, c.Session.Unanswered(err)
	}
	list, err := requesters.Read(at.Program)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	own, err := c.Session.Record().Requesters(ctx)
	return slices.DeleteFunc(list, func(o posthouse.Requester) bool {
		return slices.ContainsFunc(own, func(r posthouse.Requester) bool { return r.Name == o.Name && r.How == o.How })
	}), err
}
