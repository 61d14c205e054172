package graph

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/graph/internal/topology"
)

// A Migration takes what an earlier version of the graph has on record to a
// later one. Of CompileOptions.Migrations the first whose From is a
// checkpoint's fingerprint is applied, or else the first without one, and then
// all behind it: keep them in the order in which the graph changed. None is
// applied to a checkpoint of this very graph, nor to one without a fingerprint,
// which was saved by hand.
type Migration struct {
	From string // the fingerprint that it begins at, see [App.Fingerprint]; "": any

	// Nodes are new names of nodes, by the old ones; of a node in a subgraph by its
	// old path, as in "research/plan": "outline". A name with a slash or an escape
	// in it ("a/b", "a%2Fb") is written as [posthouse.EscapeName] does, here and in
	// Inputs. A renamed node keeps what it has
	// on record: steps, attempts, open and decided gates, and of a subgraph its
	// state and where it stands; also what a run did that a crash lost. A call that
	// has begun in a thread of its own goes on in that thread, those of later runs
	// are in threads of the new name, which go on with what it kept.
	Nodes map[string]string

	// Parts returns the state in its new shape; parts that it leaves out are
	// dropped. It must depend on its argument only, which it may change: it is
	// called again whenever an old checkpoint is read.
	Parts func(old posthouse.State) (posthouse.State, error)

	// Inputs returns in its new shape what a task, told by the name or path it has
	// now, was sent. It must not change the bytes it is given.
	Inputs func(node string, in posthouse.Value) (posthouse.Value, error)
}

// migrationsFrom returns what is to be applied to a checkpoint.
func (a *App[S]) migrationsFrom(fingerprint string) []migrate.Migration {
	return migrate.From(a.migrations, fingerprint, a.fingerprint)
}

// current returns a checkpoint with the state that migrations make of it.
func (a *App[S]) current(c *posthouse.Checkpoint) (*posthouse.Checkpoint, error) {
	ms := a.migrationsFrom(c.Fingerprint)
	if len(ms) == 0 {
		return c, nil
	}
	s, err := migrate.Parts(ms, c)
	if err != nil {
		return nil, err
	}
	return &posthouse.Checkpoint{Header: c.Header, State: s, Metadata: c.Metadata, Program: c.Program}, nil
}

// renames are the frontier's, or those of a subgraph that a lost run had called
// and this one calls.
func (r *run[S]) renames() frontier.Renames {
	if r.subrun == nil || len(r.rootState.renamed) == 0 || len(r.frontier.Renamed) > 0 {
		return r.frontier.Renamed
	}
	return r.rootState.renamed.Inside(r.subrun.path)
}

// escapeMigrations returns a copy in which nodes have paths as on record, and
// new names that may stand in one.
func escapeMigrations(ms []Migration) []migrate.Migration {
	out := make([]migrate.Migration, len(ms))
	for i, m := range ms {
		if m.Nodes != nil {
			nodes := make(map[string]string, len(m.Nodes))
			for path, name := range m.Nodes {
				nodes[migrate.EscapePath(path)] = frontier.EscapeName(name)
			}
			m.Nodes = nodes
		}
		out[i] = migrate.Migration(m)
	}
	return out
}

// innerMisfits notes what subgraphs have on record and this graph, at a path,
// cannot go on with.
func (a *App[S]) innerMisfits(t *migrationPlan, within string, g *frontier.Frontier) error {
	for _, n := range a.order {
		path := within + frontier.EscapeName(n.Name)
		i := slices.IndexFunc(g.Tasks, func(x frontier.Target) bool { return x.Node == n.Name })
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
	bad := inSubgraph(path, topology.PartMisfits(in.app.schema, in.app.codec, parts))
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
