package graph

import (
	"context"
	"reflect"

	"github.com/posthouse/posthouse"
)

// WithinOptions refine [Within] and [UpdateWithin]. The zero value is useful.
type WithinOptions struct {
	Codec posthouse.Codec // of the graph around; default posthouse.JSON
	By    string          // who updates
}

// Within reads the state of a subgraph as of a checkpoint. The path is that of
// the checkpoints it made, without their last node: "research", or
// "research/deep" of a subgraph in a subgraph. T is the subgraph's state.
// [posthouse.ErrNotFound] if there is none on record there: it had not begun,
// had ended, or is kept by nobody.
func Within[T any](ctx context.Context, l *posthouse.Ledger, checkpoint posthouse.ID, path string, o ...WithinOptions) (*T, error) {
	_, s, _, err := within[T](ctx, l, checkpoint, path, o)
	return s, err
}

// UpdateWithin changes the state of a subgraph by hand, at the head of its
// branch: it makes a child of the head, of kind update, and runs nothing.
// Resuming goes on inside the subgraph with the new state: steps and answers on
// record count. Questions that were open are cancelled; their nodes ask anew. To
// change the past, fork first.
// [posthouse.ErrConflict] if the checkpoint is not its branch's head.
func UpdateWithin[T any](ctx context.Context, l *posthouse.Ledger, checkpoint posthouse.ID, path string, change func(*T), o ...WithinOptions) (*posthouse.Header, error) {
	c, s, p, err := within[T](ctx, l, checkpoint, path, o)
	if err != nil {
		return nil, err
	}
	if change != nil {
		change(s)
	}
	opt, _ := one(o)
	parts, err := p.write(opt.codec(), reflect.ValueOf(s).Elem(), innerState(c, (&nest{path: path}).prefix()).State)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		parts[i].Name = (&nest{path: path}).prefix() + parts[i].Name
	}
	done, err := l.Commit(ctx, &posthouse.Draft{Thread: c.Thread, Branch: c.Branch, Head: &c.ID, Checkpoint: &posthouse.Change{
		Parent: c.ID, Kind: posthouse.KindUpdate, Status: posthouse.StatusInterrupted, Graph: c.Graph, Fingerprint: c.Fingerprint,
		Node: c.Node, Next: c.Next, By: opt.By, Program: parts, SameStep: true,
	}})
	if err != nil {
		return nil, err
	}
	return done.Checkpoint, nil
}

func (o *WithinOptions) codec() posthouse.Codec {
	if o.Codec == nil {
		return posthouse.JSON
	}
	return o.Codec
}

func within[T any](ctx context.Context, l *posthouse.Ledger, id posthouse.ID, path string, o []WithinOptions) (*posthouse.Checkpoint, *T, *plan, error) {
	opt, err := one(o)
	if err != nil {
		return nil, nil, nil, err
	}
	p, bad := newPlan(reflect.TypeFor[T](), opt.codec())
	if len(bad) > 0 {
		return nil, nil, nil, invalid("state", "%s", bad[0])
	}
	c, err := l.Get(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	in := innerState(c, (&nest{path: path}).prefix())
	if _, stands := c.Program[(&nest{path: path}).planName()]; !stands && len(in.State) == 0 {
		return nil, nil, nil, &posthouse.Error{
			Code: posthouse.CodeNotFound, Message: "checkpoint " + string(id) + " has no state of a subgraph " + path,
			Hint: "the Node of checkpoints of kind inner says which there are",
		}
	}
	s := new(T)
	return c, s, p, p.read(opt.codec(), in, reflect.ValueOf(s).Elem())
}
