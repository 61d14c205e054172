package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/ledger"
)

// A core is an App without the type of its state: states are pointers to it, as any. The
// compiler makes code of its own for each type that generic code is used with. So almost
// all code of this package is a core's, and an [App] only gives it the type back.
type core struct {
	*plan
	settings
	front       *front.Front[RunOptions, input, result, snapshot]
	ledger      *ledger.Ledger
	fingerprint string
	migrations  []migrate.Migration
	about       posthouse.ProgramInfo
	traces      bool // somebody traces what the ledger's programs do
}

// settings are CompileOptions that apply to all runs.
type settings struct {
	limit     int
	check     bool
	width     int
	failFast  bool
	snapshots Snapshots
	hold      time.Duration
	release   AutoRelease
}

// An input of a run is a pointer to a state.
type input struct{ state any }

// Results and snapshots with a pointer to the state as State.
type (
	result   = Result[any]
	snapshot = Snapshot[any]
)

// Name implements [posthouse.Program].
func (a *core) Name() string { return a.name }

// Advance implements [posthouse.Program].
func (a *core) Advance(ctx context.Context, thread, branch string) error {
	_, err := a.front.Run(ctx, thread, nil, []RunOptions{{Branch: branch}})
	return err
}

// CheckReplay implements runner.ReplayChecker.
func (a *core) CheckReplay(ctx context.Context, c *posthouse.Checkpoint) error {
	return a.front.CheckReplay(ctx, c)
}

// CheckState implements runner.StateChecker.
func (a *core) CheckState(c *posthouse.Checkpoint, changed posthouse.State) error {
	return topology.CheckChanged(a.Schema, a.Codec, c, changed)
}

// Describe implements [posthouse.Describer].
func (a *core) Describe() *posthouse.ProgramInfo {
	d := a.about
	d.Input, d.State = a.Schema.InputJSON(), a.Schema.StateJSON()
	return &d
}

// StartJSON implements [posthouse.JSONStarter].
func (a *core) StartJSON(ctx context.Context, thread string, in json.RawMessage, o *posthouse.StartOptions) (*posthouse.Header, error) {
	state, err := front.ReadJSON(in, a.Schema.Type)
	if err != nil {
		return nil, err
	}
	o = cmp.Or(o, &posthouse.StartOptions{})
	return a.front.Begin(ctx, thread, &input{state}, &RunOptions{By: o.By, Labels: o.Labels, StartAt: o.StartAt}, o.DryRun)
}

// newState returns a pointer to an empty state.
func (a *core) newState() any { return reflect.New(a.Schema.Type).Interface() }

func (a *core) newSnapshot(c *posthouse.Checkpoint) (*snapshot, error) {
	s := &snapshot{Header: c.Header, State: a.newState(), Metadata: c.Metadata}
	c, err := a.current(c)
	if err != nil {
		return nil, err
	}
	if err := a.Schema.Read(c, s.State); err != nil {
		return nil, err
	}
	return s, nil
}

// state returns a checkpoint of a thread with its state.
func (a *core) state(ctx context.Context, thread string, id posthouse.ID) (*snapshot, error) {
	return a.front.State(ctx, thread, front.StateOptions{Checkpoint: id})
}

// untyped returns a function on states of a type as a core has it, nil for nil.
func untyped[S, R any](f func(*S) R) func(any) R {
	if f == nil {
		return nil
	}
	return func(s any) R { return f(s.(*S)) }
}

// untypedChange is untyped for a function without a result.
func untypedChange[S any](change func(*S)) func(any) {
	if change == nil {
		return nil
	}
	return func(s any) { change(s.(*S)) }
}

// stateOf returns the state that a core points to, an empty one for nil.
func stateOf[S any](s any) (state S) {
	if p, ok := s.(*S); ok {
		return *p
	}
	return state
}

func typedResult[S any](r *result) *Result[S] {
	if r == nil {
		return nil
	}
	return &Result[S]{
		State: stateOf[S](r.State), Thread: r.Thread, Branch: r.Branch, Run: r.Run, Checkpoint: r.Checkpoint,
		Status: r.Status, Next: r.Next, Waiting: r.Waiting, Note: r.Note, Release: r.Release,
	}
}

func typedSnapshot[S any](s *snapshot) *Snapshot[S] {
	if s == nil {
		return nil
	}
	return &Snapshot[S]{Header: s.Header, State: stateOf[S](s.State), Metadata: s.Metadata}
}

func typedVersion[S any](v *front.Version[snapshot]) *Version[S] {
	if v == nil {
		return nil
	}
	return &Version[S]{Release: v.Release, State: typedSnapshot[S](v.State)}
}
