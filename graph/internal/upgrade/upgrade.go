// Package upgrade migrates a checkpoint that another version of a graph left. It finds
// what of the checkpoint does not fit this version.
//
// It reads the executions on record, and writes nothing.
package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/ledger"
)

// A Version is the version of a graph that goes on with checkpoints of others.
type Version struct {
	*topology.Graph
	Fingerprint string
	Migrations  []migrate.Migration
	Ledger      *ledger.Ledger
	Refused     func(*Refusal) error // the error of a version that cannot go on
}

// A Refusal says why a version cannot go on with a checkpoint of another one.
type Refusal struct {
	Graph, Thread, Branch string
	Checkpoint            posthouse.ID
	From, To              string // fingerprints, of the checkpoint and of this graph
	Migrated              bool   // migrations were applied, and are not enough
	Mismatches            []*migrate.Mismatch
}

// A Plan is a checkpoint of another version as this one has it.
type Plan struct {
	From     *posthouse.Checkpoint
	State    posthouse.State
	Program  posthouse.State // as migrated, except the frontier's part
	Frontier frontier.Frontier
	Used     []migrate.Migration

	version  *Version
	progress recorded.Progress
	misfit   []*migrate.Mismatch // of the state
	tasks    []*migrate.Mismatch // of what is to run
}

// Refuse returns the error for a checkpoint with mismatches; there is at least one.
func (a *Version) Refuse(c *posthouse.Checkpoint, misfit []*migrate.Mismatch) error {
	return (&Plan{version: a, From: c, misfit: misfit}).Err(false)
}

// Fits reports whether what is to run fits.
func (t *Plan) Fits() bool { return len(t.tasks) == 0 }

// Err returns the error of this version if it cannot go on with the checkpoint. pending says
// that what is to run counts.
func (t *Plan) Err(pending bool) error {
	if r := t.Refusal(pending); r != nil {
		return t.version.Refused(r)
	}
	return nil
}

// Refusal returns why this version cannot go on with the checkpoint, or nil. pending says
// that what is to run counts.
func (t *Plan) Refusal(pending bool) *Refusal {
	all := t.misfit
	if pending {
		all = append(slices.Clip(all), t.tasks...)
	}
	if len(all) == 0 {
		return nil
	}
	return &Refusal{
		Graph: t.version.Title, Thread: t.From.Thread, Branch: t.From.Branch, Checkpoint: t.From.ID, From: t.From.Fingerprint, To: t.version.Fingerprint,
		Migrated: len(t.Used) > 0, Mismatches: all,
	}
}

// Of migrates a checkpoint in memory and notes what does not fit. head says that the
// checkpoint is its branch's head.
func (a *Version) Of(ctx context.Context, c *posthouse.Checkpoint, head bool) (*Plan, error) {
	t := &Plan{version: a, From: c, State: c.State, Program: c.Program, Used: migrate.From(a.Migrations, c.Fingerprint, a.Fingerprint)}
	t.progress = recorded.Progress{Head: &c.Header, Latest: head, By: a.Fingerprint}
	var err error
	t.Frontier, err = frontier.ReadFrontier(c.Next, c.Program, frontier.PlanPart)
	if err != nil {
		return nil, err
	}
	if c.Fingerprint == a.Fingerprint {
		return t, nil
	}
	t.State, err = migrate.Parts(t.Used, c)
	if err == nil {
		t.misfit = append(t.misfit, topology.PartMisfits(a.Schema, a.Codec, t.State)...)
		if c.Fingerprint != "" { // a checkpoint made by hand may hold more than a graph knows
			t.misfit = append(t.misfit, topology.UnknownParts(a.Schema, t.State)...)
		}
	} else if !t.noteMismatch(err) {
		return nil, err
	}
	if len(t.Used) > 0 {
		if err := migrate.Frontier(&t.Frontier, t.Used, ""); err != nil && !t.noteMismatch(err) {
			return nil, err
		}
		t.Program, err = migrate.Program(t.Used, c.Program)
		if err != nil && !t.noteMismatch(err) {
			return nil, err
		}
	}
	if len(t.Frontier.Tasks) > 0 {
		t.progress.All, err = a.Ledger.Core().Executions(ctx, &c.Header)
		if err != nil {
			return nil, err
		}
	}
	t.tasks, err = t.pendingMisfits(a.Graph, &t.Frontier)
	if err != nil {
		return nil, err
	}
	return t, t.innerMisfits(a.Graph, "", &t.Frontier)
}

// pendingMisfits looks at a frontier and at what its tasks have on record.
func (t *Plan) pendingMisfits(a *topology.Graph, g *frontier.Frontier) ([]*migrate.Mismatch, error) {
	done, err := t.progress.Tasks(a.Schema, g)
	return append(a.FrontierMisfits(g), a.ResultMisfits(done)...), err
}

