package graph

import (
	"cmp"
	"context"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/edit"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// WithinOptions refine [Within] and [UpdateWithin]. The zero value is useful.
type WithinOptions struct {
	Codec posthouse.Codec // of the graph around; default posthouse.JSON
	By    string          // who updates
}

// Within reads the state of a subgraph as of a checkpoint. The path is that of the
// checkpoints it made, without their last node: "research", or "research/deep" for a
// subgraph in a subgraph. Write names as [posthouse.EscapeName] does. T is the
// subgraph's state. [posthouse.ErrNotFound] if no state is on record there: the subgraph
// had not begun, had ended, or is Unkept.
//
// A path leads through subgraphs that run in threads of their own, too. From a branch's
// head it leads to where those threads are now. From an older checkpoint, or a fork that
// has not gone on, it leads to where they were when the caller parked or when their last
// call ended. A subgraph that lives per call ended with its call.
func Within[T any](ctx context.Context, l *ledger.Ledger, checkpoint posthouse.ID, path string, o ...WithinOptions) (*T, error) {
	_, s, _, err := subgraphState[T](ctx, l, checkpoint, path, o)
	return s, err
}

// UpdateWithin changes the state of a subgraph by hand, at the head of its branch. It
// makes a child of the head, of kind update, and runs nothing. Resuming goes on inside
// the subgraph with the new state: steps and answers on record count. Questions that
// were open are cancelled; their nodes ask again. To change the past, fork first.
//
// Where a path leads through threads of their own, the head of the last thread gets the
// child; resume the caller then. UpdateWithin fails with [posthouse.ErrConflict] if the
// checkpoint is not its branch's head, or is a fork and its own thread of the subgraph
// has not begun: resume it first.
func UpdateWithin[T any](ctx context.Context, l *ledger.Ledger, checkpoint posthouse.ID, path string, change func(*T), o ...WithinOptions) (*posthouse.Header, error) {
	in, s, p, err := subgraphState[T](ctx, l, checkpoint, path, o)
	if err != nil {
		return nil, err
	}
	if in.Past {
		return nil, &posthouse.Error{
			Code: posthouse.CodeConflict, Message: "what subgraph " + path + " is at checkpoint " + string(checkpoint) + " is past, or another thread's",
			Hint: "update at the head of a branch that has called it",
		}
	}
	opt, _ := engine.Optional(o)
	return edit.Within(ctx, l, in, p, s, untypedChange(change), opt.By)
}

// ThreadWithin names the thread that a subgraph's state is in as of a checkpoint: its
// own, or the one that called it. The path is as for [Within]. [posthouse.ErrNotFound].
func ThreadWithin(ctx context.Context, l *ledger.Ledger, checkpoint posthouse.ID, path string) (string, error) {
	in, err := findSubgraph(ctx, l, checkpoint, path)
	if err != nil {
		return "", err
	}
	return in.At.Thread, nil
}

func findSubgraph(ctx context.Context, l *ledger.Ledger, checkpoint posthouse.ID, path string) (*subparts.Ref, error) {
	c, err := l.Get(ctx, checkpoint)
	if err != nil {
		return nil, err
	}
	return subparts.Find(ctx, l, c, migrate.EscapePath(path))
}

func subgraphState[T any](ctx context.Context, l *ledger.Ledger, id posthouse.ID, path string, o []WithinOptions) (*subparts.Ref, *T, *state.Schema, error) {
	opt, err := engine.Optional(o)
	if err != nil {
		return nil, nil, nil, err
	}
	p, bad := newSchema(reflect.TypeFor[T](), "", cmp.Or(opt.Codec, posthouse.JSON), false)
	if len(bad) > 0 {
		return nil, nil, nil, posthouse.Invalid("state", "%s", bad[0])
	}
	in, err := findSubgraph(ctx, l, id, path)
	if err != nil {
		return nil, nil, nil, err
	}
	s := new(T)
	return in, s, p, p.Read(in.State(), s)
}
