package graph

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
)

// UpdateOptions say what is updated and where the thread goes on. The zero
// value updates the head of main and leaves the next node as it is.
type UpdateOptions struct {
	Branch     string       // whose head is updated; default main
	Checkpoint posthouse.ID // or this checkpoint, on a new branch unless it is its branch's head
	NewBranch  string       // the new branch's name; default update-1, update-2, ...; if set, a head too is updated on a new branch

	AsNode string // as if this node, or Start, had made the change: the thread goes on where it leads
	Goto   string // the thread goes on at this node, or is done if it is End
	By     string // who updates
}

// Update changes a state by hand. It makes a child of the checkpoint, of kind
// update, and runs nothing: [App.Resume] goes on from it. The checkpoint that
// was updated stays as it is. Questions that were open at a head are
// cancelled; its node asks anew. Unlike a node, the change may do anything to
// append parts.
//
// [posthouse.ErrBusy] while the thread is being run, [posthouse.ErrConflict] if
// the branch moved on meanwhile, [posthouse.ErrNotFound].
func (a *App[S]) Update(ctx context.Context, thread string, change func(s *S), o ...UpdateOptions) (*Snapshot[S], error) {
	opt, err := one(o)
	if err != nil {
		return nil, err
	}
	base, err := a.checkpoint(ctx, thread, StateOptions{Branch: opt.Branch, Checkpoint: opt.Checkpoint})
	if err != nil {
		return nil, err
	}
	if err := a.owns(&base.Header); err != nil {
		return nil, err
	}
	c, err := a.updated(base, change, opt)
	if err != nil {
		return nil, err
	}
	h, err := a.commitUpdate(ctx, base, c, opt.NewBranch)
	if err != nil {
		return nil, err
	}
	return a.State(ctx, h.Thread, StateOptions{Checkpoint: h.ID})
}

// updated makes the child of base.
func (a *App[S]) updated(base *posthouse.Checkpoint, change func(*S), o UpdateOptions) (*posthouse.Change, error) {
	s, err := a.snapshot(base)
	if err != nil {
		return nil, err
	}
	if change != nil {
		change(&s.State)
	}
	c := &posthouse.Change{
		Parent: base.ID, Kind: posthouse.KindUpdate, Status: posthouse.StatusInterrupted,
		Graph: a.name, Fingerprint: a.fingerprint, Node: base.Node, By: o.By,
	}
	g, err := a.updatedAgenda(base, &s.State, o)
	if err != nil {
		return nil, err
	}
	c.Next = a.names(&g)
	p, _, changed, err := g.change(planPart, base.Program[planPart].Data)
	if err != nil {
		return nil, err
	}
	if changed {
		c.Program = append(c.Program, p)
	}
	c.Program = append(c.Program, strays(base.Program, &g)...)
	if o.AsNode != "" && o.AsNode != Start {
		c.Node = o.AsNode
	}
	if len(c.Next) == 0 {
		c.Status = posthouse.StatusDone
	}
	c.Parts, err = a.plan.write(a.codec, reflect.ValueOf(&s.State).Elem())
	return c, err
}

// updatedAgenda says where the thread goes on: AsNode(n) behind n, beside what
// else was to run with n; Goto(n) at n.
func (a *App[S]) updatedAgenda(base *posthouse.Checkpoint, s *S, o UpdateOptions) (agenda, error) {
	g, err := readAgenda(base.Next, base.Program, planPart)
	if err != nil {
		return g, err
	}
	switch {
	case o.AsNode != "" && o.Goto != "":
		return g, invalid("Goto", "is given together with AsNode")
	case o.AsNode == Start:
		next, err := a.onward(Start, a.start, nil, Command{}, s)
		if err != nil {
			return g, err
		}
		return a.after(&agenda{}, []completion{{Start, next}})
	case o.AsNode != "":
		return a.asNode(&g, s, o.AsNode)
	case o.Goto != "":
		next, ok := a.to[o.Goto]
		if !ok || len(next) == 1 && a.nodes[o.Goto].input != nil {
			return g, invalid("Goto", "%q is not a node of graph %q that runs without an input", o.Goto, a.name)
		}
		return agenda{tasks: next}, nil
	}
	return g, nil
}

