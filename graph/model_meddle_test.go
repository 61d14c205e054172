package graph_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
)

// This file is what may be done to a thread at any time, in the middle of
// whatever it does, and does not change what it comes to.

// meddle does some of it to the thread.
func (c *trial) meddle() {
	if c.meddles == 0 || c.died() {
		return
	}
	head, err := c.app.State(c.ctx, c.thread)
	if errors.Is(err, posthouse.ErrNotFound) {
		return
	}
	c.meddles--
	defer c.dying.Spare()() // by a process that does not die
	if err == nil {
		switch c.rnd.IntN(4) {
		case 0:
			err = c.within(head)
		case 1:
			err = c.touch(head)
		case 2:
			err = c.rename()
		default:
			err = c.copy()
		}
	}
	if err != nil {
		c.Fatalf("behind checkpoint %s (%s, %s): %v", head.ID, head.Kind, head.Status, err)
	}
}

// within changes the state of a subgraph so that what it does stays the same.
func (c *trial) within(head *graph.Snapshot[mixed]) error {
	const unseen = 7 * 11 // see subInput and subOutput
	for _, path := range c.plan.inside("") {
		was, err := graph.Within[mixed](c.ctx, c.ledger, head.ID, path)
		if errors.Is(err, posthouse.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		h, err := graph.UpdateWithin(c.ctx, c.ledger, head.ID, path, func(s *mixed) { s.Sum += unseen })
		if err != nil {
			return err
		}
		now, err := graph.Within[mixed](c.ctx, c.ledger, h.ID, path)
		if was.Sum += unseen; err != nil || !same(was, now) {
			return fmt.Errorf("within %s is %s, want %s: %w", path, now, was, err)
		}
		return nil
	}
	return nil
}

// inside returns the paths of subgraphs that have no thread of their own.
func (g *graphPlan) inside(in string) (paths []string) {
	for _, n := range g.Nodes {
		if n.Sub != nil && !n.Own {
			paths = append(append(paths, in+n.called()), n.Sub.inside(in+n.called()+"/")...)
		}
	}
	return paths
}

// touch makes an update without a change, unless a task of the step completed:
// what the others recorded would not count any more.
func (c *trial) touch(head *graph.Snapshot[mixed]) error {
	all, err := c.ledger.Core().Executions(c.ctx, &head.Header)
	if err != nil {
		return err
	}
	for task, x := range all {
		for _, s := range x.Steps {
			if s.Name == "$done" && !strings.Contains(task, ">") {
				return nil
			}
		}
	}
	s, err := c.app.Update(c.ctx, c.thread, nil)
	if err == nil && (!same(&s.State, &head.State) || firstNames(s.Next...) != firstNames(head.Next...)) {
		err = fmt.Errorf("an update without a change made %s, next %q", &s.State, s.Next)
	}
	return err
}

// firstNames are what nodes were called before any was renamed.
func firstNames(nodes ...string) string {
	return strings.ReplaceAll(strings.Join(nodes, " "), "r", "")
}

// rename goes on with a version of the graph in which a node has another name.
func (c *trial) rename() error {
	nodes := c.plan.renamable("")
	if len(nodes) == 0 {
		return nil
	}
	was, n := c.app.Fingerprint(), nodes[c.rnd.IntN(len(nodes))]
	n.node.Renamed = true
	c.opt.Compile.Migrations = append(c.opt.Compile.Migrations, graph.Migration{From: was, Nodes: map[string]string{n.path: n.node.called()}})
	c.compile()
	return nil
}

type placed struct {
	path string
	node *nodePlan
}

// renamable returns the nodes that can have another name. Of a subgraph that
// keeps its state in a thread of its own, a thread of the new name has all that
// the old one had: it would be counted twice.
func (g *graphPlan) renamable(in string) (all []placed) {
	for _, n := range g.Nodes {
		if !n.Renamed && !n.keepsApart() && (n.Sub == nil || !n.Sub.has((*nodePlan).keepsApart)) {
			all = append(all, placed{in + n.called(), n})
		}
		if n.Sub != nil && !n.Own && n.Lifetime != graph.Unkept {
			all = append(all, n.Sub.renamable(in+n.called()+"/")...)
		}
	}
	return all
}

// keepsApart reports whether the node is a subgraph that keeps its state in a
// thread of its own: a copy does not have that.
func (n *nodePlan) keepsApart() bool { return n.Own && n.Lifetime == graph.PerThread }

// copy copies the thread; what is on record of it is not done again in the copy.
func (c *trial) copy() error {
	if len(c.hands) > 0 || c.plan.has((*nodePlan).keepsApart) {
		return nil
	}
	name := fmt.Sprint("copy-", len(c.copies), "-of-", c.thread)
	if _, err := c.app.Copy(c.ctx, c.thread, name, nil); err != nil {
		return err
	}
	c.copies = append(c.copies, name)
	names, err := recorded(c.ctx, c.ledger, []segment{{name, posthouse.MainBranch, ^uint64(0), ^uint64(0)}})
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	where := name + "~" + posthouse.MainBranch
	c.w.known[where] = true
	for _, n := range names {
		c.w.acked[where+" "+n] = true
	}
	return err
}

// finishCopies wants of each copy what was wanted of the thread.
func (c *trial) finishCopies() {
	for _, name := range c.copies {
		have, whyNot := c.finish(name, "", byResume, "")
		c.check(name, have, whyNot)
		c.account([][2]string{{name, posthouse.MainBranch}}, !c.plan.apart())
	}
}

// releaseAndRepeat closes the thread, and runs it under its name once more.
func (c *trial) releaseAndRepeat() {
	v, err := c.app.Release(c.ctx, c.thread, nil)
	if err != nil {
		c.Fatal(err)
	}
	if !same(&v.State.State, &c.want) {
		c.Fatalf("released was %s, want %s", &v.State.State, &c.want)
	}
	if _, err := c.app.Resume(c.ctx, c.thread); !errors.Is(err, posthouse.ErrNotFound) {
		c.Fatalf("a released thread resumed: %v", err)
	}
	clear(c.laid)
	clear(c.w.keys) // threads of subgraphs are others now
	have, whyNot := c.finish(c.thread, "", byInput, "")
	c.check("the thread, once more,", have, whyNot)
	old, err := c.app.Version(c.ctx, c.thread, "1")
	if err != nil || !same(&old.State.State, &c.want) {
		c.Fatalf("version 1 is %+v: %v", old, err)
	}
}
