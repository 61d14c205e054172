package graph_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
)

// This file is what somebody does by hand to a run that stands between two
// steps of the outermost graph, in the model and to the ledger.

type handKind int

const (
	handChange handKind = iota // of the state only
	handAs                     // as a node
	handTask                   // as one of the tasks that were sent inputs
	handGoto
	handStart
	handEnd
	handBulk   // as several nodes at once, and then as the first of them
	handCancel // and an update that takes the run up again
	handKinds
)

// A hand is a change by hand after so many steps.
type hand struct {
	At    int
	Kind  handKind
	N     int
	Nodes []int // of the plan; at least one
}

// genHands draws an empty list for most graphs: otherwise a run stops after every
// step.
func genHands(g *graphPlan, most int) *rapid.Generator[[]*hand] {
	var nodes, tasks []int // what may be made as if it had run
	for i, n := range g.Nodes {
		switch {
		case n.Kind == nodeCommand: // it leads nowhere unless it runs
		case n.Kind != nodeTask:
			nodes = append(nodes, i)
		case n.Sends == nil:
			tasks = append(tasks, i)
		}
	}
	return rapid.Custom(func(t *rapid.T) (all []*hand) {
		if rapid.IntRange(0, 1).Draw(t, "by hand") == 0 || len(nodes) == 0 {
			return nil
		}
		for range rapid.IntRange(1, most).Draw(t, "hands") {
			h := &hand{
				At: rapid.IntRange(0, 8).Draw(t, "at"), Kind: handKind(rapid.IntRange(0, int(handKinds)-1).Draw(t, "hand")),
				N: rapid.IntRange(0, 60).Draw(t, "hand n"),
			}
			for _, i := range distinct(t, "hand nodes", len(nodes), min(len(nodes), 3)) {
				h.Nodes = append(h.Nodes, nodes[i])
			}
			if h.Kind == handTask && len(tasks) > 0 {
				h.Nodes = []int{rapid.SampledFrom(tasks).Draw(t, "hand task")}
			} else if h.Kind == handTask {
				h.Kind = handAs
			}
			all = append(all, h)
		}
		return all
	})
}

// change is what only an update can do: it takes away, and sets zero values.
func (h *hand) change(s *mixed) {
	half := len(s.Log) / 2
	s.Log = append(s.Log[:half:half], fmt.Sprint("by hand ", h.N))
	s.Sum, s.Max, s.Min, s.First, s.Long, s.Set, s.Custom = s.Sum-h.N, h.N-30, s.Min+h.N%2, "", "", nil, h.N
	s.Own = fmt.Sprint("hand", h.N)
	if s.Map == nil {
		s.Map = map[string]int{}
	}
	s.Map["hand"]++
}

// as changes a state as if a node had run.
func (h *hand) as(n *nodePlan, s *mixed) {
	if n.Kind == nodeSub {
		s.Sum += h.N
		n.count(s, "")
		return
	}
	n.work(s, h.N%4, "by hand", "")
}

// hand does what is to be done by hand where the model stands, and returns what
// is next.
func (m *model) hand(g *graphPlan, s *mixed, next []todo, arrived map[int][]int, deferred *[]int) []todo {
	at := m.steps
	m.steps++
	h := m.hands[at]
	if h == nil || h.Kind == handCancel {
		return next
	}
	own, def := clone(s), slices.Clone(*deferred)
	arr := map[int][]int{}
	for i, from := range arrived {
		arr[i] = slices.Clone(from)
	}
	after, ok := next, true
	switch h.Kind {
	case handChange:
		h.change(own)
	case handGoto, handStart, handEnd:
		h.change(own)
		clear(arr)
		after, def = nil, nil
		if h.Kind == handGoto {
			after = []todo{{node: h.Nodes[0]}}
		} else if h.Kind == handStart {
			after = m.follow(g, nil, own, g.Start, nil, arr, &def)
		}
	case handTask:
		i := slices.IndexFunc(next, func(t todo) bool { return t.node == h.Nodes[0] })
		m.task[at] = i + 1
		if i < 0 {
			m.task[at], ok = 1, false
			break
		}
		after, ok = m.made(g, h, own, next, h.Nodes, i+1, arr, &def)
	case handAs:
		after, ok = m.made(g, h, own, next, h.Nodes[:1], 0, arr, &def)
	case handBulk:
		after, ok = m.made(g, h, own, next, h.Nodes, 0, arr, &def)
		if ok {
			after, ok = m.made(g, h, own, after, h.Nodes[:1], 0, arr, &def)
		}
	}
	if !ok {
		m.refused[at] = true
		return next
	}
	*s = *own
	s.note()
	clear(arrived)
	maps.Copy(arrived, arr)
	*deferred = def
	return after
}

