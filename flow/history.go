package flow

import (
	"context"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/ledger"
)

// A Snapshot is a checkpoint of a thread: the input, a step that was done
// (Kind event, Node is the step's name), a wait, a failure, or the end.
type Snapshot[In, Out any] struct {
	posthouse.Header
	Input    In
	Output   Out // of this execution if it is done, otherwise of the one before it
	Metadata map[string]string
}

// StateOptions say which state is wanted. The zero value is the head of main.
type StateOptions struct {
	Branch     string       // default main; with Node: any
	Checkpoint posthouse.ID // this one
	Node       string       // the newest checkpoint of this step
	Version    uint32       // of this released version; 0: of the current generation
}

// State returns a checkpoint of the thread. [posthouse.ErrNotFound].
func (a *App[In, Out]) State(ctx context.Context, thread string, o ...StateOptions) (*Snapshot[In, Out], error) {
	opt, err := engine.Optional(o)
	if err != nil {
		return nil, err
	}
	return a.front.State(ctx, thread, front.StateOptions(opt))
}

// Result returns where the thread's branch stands, without executing anything.
// [posthouse.ErrNotFound].
func (a *App[In, Out]) Result(ctx context.Context, thread string, o ...StateOptions) (*Result[Out], error) {
	s, err := a.State(ctx, thread, o...)
	if err != nil {
		return nil, err
	}
	return a.resultOf(ctx, s)
}

func (a *App[In, Out]) result(ctx context.Context, id posthouse.ID) (*Result[Out], error) {
	s, err := a.front.At(ctx, id)
	if err != nil {
		return nil, err
	}
	return a.resultOf(ctx, s)
}

func (a *App[In, Out]) resultOf(ctx context.Context, s *Snapshot[In, Out]) (*Result[Out], error) {
	res := &Result[Out]{Thread: s.Thread, Branch: s.Branch, Run: s.Run, Checkpoint: s.ID, Status: s.Status, Error: s.Error}
	switch s.Status {
	case posthouse.StatusDone:
		res.Output = s.Output
	case posthouse.StatusWaiting:
		for g, err := range a.ledger.Gates(ctx, ledger.GateQuery{Thread: s.Thread, All: true}) {
			if err != nil {
				return nil, err
			}
			if g.Branch == s.Branch {
				res.Waiting = append(res.Waiting, *g)
			}
		}
	}
	return res, nil
}

func (a *App[In, Out]) snapshot(c *posthouse.Checkpoint) (*Snapshot[In, Out], error) {
	s := &Snapshot[In, Out]{Header: c.Header, Metadata: c.Metadata}
	var err error
	if v, ok := c.State[partInput]; ok {
		s.Input, err = posthouse.Decode[In](v, a.codec)
		if err != nil {
			return nil, err
		}
	}
	if v, ok := c.State[partOutput]; ok {
		s.Output, err = posthouse.Decode[Out](v, a.codec)
	}
	return s, err
}

// HistoryOptions narrow a history. The zero value is all of it.
type HistoryOptions struct {
	Branch  string           // only this branch; default all
	Node    string           // only this step's checkpoints
	Kind    string           // only this kind, such as posthouse.KindEvent
	Status  posthouse.Status // only those of this status
	Run     string           // only what this run made
	Label   string           // only those with this label, of this value
	Value   string
	Since   time.Time // of CreatedAt, both inclusive; zero: open
	Until   time.Time
	Version uint32 // of this released version; 0: of the current generation
	Oldest  bool   // oldest first
	After   string // go on after the snapshot with this Cursor
	Limit   int    // 0: no limit
}

// History yields the thread's checkpoints, newest first unless told otherwise. An
// unknown thread has no checkpoints. An error is the last element.
func (a *App[In, Out]) History(ctx context.Context, thread string, o ...HistoryOptions) iter.Seq2[*Snapshot[In, Out], error] {
	opt, err := engine.Optional(o)
	return a.front.History(ctx, thread, front.HistoryOptions(opt), err)
}

// ForkOptions say where a fork goes. The zero value is a new branch of the
// same thread.
type ForkOptions struct {
	Thread string // a new thread
	Branch string // the new branch's name; default fork-1, fork-2, ...; not with Thread
	By     string // who forks
}

// Fork begins a branch, or a thread, at any checkpoint and returns its first
// checkpoint, which names the other as its Source. Nothing runs until it is resumed.
// The function is then executed with the steps recorded up to the checkpoint; later
// steps run again.
//
// change, if not nil, edits the input. Recorded steps are kept all the same: to run
// them again with another input, fork at the checkpoint of kind input.
func (a *App[In, Out]) Fork(ctx context.Context, checkpoint posthouse.ID, change func(in *In), o ...ForkOptions) (*Snapshot[In, Out], error) {
	opt, err := engine.Optional(o)
	if err != nil {
		return nil, err
	}
	c, err := a.ledger.Get(ctx, checkpoint)
	if err != nil {
		return nil, err
	}
	if err := a.front.Owns(&c.Header); err != nil {
		return nil, err
	}
	fork := &ledger.ForkOptions{Thread: opt.Thread, Branch: opt.Branch, By: opt.By}
	if change != nil {
		s, err := a.snapshot(c)
		if err != nil {
			return nil, err
		}
		if err := engine.Guard(func() error { change(&s.Input); return nil }); err != nil {
			return nil, err
		}
		v, err := posthouse.Encode(a.codec, s.Input)
		if err != nil {
			return nil, err
		}
		fork.Patch, fork.Parts = posthouse.State{partInput: v}, []string{partInput}
	}
	c, err = a.ledger.Fork(ctx, checkpoint, fork)
	if err != nil {
		return nil, err
	}
	return a.snapshot(c)
}

// WaitOptions refine [App.Wait]. The zero value is useful.
type WaitOptions struct {
	Branch string // default main
}

// Wait waits until the thread's run has ended, failed, stopped, or waits for a person, and returns
// where it stands. It needs no handle: the run may have begun anywhere, and go on in any process. A
// run that waits for a time, a signal or a worker goes on by itself, so Wait goes on as well.
// Something must run the thread, as package runner does. Wait returns ctx's error if that ends
// first, and [posthouse.ErrNotFound] for an unknown thread or branch.
func (a *App[In, Out]) Wait(ctx context.Context, thread string, o ...WaitOptions) (*Result[Out], error) {
	opt, err := engine.Optional(o)
	if err != nil {
		return nil, err
	}
	s, err := a.front.Wait(ctx, thread, opt.Branch)
	if err != nil {
		return nil, err
	}
	return a.resultOf(ctx, s)
}
