package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/storetest"
)

// A Desk is a Ledger with helpers for cases.
type Desk struct {
	*T
	*ledger.Ledger
	Clock *storetest.Clock
}

// Desk opens a Ledger over the store under test. It has its own clock and the suite's
// cipher unless o sets others.
func (t *T) Desk(o ledger.Options) *Desk {
	t.Helper()
	return t.DeskOn(t.Store, o)
}

// DeskOn is Desk over a store that wraps the one under test.
func (t *T) DeskOn(s posthouse.Store, o ledger.Options) *Desk {
	t.Helper()
	c := storetest.NewClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if o.Now == nil {
		o.Now = c.Now
	}
	if o.Cipher == nil {
		o.Cipher = t.Cipher
	}
	l, err := ledger.Open(s, &o)
	t.OK(err)
	return &Desk{t, l, c}
}

// State returns a state of one opaque part.
func State(v string) posthouse.State {
	return posthouse.State{posthouse.OpaquePart: {Codec: "raw", Data: []byte(v)}}
}

// Content returns what [State] was given.
func Content(c *posthouse.Checkpoint) string { return string(c.State[posthouse.OpaquePart].Data) }

// MustSave saves a checkpoint.
func (d *Desk) MustSave(c *posthouse.Checkpoint) *posthouse.Checkpoint {
	d.Helper()
	s, err := d.Save(d.Ctx, c, nil)
	d.OK(err)
	return s
}

// Root saves a root in a thread under a coordination.
func (d *Desk) Root(thread, coordination, v string) *posthouse.Checkpoint {
	d.Helper()
	c := posthouse.Root(coordination, State(v))
	c.Thread = thread
	return d.MustSave(c)
}

// Derive saves a child of a checkpoint.
func (d *Desk) Derive(c *posthouse.Checkpoint, v string) *posthouse.Checkpoint {
	d.Helper()
	return d.MustSave(c.Derive(State(v)))
}

// MustGet loads a checkpoint.
func (d *Desk) MustGet(id posthouse.ID) *posthouse.Checkpoint {
	d.Helper()
	c, err := d.Get(d.Ctx, id)
	d.OK(err)
	return c
}

// States lists what a query finds, by content.
func (d *Desk) States(q posthouse.Query) []string {
	d.Helper()
	var out []string
	for c, err := range d.ListStates(d.Ctx, q) {
		d.OK(err)
		out = append(out, Content(c))
	}
	return out
}

// WantStates fails the case unless a query finds these contents, in order.
func (d *Desk) WantStates(q posthouse.Query, want ...string) {
	d.Helper()
	if got := d.States(q); !slices.Equal(got, want) {
		d.Errorf("query %+v finds %q, want %q", q, got, want)
	}
}

// WantStatus checks a thread's status.
func (d *Desk) WantStatus(thread string, want posthouse.Status) {
	d.Helper()
	info, err := d.Thread(d.Ctx, thread)
	d.OK(err)
	if info.Status != want {
		d.Errorf("thread %s is %q, want %q", thread, info.Status, want)
	}
}

// Tail returns where a thread's log ends.
func (d *Desk) Tail(thread string) posthouse.Position {
	d.Helper()
	info, err := d.Thread(d.Ctx, thread)
	d.OK(err)
	return info.Tail
}

// WantErr stops the case unless err matches the sentinel; it returns the error.
func (d *Desk) WantErr(err error, sentinel *posthouse.Error) *posthouse.Error {
	d.Helper()
	var e *posthouse.Error
	if !errors.Is(err, sentinel) || !errors.As(err, &e) {
		d.Fatalf("error is %v, want code %q", err, sentinel.Code)
	}
	return e
}

// Ask commits a waiting checkpoint with gates and returns what was committed.
func (d *Desk) Ask(thread string, gates ...posthouse.Gate) *posthouse.Committed {
	d.Helper()
	done, err := d.Commit(d.Ctx, &ledger.Draft{
		Thread: thread, Gates: gates, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Node: "ask", Next: []string{"ask"},
			State: State("waiting in " + thread),
		},
	})
	d.OK(err)
	return done
}

// Numbered returns the prefix with each number from 0 to n-1.
func Numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return out
}

// IsCode reports whether an error has a code.
func IsCode(err error, code posthouse.Code) bool {
	return errors.Is(err, &posthouse.Error{Code: code})
}

// Step records a result as an entry of its own.
func (d *Desk) Step(thread, task, name string) {
	d.Helper()
	_, err := d.Commit(d.Ctx, &ledger.Draft{Thread: thread, Steps: []posthouse.Step{{
		Task: task, Name: name, Value: posthouse.Value{Codec: "raw", Data: []byte("result of " + name)},
	}}})
	d.OK(err)
}

// Wait makes a task of a thread wait, for a new question or for the kept ones.
func (d *Desk) Wait(thread, task string, keep []posthouse.ID, metadata ...string) *posthouse.Committed {
	d.Helper()
	draft := &ledger.Draft{Thread: thread, Keep: keep, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"n"},
	}}
	for _, m := range metadata {
		draft.Checkpoint.Metadata = map[string]string{"note": m}
	}
	if keep == nil {
		draft.Gates = []posthouse.Gate{{Name: "ok?", Task: task}}
	}
	done, err := d.Commit(d.Ctx, draft)
	d.OK(err)
	return done
}

// MustRelease closes a thread's current generation.
func (d *Desk) MustRelease(thread string, o *ledger.ReleaseOptions) *posthouse.Release {
	d.Helper()
	r, err := d.Release(d.Ctx, thread, o)
	d.OK(err)
	return r
}

// ExecutionOf returns what is on record of one task at a branch's head.
func ExecutionOf(ctx context.Context, l *ledger.Ledger, head *posthouse.Header, task string) (*ledger.Execution, error) {
	all, err := ledger.Executions(ctx, l, head)
	if x := all[task]; x != nil || err != nil {
		return x, err
	}
	return &ledger.Execution{}, nil
}
