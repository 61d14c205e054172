package graph

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/subparts"
)

// innerMisfits notes what subgraphs have on record and this graph, at a path,
// cannot go on with.
func (a *App[S]) innerMisfits(t *migrationPlan, within string, g *frontier.Frontier) error {
	for _, n := range a.order {
		path := within + frontier.EscapeName(n.name)
		i := slices.IndexFunc(g.Tasks, func(x frontier.Target) bool { return x.Node == n.name })
		_, stands := t.program[frontier.PlanPart+"/"+path]
		stands = stands && i >= 0
		if n.sub == nil {
			if stands {
				t.replaced(path, "and it is a plain node now")
			}
		} else if err := n.sub.misfits(t, path, stands); err != nil {
			return err
		}
		if i < 0 || n.sub != nil && n.sub.ownThread() {
			continue
		}
		if s := t.progress.Step(g, i, calls.PositionStep); s != nil {
			var c calls.Position
			if err := json.Unmarshal(s.Value.Data, &c); err != nil {
				return err
			}
			t.replaced(path, "in thread "+strconv.Quote(c.Thread)+", and it has no thread of its own now")
		}
	}
	return nil
}

// replaced notes that a call of a subgraph has begun of what is none any more,
// or is kept elsewhere.
func (t *migrationPlan) replaced(path, how string) {
	t.tasks = append(t.tasks, &Mismatch{
		Kind: MismatchSubgraph, Name: path, Text: "a call of subgraph " + strconv.Quote(path) + " has begun, " + how,
	})
}

// ownThread reports whether the subgraph runs in a thread of its own.
func (in *inner[S, T]) ownThread() bool { return in.opt.OwnThread }

// misfits notes what the subgraph has on record and cannot go on with. stands
// says that a call has begun.
func (in *inner[S, T]) misfits(t *migrationPlan, path string, stands bool) (err error) {
	own, kept := in.opt.OwnThread, in.opt.Lifetime != Unkept
	switch {
	case stands && own:
		t.replaced(path, "and it has a thread of its own now")
		return nil
	case stands && !kept:
		t.replaced(path, "and it is not kept now")
		return nil
	case own, !kept, !stands && in.opt.Lifetime != PerThread:
		return nil // nothing of it is taken up
	}
	var g frontier.Frontier
	if stands {
		if g, err = frontier.ReadFrontier(nil, t.program, frontier.PlanPart+"/"+path); err != nil {
			return err
		}
		bad, err := in.app.pendingMisfits(t, &g)
		if err != nil {
			return err
		}
		t.tasks = append(t.tasks, inSubgraph(path, bad)...)
	}
	parts := subparts.Within(&posthouse.Checkpoint{Program: t.program}, path).State
	bad := inSubgraph(path, partMisfits(in.app.schema, in.app.codec, parts))
	if in.opt.Lifetime == PerThread { // the next call takes it up, too
		t.misfit = append(t.misfit, bad...)
	} else {
		t.tasks = append(t.tasks, bad...)
	}
	return in.app.innerMisfits(t, path+"/", &g)
}

// inSubgraph says of mismatches which subgraph they are in.
func inSubgraph(path string, bad []*Mismatch) []*Mismatch {
	for _, m := range bad {
		m.Name, m.Text = path+"/"+m.Name, "in subgraph "+strconv.Quote(path)+": "+m.Text
	}
	return bad
}
