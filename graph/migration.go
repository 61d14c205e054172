package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Migration takes what an earlier version of the graph has on record to a
// later one. Of CompileOptions.Migrations the first whose From is a
// checkpoint's fingerprint is applied, or else the first without one, and then
// all behind it: keep them in the order in which the graph changed. None is
// applied to a checkpoint of this very graph, nor to one without a fingerprint,
// which was saved by hand.
type Migration struct {
	From string // the fingerprint that it begins at, see [App.Fingerprint]; "": any

	// Nodes are new names of nodes, by the old ones. A renamed node keeps what it
	// has on record: steps, attempts, open and decided gates.
	Nodes map[string]string

	// Parts returns the state in its new shape; parts that it leaves out are
	// dropped. It must depend on its argument only, which it may change: it is
	// called again whenever an old checkpoint is read.
	Parts func(old posthouse.State) (posthouse.State, error)

	// Inputs returns in its new shape what a task, told by the name it has now,
	// was sent. It must not change the bytes it is given.
	Inputs func(node string, in posthouse.Value) (posthouse.Value, error)
}

// migrationsFrom returns what is to be applied to a checkpoint.
func (a *App[S]) migrationsFrom(fingerprint string) []Migration {
	if fingerprint == a.fingerprint || fingerprint == "" {
		return nil
	}
	at := slices.IndexFunc(a.migrations, func(m Migration) bool { return m.From == fingerprint })
	if at < 0 {
		at = slices.IndexFunc(a.migrations, func(m Migration) bool { return m.From == "" })
	}
	if at < 0 {
		return nil
	}
	return a.migrations[at:]
}

// rename returns a node's name behind migrations. Names of several nodes that
// made a checkpoint together are joined by a plus.
func rename(ms []Migration, name string) string {
	names := strings.Split(name, "+")
	for _, m := range ms {
		for i, n := range names {
			if to, ok := m.Nodes[n]; ok {
				names[i] = to
			}
		}
	}
	return strings.Join(names, "+")
}

// migrateParts returns a checkpoint's state behind migrations.
func migrateParts(ms []Migration, c *posthouse.Checkpoint) (s posthouse.State, err error) {
	s = c.State
	for i := range ms {
		if ms[i].Parts == nil {
			continue
		}
		if s, err = guarded(func() (posthouse.State, error) { return ms[i].Parts(s.Clone()) }); err != nil {
			return nil, &Mismatch{Kind: MismatchMigration, Text: fmt.Sprintf("migration %d of the state failed", i+1), Err: err}
		}
	}
	return s, nil
}

// current returns a checkpoint with the state that migrations make of it.
func (a *App[S]) current(c *posthouse.Checkpoint) (*posthouse.Checkpoint, error) {
	ms := a.migrationsFrom(c.Fingerprint)
	if len(ms) == 0 {
		return c, nil
	}
	s, err := migrateParts(ms, c)
	if err != nil {
		return nil, err
	}
	return &posthouse.Checkpoint{Header: c.Header, State: s, Metadata: c.Metadata, Program: c.Program}, nil
}

// migrate renames what an agenda names.
func (g *agenda) migrate(ms []Migration) error {
	for i := range g.tasks {
		t := &g.tasks[i]
		old := t.node
		if t.node = rename(ms, old); t.node != old && t.was == "" {
			t.was = old
		}
	}
	if err := g.migrateInputs(ms); err != nil {
		return err
	}
	arrived := g.arrived
	g.arrived = make(map[string][]string, len(arrived))
	for to, from := range arrived {
		for i := range from {
			from[i] = rename(ms, from[i])
		}
		g.arrived[rename(ms, to)] = from
	}
	for i := range g.deferred {
		g.deferred[i] = rename(ms, g.deferred[i])
	}
	renamed := maps.Clone(g.renamed)
	for old, name := range renamed {
		renamed[old] = rename(ms, name)
	}
	for i := range ms {
		for old := range ms[i].Nodes {
			if _, ok := renamed[old]; !ok {
				if renamed == nil {
					renamed = map[string]string{}
				}
				renamed[old] = rename(ms[i:], old)
			}
		}
	}
	g.renamed = renamed
	return nil
}

func (g *agenda) migrateInputs(ms []Migration) error {
	for i := range g.tasks {
		t := &g.tasks[i]
		for j := range ms {
			if t.input == nil || ms[j].Inputs == nil {
				continue
			}
			v, err := guarded(func() (posthouse.Value, error) { return ms[j].Inputs(t.node, *t.input) })
			if err != nil {
				return &Mismatch{
					Kind: MismatchMigration, Name: t.node, Text: fmt.Sprintf("migration %d of the input of task %q failed", j+1, t.node), Err: err,
				}
			}
			t.input = &v
		}
	}
	return nil
}

// guarded runs a function of the caller's and turns a panic into an error.
func guarded[T any](fn func() (T, error)) (v T, err error) {
	err = engine.Guard(func() (err error) { v, err = fn(); return err })
	return v, err
}
