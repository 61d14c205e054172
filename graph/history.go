package graph

import (
	"context"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// StateOptions say which state is wanted. The zero value is the head of main.
type StateOptions struct {
	Branch     string       // default main; with Node: any
	Checkpoint posthouse.ID // this one
	Node       string       // the newest checkpoint of this node, alone or beside others, also if it failed or waits
	Version    uint32       // of this released version; 0: of the current generation
}

// State returns a checkpoint of the thread with its state.
// [posthouse.ErrNotFound].
func (a *App[S]) State(ctx context.Context, thread string, o ...StateOptions) (*Snapshot[S], error) {
	opt, err := engine.One(o)
	if err != nil {
		return nil, err
	}
	return a.front.State(ctx, thread, engine.StateOptions(opt))
}

// HistoryOptions narrow a history. The zero value is all of it.
type HistoryOptions struct {
	Branch  string           // only this branch; default all
	Node    string           // only this node's checkpoints, alone or beside others
	Kind    string           // only this kind, such as posthouse.KindNode
	Status  posthouse.Status // only those of this status
	Run     string           // only what this run made
	Label   string           // only those with this label, of this value
	Value   string
	Since   time.Time // of CreatedAt, both inclusive; zero: open
	Until   time.Time
	Version uint32 // of this released version; 0: of the current generation
	Oldest  bool   // oldest first
	After   string // go on behind the snapshot with this Cursor
	Limit   int    // 0: no limit
}

// History yields the thread's checkpoints with their states, newest first unless
// told otherwise.
// An unknown thread has none. An error is the last element.
func (a *App[S]) History(ctx context.Context, thread string, o ...HistoryOptions) iter.Seq2[*Snapshot[S], error] {
	opt, err := engine.One(o)
	return a.front.History(ctx, thread, engine.HistoryOptions(opt), err)
}
