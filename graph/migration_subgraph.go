package graph

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/frontier"
)

// migrateProgram renames the parts in which subgraphs keep their state and where
// they stand, and what the latter name.
func (t *migrationPlan) migrateProgram() error {
	now := posthouse.State{}
	for _, name := range sortedKeys(t.from.Program) {
		v := t.from.Program[name]
		if path, ok := strings.CutPrefix(name, frontier.PlanPart+"/"); ok {
			g, err := frontier.ReadFrontier(nil, t.from.Program, name)
			if err == nil {
				err = migrateFrontier(&g, t.used, path+"/")
			}
			if err == nil {
				v.Data, err = g.EncodePlan()
			}
			if err != nil {
				return err
			}
			name = frontier.PlanPart + "/" + renamePath(t.used, path)
		} else if path, ok := strings.CutPrefix(name, calls.KeptPrefix); ok {
			name = calls.KeptPrefix + renamePath(t.used, path)
		} else if path, ok := strings.CutPrefix(name, subPart); ok {
			within, part := frontier.SplitPath(path)
			name = subPart + renamePath(t.used, within) + part
		}
		if _, taken := now[name]; taken {
			return &Mismatch{Kind: MismatchMigration, Name: name, Text: "two parts of subgraphs would both be " + strconv.Quote(name)}
		}
		now[name] = v
	}
	t.program = now
	return nil
}

// programChange returns what makes the program's parts on record the migrated
// ones, but for the frontier's.
func (t *migrationPlan) programChange() []posthouse.Part {
	return partsChange(t.from.Program, t.program)
}

func partsChange(from, to posthouse.State) (parts []posthouse.Part) {
	for _, name := range sortedKeys(from) {
		if _, stays := to[name]; !stays && name != frontier.PlanPart {
			parts = append(parts, posthouse.Part{Name: name, Drop: true})
		}
	}
	for _, name := range sortedKeys(to) {
		v, old := to[name], from[name]
		if name != frontier.PlanPart && (v.Codec != old.Codec || !bytes.Equal(v.Data, old.Data)) {
			parts = append(parts, posthouse.Part{Name: name, Codec: v.Codec, Data: v.Data})
		}
	}
	return parts
}

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
		if s := t.progress.step(g, i, calls.PositionStep); s != nil {
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
	parts := stateWithin(&posthouse.Checkpoint{Program: t.program}, (&subrun{path: path}).prefix()).State
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

// withoutOrphans returns a program without the plans of subgraphs that nobody will go
// on with.
func withoutOrphans(program posthouse.State, g *frontier.Frontier) posthouse.State {
	program = maps.Clone(program)
	for _, p := range orphanParts(program, g) {
		delete(program, p.Name)
	}
	return program
}
