package topology

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/graph/internal/state"
)

// PartMisfits returns the parts that do not decode into their fields, or hold keys that
// their fields lack.
func PartMisfits(schema *state.Schema, codec posthouse.Codec, s posthouse.State) (bad []*migrate.Mismatch) {
	for i := range schema.Fields {
		f := &schema.Fields[i]
		v, ok := s[f.Part]
		if !ok {
			continue
		}
		if err := f.Fits(codec, v); err != nil {
			bad = append(bad, migrate.Misfit(migrate.MismatchPart, f.Part, err, "part %q does not fit the field %s of type %s", f.Part, f.Name, f.Type))
		}
	}
	return bad
}

// UnknownParts returns the parts that have no field: of a field that was renamed or dropped.
func UnknownParts(schema *state.Schema, s posthouse.State) (bad []*migrate.Mismatch) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if schema.Part(name) == nil {
			bad = append(bad, migrate.Misfit(migrate.MismatchPart, name, nil, "part %q has no field in the state: let a migration move or delete it", name))
		}
	}
	return bad
}

// FrontierMisfits returns what of a frontier this graph cannot run.
func (a *Graph) FrontierMisfits(g *frontier.Frontier) (bad []*migrate.Mismatch) {
	for i := range g.Tasks {
		m := a.taskMisfit(migrate.MismatchNode, "it goes on at", &g.Tasks[i])
		same := func(o *migrate.Mismatch) bool { return o.Kind == m.Kind && o.Name == m.Name && o.Text == m.Text }
		if m != nil && !slices.ContainsFunc(bad, same) {
			bad = append(bad, m)
		}
	}
	for _, name := range g.Deferred {
		if m := a.taskMisfit(migrate.MismatchNode, "it deferred", &frontier.Target{Node: name}); m != nil {
			bad = append(bad, m)
		}
	}
	for _, to := range slices.Sorted(maps.Keys(g.Arrived)) {
		from := g.Arrived[to]
		n := a.Nodes[to]
		if n == nil || n.Join == nil {
			bad = append(bad, migrate.Misfit(migrate.MismatchJoin, to, nil, "%s arrived at a join to node %q, which is gone", strings.Join(from, ", "), to))
			continue
		}
		left := len(n.Join.From)
		for _, s := range from {
			if slices.Contains(n.Join.From, s) {
				left--
				continue
			}
			bad = append(bad, migrate.Misfit(migrate.MismatchJoin, to, nil, "node %q arrived at the join to %q and is no source of it any more", s, to))
		}
		if left == 0 {
			bad = append(bad, migrate.Misfit(migrate.MismatchJoin, to, nil, "the join to %q has no source left that did not arrive", to))
		}
	}
	return bad
}

// taskMisfit returns why a task cannot run, or nil.
func (a *Graph) taskMisfit(kind migrate.Kind, what string, t *frontier.Target) *migrate.Mismatch {
	n := a.Nodes[t.Node]
	misfit := func(kind migrate.Kind, why string) *migrate.Mismatch {
		return migrate.Misfit(kind, t.Node, nil, "%s node %q%s", what, t.Node, why)
	}
	switch {
	case t.Node == End:
		return nil
	case n == nil:
		return misfit(kind, ", which is gone")
	case t.Edges:
		return nil
	case n.Input == nil && t.Input != nil:
		return misfit(kind, " with an input, which it does not take any more")
	case n.Input != nil && t.Input == nil:
		return misfit(kind, ", which needs an input now")
	case n.Input == nil:
		return nil
	}
	if err := state.UnmarshalStrict(a.Codec, *t.Input, n.Input); err != nil {
		return migrate.Misfit(migrate.MismatchInput, t.Node, err, "an input sent to task %q does not fit its type %s", t.Node, n.Input)
	}
	return nil
}

// ResultMisfits returns what of recorded results this graph cannot go on with. They
// are of tasks that completed beside others.
func (a *Graph) ResultMisfits(done []*recorded.Task) (bad []*migrate.Mismatch) {
	for _, d := range done {
		for _, w := range d.Writes {
			if err := w.Field.Fits(a.Codec, w.Value()); err != nil {
				bad = append(bad, migrate.Misfit(migrate.MismatchResult, d.Node, err,
					"the recorded result of node %q does not fit the field %s of type %s", d.Node, w.Field.Name, w.Field.Type))
			}
		}
		for _, part := range d.Lost {
			bad = append(bad, migrate.Misfit(migrate.MismatchResult, d.Node, nil, "the recorded result of node %q has part %q, which has no field in the state", d.Node, part))
		}
		for i := range d.Next {
			if m := a.taskMisfit(migrate.MismatchResult, "the recorded result of "+strconv.Quote(d.Node)+" leads to", &d.Next[i]); m != nil {
				bad = append(bad, m)
			}
		}
	}
	return bad
}
