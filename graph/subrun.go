package graph

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/internal/engine"
)

// A rootState is what a run and the subgraphs within it share.
type rootState struct {
	graph, fingerprint string
	renamed            frontier.Renames // of the outermost frontier, as names; both change between its steps only
	names              frontier.Names

	mu     sync.Mutex
	parts  map[string]bool // names of the program's parts on record
	called []string        // threads of subgraphs that have one of their own and did not end
	own    posthouse.State // the program's parts that say what such subgraphs kept, as completed steps left them
}

// noteKept follows what subgraphs kept in threads of their own.
func (t *rootState) noteKept(parts []posthouse.Part) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range parts {
		if strings.HasPrefix(p.Name, calls.KeptPrefix) {
			if t.own == nil {
				t.own = posthouse.State{}
			}
			t.own[p.Name] = posthouse.Value{Codec: p.Codec, Data: p.Data}
		}
	}
}

// keptChild returns where the last call of a subgraph ended, the zero childJSON if it
// kept nothing.
func (t *rootState) keptChild(path string) (calls.Position, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return calls.KeptChild(t.own, path)
}

// noteCall notes that a thread is called, and returns what notes that it ended.
func (t *rootState) noteCall(thread string) func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.called = append(t.called, thread)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.called = slices.DeleteFunc(t.called, func(c string) bool { return c == thread })
	}
}

// noteParts follows the parts that a commit changed.
func (t *rootState) noteParts(parts []posthouse.Part) {
	if len(parts) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parts == nil {
		t.parts = map[string]bool{}
	}
	for i := range parts {
		if parts[i].Drop {
			delete(t.parts, parts[i].Name)
		} else {
			t.parts[parts[i].Name] = true
		}
	}
}

// partsBelow returns the names on record that are name itself or within it.
func (t *rootState) partsBelow(name string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for _, p := range slices.Sorted(maps.Keys(t.parts)) {
		if p == name || strings.HasPrefix(p, name+"/") {
			names = append(names, p)
		}
	}
	return names
}

// A subrun is where a run of a subgraph stands in the run around it.
type subrun struct {
	path     string // as in "research/plan"
	call     string // the key of the execution that called it
	exec     *engine.Task
	lifetime Lifetime
	unkept   bool             // it, or one around it, is Unkept
	pending  []posthouse.Part // what steps of unkept ones around it did to the program's parts
	parts    []posthouse.Part // of its state, to be committed with the node around it
}

// subPart begins the names of the parts of subgraphs' states.
const subPart = "$sub/"

func (n *subrun) planName() string { return frontier.PlanPart + "/" + n.path }

func (n *subrun) prefix() string { return subPart + n.path + "/" }

// enter takes up what is on record of a call, or of the calls before it. It
// reports whether a call has begun: its plan is dropped when it ends, and when
// the thread is led elsewhere.
func (r *run[S]) enter(ctx context.Context) (stands bool, err error) {
	n := r.subrun
	r.live = state.New[S](r.app.schema)
	if n.unkept {
		return false, r.enterUnkept()
	}
	if err := r.sess.Flush(); err != nil {
		return false, err
	}
	planned := len(r.rootState.partsBelow(n.planName())) > 0
	if !planned && len(r.rootState.partsBelow(subPart+n.path)) == 0 {
		return false, nil
	}
	c, err := r.app.ledger.Get(ctx, r.sess.Head().ID)
	if err != nil {
		return false, err
	}
	if v, ok := c.Program[n.planName()]; ok {
		g, err := frontier.ReadFrontier(nil, c.Program, n.planName())
		if err != nil {
			return false, err
		}
		r.record.plan, *r.frontier, n.call, stands = v.Data, g, g.Call, true
	}
	if !stands && n.lifetime != PerThread {
		return false, nil
	}
	r.live, err = state.Decode[S](r.app.schema, stateWithin(c, n.prefix()))
	return stands, err
}

// enterUnkept takes up what an earlier call within the same unkept one left.
func (r *run[S]) enterUnkept() (err error) {
	if r.subrun.lifetime != PerThread {
		return nil
	}
	c := &posthouse.Checkpoint{Program: posthouse.State{}}
	if err := state.ApplyParts(c.Program, r.subrun.pending); err != nil {
		return err
	}
	r.live, err = state.Decode[S](r.app.schema, stateWithin(c, r.subrun.prefix()))
	return err
}

// stateWithin returns a checkpoint as it looks from within a subgraph.
func stateWithin(c *posthouse.Checkpoint, prefix string) *posthouse.Checkpoint {
	in := &posthouse.Checkpoint{Header: c.Header, State: posthouse.State{}, Metadata: c.Metadata, Program: c.Program}
	for name, v := range c.Program {
		if part, ok := strings.CutPrefix(name, prefix); ok {
			in.State[part] = v
		}
	}
	return in
}

// reloadInner is reload for a subgraph.
func (r *run[S]) reloadInner(ctx context.Context) error {
	c, err := r.app.ledger.Get(ctx, r.sess.Head().ID)
	if err != nil {
		return err
	}
	in := stateWithin(c, r.subrun.prefix())
	if r.subrun.unkept {
		c = &posthouse.Checkpoint{Program: posthouse.State{}}
		if err := state.ApplyParts(c.Program, r.subrun.pending); err != nil {
			return err
		}
		if in = stateWithin(c, r.subrun.prefix()); r.subrun.lifetime != PerThread {
			clear(in.State)
		}
	}
	if err := state.ApplyParts(in.State, r.record.uncommitted); err != nil {
		return err
	}
	r.live, err = state.Decode[S](r.app.schema, in)
	return err
}

// shortenPath shortens a path to what a header takes; its end tells more.
func shortenPath(path string) string {
	if len(path) <= posthouse.MaxID {
		return path
	}
	return "..." + strings.ToValidUTF8(path[len(path)-posthouse.MaxID+3:], "")
}

// completionParts returns what completing the node around a call does to the program's
// parts.
func (n *subrun) completionParts(t *rootState) []posthouse.Part {
	gone := t.partsBelow(n.planName())
	var parts []posthouse.Part
	if n.lifetime == PerThread {
		parts = n.parts
	} else {
		for _, p := range n.parts {
			if strings.HasPrefix(p.Name, calls.KeptPrefix) { // of subgraphs that outlive it
				parts = append(parts, p)
			}
		}
		gone = append(gone, t.partsBelow(subPart+n.path)...)
	}
	for _, name := range gone {
		parts = slices.DeleteFunc(parts, func(p posthouse.Part) bool { return p.Name == name })
		parts = append(parts, posthouse.Part{Name: name, Drop: true})
	}
	return parts
}

// orphanParts drops the plans of subgraphs that no task of the frontier will go on
// with. Their states are dropped with the next call's.
func orphanParts[V any](program map[string]V, g *frontier.Frontier) (parts []posthouse.Part) {
	for _, name := range slices.Sorted(maps.Keys(program)) {
		path, ok := strings.CutPrefix(name, frontier.PlanPart+"/")
		if !ok {
			continue
		}
		label, _, _ := strings.Cut(path, "/")
		node, _, _ := strings.Cut(label, "#")
		node = frontier.UnescapeName(node)
		if g == nil || !slices.ContainsFunc(g.Tasks, func(t frontier.Target) bool { return t.Node == node }) {
			parts = append(parts, posthouse.Part{Name: name, Drop: true})
		}
	}
	return parts
}
