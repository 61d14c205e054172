package topology

import (
	"cmp"
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

// PartMisfits returns the parts that do not decode into their fields.
func PartMisfits(schema *state.Schema, codec posthouse.Codec, s posthouse.State) (bad []*migrate.Mismatch) {
	for i := range schema.Fields {
		f := &schema.Fields[i]
		v, ok := s[f.Part]
		if !ok {
			continue
		}
		if err := f.Fits(codec, v); err != nil {
			bad = append(bad, &migrate.Mismatch{
				Kind: migrate.MismatchPart, Name: f.Part, Err: err,
				Text: "part " + strconv.Quote(f.Part) + " does not fit the field " + f.Name + " of type " + f.Type.String(),
			})
		}
	}
	return bad
}

// FrontierMisfits returns what of a frontier this graph cannot run.
func (a *Graph) FrontierMisfits(g *frontier.Frontier) (bad []*migrate.Mismatch) {
	for i := range g.Tasks {
		if m := a.taskMisfit(migrate.MismatchNode, "it goes on at", &g.Tasks[i]); m != nil && !hasMismatch(bad, m) {
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
			bad = append(bad, &migrate.Mismatch{
				Kind: migrate.MismatchJoin, Name: to, Text: strings.Join(from, ", ") + " arrived at a join to node " + strconv.Quote(to) + ", which is gone",
			})
			continue
		}
		left := len(n.Join.From)
		for _, s := range from {
			if slices.Contains(n.Join.From, s) {
				left--
				continue
			}
			bad = append(bad, &migrate.Mismatch{
				Kind: migrate.MismatchJoin, Name: to, Text: "node " + strconv.Quote(s) + " arrived at the join to " + strconv.Quote(to) + " and is no source of it any more",
			})
		}
		if left == 0 {
			bad = append(bad, &migrate.Mismatch{
				Kind: migrate.MismatchJoin, Name: to, Text: "the join to " + strconv.Quote(to) + " has no source left that did not arrive",
			})
		}
	}
	return bad
}

func hasMismatch(list []*migrate.Mismatch, m *migrate.Mismatch) bool {
	return slices.ContainsFunc(list, func(o *migrate.Mismatch) bool { return o.Kind == m.Kind && o.Name == m.Name && o.Text == m.Text })
}

// taskMisfit returns why a task cannot run, nil if it can.
func (a *Graph) taskMisfit(kind migrate.Kind, what string, t *frontier.Target) *migrate.Mismatch {
	n := a.Nodes[t.Node]
	at := what + " node " + strconv.Quote(t.Node)
	switch {
	case t.Node == End:
		return nil
	case n == nil:
		return &migrate.Mismatch{Kind: kind, Name: t.Node, Text: at + ", which is gone"}
	case t.Edges:
		return nil
	case n.Input == nil && t.Input != nil:
		return &migrate.Mismatch{Kind: cmp.Or(kind, migrate.MismatchInput), Name: t.Node, Text: at + " with an input, which it does not take any more"}
	case n.Input != nil && t.Input == nil:
		return &migrate.Mismatch{Kind: kind, Name: t.Node, Text: at + ", which needs an input now"}
	case n.Input == nil:
		return nil
	}
	if err := state.UnmarshalStrict(a.Codec, *t.Input, n.Input); err != nil {
		return &migrate.Mismatch{
			Kind: migrate.MismatchInput, Name: t.Node, Err: err,
			Text: "an input sent to task " + strconv.Quote(t.Node) + " does not fit its type " + n.Input.String(),
		}
	}
	return nil
}

// ResultMisfits looks at results of the step that are on record, of tasks that
// completed beside others.
func (a *Graph) ResultMisfits(done []*recorded.Task) (bad []*migrate.Mismatch) {
	for _, d := range done {
		for _, w := range d.Writes {
			if err := w.Field.Fits(a.Codec, w.Value()); err != nil {
				bad = append(bad, &migrate.Mismatch{
					Kind: migrate.MismatchResult, Name: d.Node, Err: err,
					Text: "the recorded result of node " + strconv.Quote(d.Node) + " does not fit the field " + w.Field.Name + " of type " + w.Field.Type.String(),
				})
			}
		}
		for i := range d.Next {
			if m := a.taskMisfit(migrate.MismatchResult, "the recorded result of "+strconv.Quote(d.Node)+" leads to", &d.Next[i]); m != nil {
				bad = append(bad, m)
			}
		}
	}
	return bad
}