// noteMismatch takes an error that is a mismatch.
func (t *Plan) noteMismatch(err error) bool {
	m, ok := errors.AsType[*migrate.Mismatch](err)
	if ok {
		t.misfit = append(t.misfit, m)
	}
	return ok
}

// Draft makes the checkpoint that puts a migration of a head on record. Open gates
// stay open.
func (t *Plan) Draft(ctx context.Context) (*ledger.Draft, error) {
	a, c := t.version, t.From
	info, err := a.Ledger.Thread(ctx, c.Thread)
	if err != nil {
		return nil, err
	}
	b, _ := info.Branch(c.Branch)
	plan, _, err := t.Frontier.Change(frontier.PlanPart, c.Program[frontier.PlanPart].Data)
	if err != nil {
		return nil, err
	}
	return &ledger.Draft{Keep: openGates(info, c.Branch), Checkpoint: &posthouse.Change{
		Parent: c.ID, Kind: posthouse.KindMigrate, Status: b.Status, Graph: a.Title, Fingerprint: a.Fingerprint,
		Node: migrate.Nodes(t.Used, c.Node), Error: c.Error, Next: a.NextNames(&t.Frontier), State: t.State,
		Program: append(subparts.Change(c.Program, t.Program), plan...),
	}}, nil
}

func openGates(info *posthouse.ThreadInfo, branch string) (ids []posthouse.ID) {
	for _, w := range info.Waiting {
		if w.Branch == branch {
			ids = append(ids, w.ID)
		}
	}
	return ids
}

// innerMisfits notes what subgraphs have on record that the graph at a path cannot go
// on with.
func (t *Plan) innerMisfits(a *topology.Graph, within string, g *frontier.Frontier) error {
	for _, n := range a.Order {
		path := within + posthouse.EscapeName(n.Name)
		i := slices.IndexFunc(g.Tasks, func(x frontier.Target) bool { return x.Node == n.Name })
		_, stands := t.Program[frontier.PlanPart+"/"+path]
		stands = stands && i >= 0
		if n.Subgraph == nil {
			if stands {
				t.replaced(path, "and it is a plain node now")
			}
		} else if err := t.subgraphMisfits(n.Subgraph, path, stands); err != nil {
			return err
		}
		if i < 0 || n.Subgraph != nil && n.Subgraph.OwnThread {
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

// replaced notes a begun call of a subgraph that is now a plain node, or keeps its state
// elsewhere.
func (t *Plan) replaced(path, how string) {
	t.tasks = append(t.tasks, migrate.Misfit(migrate.MismatchSubgraph, path, nil, "a call of subgraph %q has begun, %s", path, how))
}

// subgraphMisfits notes what a subgraph has on record that it cannot go on with.
// stands says that a call has begun.
func (t *Plan) subgraphMisfits(in *topology.Subgraph, path string, stands bool) (err error) {
	switch {
	case stands && in.OwnThread:
		t.replaced(path, "and it has a thread of its own now")
		return nil
	case stands && !in.Kept:
		t.replaced(path, "and it is not kept now")
		return nil
	case in.OwnThread, !in.Kept, !stands && !in.PerThread:
		return nil // nothing of it is taken up
	}
	var g frontier.Frontier
	if stands {
		g, err = frontier.ReadFrontier(nil, t.Program, frontier.PlanPart+"/"+path)
		if err != nil {
			return err
		}
		bad, err := t.pendingMisfits(in.Graph, &g)
		if err != nil {
			return err
		}
		t.tasks = append(t.tasks, inSubgraph(path, bad)...)
	}
	parts := subparts.Within(&posthouse.Checkpoint{Program: t.Program}, path).State
	bad := topology.PartMisfits(in.Schema, in.Codec, parts)
	if t.From.Fingerprint != "" {
		own := maps.Clone(parts)
		maps.DeleteFunc(own, func(name string, _ posthouse.Value) bool { return strings.Contains(name, "/") }) // of subgraphs in it
		bad = append(bad, topology.UnknownParts(in.Schema, own)...)
	}
	bad = inSubgraph(path, bad)
	if in.PerThread { // the next call takes it up, too
		t.misfit = append(t.misfit, bad...)
	} else {
		t.tasks = append(t.tasks, bad...)
	}
	return t.innerMisfits(in.Graph, path+"/", &g)
}

// inSubgraph adds to mismatches which subgraph they are in.
func inSubgraph(path string, bad []*migrate.Mismatch) []*migrate.Mismatch {
	for _, m := range bad {
		m.Name, m.Text = path+"/"+m.Name, "in subgraph "+strconv.Quote(path)+": "+m.Text
	}
	return bad
}