// made is an update as nodes, or as one task. It returns false for what is
// refused.
func (m *model) made(g *graphPlan, h *hand, s *mixed, next []todo, as []int, task int, arrived map[int][]int, deferred *[]int) (after []todo, ok bool) {
	var rest []todo
	found := false
	for i, t := range next {
		if slices.Contains(as, t.node) && (task == 0 || task == i+1) {
			found = true
		} else {
			rest = append(rest, t)
		}
	}
	if !found { // the run was somewhere else
		rest = nil
	}
	var tasks []todo
	var made []*mixed
	base := clone(s)
	for _, i := range as {
		own := s
		if len(as) > 1 {
			own = clone(base)
		}
		h.as(g.Nodes[i], own)
		tasks, made = append(tasks, todo{node: i}), append(made, own)
	}
	if len(as) > 1 {
		merged := merge(base, tasks, made)
		if merged == nil {
			return nil, false
		}
		*s = *merged
	}
	s.note()
	seen := map[int]bool{}
	for i := range tasks {
		after = append(after, m.follow(g, &tasks[i], made[i], nil, seen, arrived, deferred)...)
	}
	for _, t := range rest {
		switch {
		case t.input.N > 0:
			after = append(after, t)
		case g.Nodes[t.node].Defer:
			if !slices.Contains(*deferred, t.node) {
				*deferred = append(*deferred, t.node)
			}
		case !seen[t.node]:
			seen[t.node] = true
			after = append(after, t)
		}
	}
	if len(after) == 0 {
		for _, d := range *deferred {
			after = append(after, todo{node: d})
		}
		*deferred = nil
	}
	for _, from := range arrived {
		if len(after) == 0 && len(from) > 0 {
			return nil, false // no process would come
		}
	}
	return after, true
}

// lay does to the ledger what a hand does to the model. Where it begins at a
// past checkpoint it makes a branch.
func (c *trial) lay(h *hand, m *model, from posthouse.ID, branch string) error {
	o := graph.UpdateOptions{Checkpoint: from, NewBranch: branch, By: "carol"}
	node := func(i int) string { return c.plan.Nodes[i].called() }
	as := func(i int) func(*mixed) { return func(s *mixed) { h.as(c.plan.Nodes[i], s) } }
	change := h.change
	switch h.Kind {
	case handGoto:
		o.Goto = node(h.Nodes[0])
	case handEnd:
		o.Goto = graph.End
	case handStart:
		o.AsNode = graph.Start
	case handAs, handTask:
		o.AsNode, change = node(h.Nodes[0]), as(h.Nodes[0])
		if h.Kind == handTask {
			o.Task = m.task[h.At]
		}
	case handBulk:
		var steps [2][]graph.NodeUpdate[mixed]
		for _, i := range h.Nodes {
			steps[0] = append(steps[0], graph.NodeUpdate[mixed]{Node: node(i), Change: as(i)})
		}
		steps[1] = steps[0][:1]
		_, err := c.app.BulkUpdate(c.ctx, c.thread, steps[:], o)
		return err
	case handCancel:
		change = nil
		if from == "" {
			if err := c.cancelAndLook(); err != nil {
				return err
			}
		}
	}
	_, err := c.app.Update(c.ctx, c.thread, change, o)
	return err
}

// cancelAndLook cancels the thread and wants that nothing runs then.
func (c *trial) cancelAndLook() error {
	if _, err := c.ledger.Cancel(c.ctx, c.thread, &ledger.CancelOptions{By: "carol"}); err != nil {
		return err
	}
	before := c.w.events
	res, err := c.app.Resume(c.ctx, c.thread)
	if err == nil && (c.w.events != before || res.Status != posthouse.StatusCancelled && res.Status != posthouse.StatusDone) {
		err = fmt.Errorf("a cancelled thread ran on, it is %s", res.Status)
	}
	return err
}

// between returns the checkpoints of main at which the run stood between steps.
func (c *trial) between() (ids []posthouse.ID) {
	for h, err := range c.ledger.List(c.ctx, posthouse.Query{Thread: c.thread, Branch: posthouse.MainBranch}) {
		if err != nil {
			c.Fatal(err)
		}
		if h.Kind == posthouse.KindNode || h.Kind == posthouse.KindInput {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

// byHand does what is to be done where the thread stands, and reports whether
// there was anything.
func (c *trial) byHand() bool {
	if len(c.hands) == 0 || c.died() {
		return false
	}
	at := len(c.between()) - 1
	h := c.hands[at]
	if h == nil || c.laid[at] {
		return false
	}
	c.laid[at] = true
	over := c.dying.Spare() // by a process that does not die
	c.wantLaid(h, c.model, c.lay(h, c.model, "", ""))
	over()
	return true
}

// wantLaid wants an update to be refused if the model says so.
func (c *trial) wantLaid(h *hand, m *model, err error) {
	refused := errors.Is(err, posthouse.ErrConflict) || errors.Is(err, posthouse.ErrInvalid) || errors.As(err, new(*graph.JoinError))
	if m.refused[h.At] != refused || err != nil && !refused {
		c.Fatalf("%+v, to be refused: %v: %v", h, m.refused[h.At], err)
	}
}

// otherwise begins branches at past checkpoints of a thread that was led by
// hand: what was done before them counts, and something else is done there.
func (c *trial) otherwise(hands []*hand) {
	ids, main := c.between(), c.want
	for i, h := range hands {
		own := *h
		own.At = h.At % len(ids)
		past := map[int]*hand{own.At: &own}
		for at, h := range c.hands {
			if at < own.At {
				past[at] = h
			}
		}
		branch := fmt.Sprint("h", i)
		c.want, c.model, c.why = c.foreseen(past)
		if c.model.ran > 150 {
			continue
		}
		c.wantLaid(&own, c.model, c.lay(&own, c.model, ids[own.At], branch))
		if c.model.refused[own.At] {
			continue
		}
		have, whyNot := c.finish(c.thread, branch, byResume, "")
		c.check("branch "+branch, have, whyNot)
		c.account([][2]string{{c.thread, branch}}, !c.plan.apart())
	}
	if h := c.head(c.thread, ""); !same(h, &main) {
		c.Fatalf("the branches changed the thread to %s", h)
	}
}