// asNode returns the agenda behind a node that is taken for completed.
func (a *App[S]) asNode(g *agenda, s *S, name string) (agenda, error) {
	n := a.nodes[name]
	if n == nil {
		return agenda{}, invalid("AsNode", "%q is not a node of graph %q", name, a.name)
	}
	next, err := a.onward(name, n.ways, n.opt.Targets, Command{}, s)
	if err != nil {
		return agenda{}, err
	}
	rest := slices.DeleteFunc(slices.Clone(g.tasks), func(t target) bool { return t.node == name })
	if len(rest) == len(g.tasks) {
		rest = nil // the thread was somewhere else: it goes on behind the node only
	}
	ends := []completion{{name, next}}
	if len(rest) > 0 {
		ends = append(ends, completion{Start, rest})
	}
	return a.after(&agenda{arrived: g.arrived, deferred: g.deferred}, ends)
}

// commitUpdate appends the child to its parent's branch if that is the head,
// and otherwise begins a branch with it.
func (a *App[S]) commitUpdate(ctx context.Context, base *posthouse.Checkpoint, c *posthouse.Change, branch string) (*posthouse.Header, error) {
	info, err := a.ledger.Thread(ctx, base.Thread)
	if err != nil {
		return nil, err
	}
	if head, _ := info.Branch(base.Branch); head.Head == base.ID && branch == "" {
		done, err := a.ledger.Commit(ctx, &posthouse.Draft{Thread: base.Thread, Branch: base.Branch, Head: &base.ID, Checkpoint: c})
		if err != nil {
			return nil, err
		}
		return done.Checkpoint, nil
	}
	c.Source = &posthouse.Source{Thread: base.Thread, ID: base.ID}
	none := posthouse.ID("")
	for n := 1; ; n++ {
		name := branch
		if name == "" {
			name = "update-" + strconv.Itoa(n)
			if _, taken := info.Branch(name); taken {
				continue
			}
		}
		done, err := a.ledger.Commit(ctx, &posthouse.Draft{Thread: base.Thread, Branch: name, Head: &none, Checkpoint: c})
		switch {
		case err == nil:
			return done.Checkpoint, nil
		case branch != "" && errors.Is(err, posthouse.ErrConflict):
			return nil, &posthouse.Error{
				Code: posthouse.CodeExists, Message: "branch " + name + " of thread " + base.Thread + " exists",
				Hint: "choose another name", Err: err,
			}
		case !errors.Is(err, posthouse.ErrConflict):
			return nil, err
		}
	}
}

// ForkOptions say where a fork goes. The zero value is a new branch of the
// same thread.
type ForkOptions struct {
	Thread string // a new thread
	Branch string // the new branch's name; default fork-1, fork-2, ...; not with Thread
	By     string // who forks
}

// Fork begins a branch, or a thread, at any checkpoint and returns its first
// checkpoint; Source says where it came from. change, if not nil, edits its
// state. Nothing runs until it is resumed: it then goes on where the source
// would have. Steps recorded before the fork are inherited, gates that were
// open at the checkpoint are open again under new ids.
func (a *App[S]) Fork(ctx context.Context, checkpoint posthouse.ID, change func(s *S), o ...ForkOptions) (*Snapshot[S], error) {
	opt, err := one(o)
	if err != nil {
		return nil, err
	}
	fork := &posthouse.ForkOptions{Thread: opt.Thread, Branch: opt.Branch, By: opt.By}
	if change != nil {
		c, err := a.ledger.Get(ctx, checkpoint)
		if err != nil {
			return nil, err
		}
		s, err := a.snapshot(c)
		if err != nil {
			return nil, err
		}
		change(&s.State)
		parts, err := a.plan.write(a.codec, reflect.ValueOf(&s.State).Elem())
		if err != nil {
			return nil, err
		}
		fork.Patch = make(posthouse.State, len(parts))
		for _, p := range parts {
			fork.Patch[p.Name] = posthouse.Value{Codec: p.Codec, Data: p.Data}
		}
	}
	c, err := a.ledger.Fork(ctx, checkpoint, fork)
	if err != nil {
		return nil, err
	}
	return a.snapshot(c)
}
