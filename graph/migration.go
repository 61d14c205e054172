package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/frontier"
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

// renameNodes returns who made a checkpoint, behind migrations: a node's path, or
// those of several nodes that made it together, joined by a plus.
func renameNodes(ms []Migration, name string) string {
	within, last := frontier.SplitPath(name)
	names := strings.Split(last, "+")
	for i, n := range names {
		names[i] = renameIn(ms, within, n)
	}
	return renamePath(ms, within) + strings.Join(names, "+")
}

// renameIn returns the new name of a node at an old place, which is "" or ends
// with a slash.
func renameIn(ms []Migration, within, name string) string {
	_, name = frontier.SplitPath(renamePath(ms, within+name))
	return name
}

// renamePath returns a path behind migrations.
func renamePath(ms []Migration, path string) string {
	for i := range ms {
		var now []string
		old := strings.Split(path, "/")
		for j, name := range old {
			if to, ok := ms[i].Nodes[strings.Join(old[:j+1], "/")]; ok {
				name = to
			}
			now = append(now, name)
		}
		path = strings.Join(now, "/")
	}
	return path
}

// migrateParts returns a checkpoint's state behind migrations.
func migrateParts(ms []Migration, c *posthouse.Checkpoint) (s posthouse.State, err error) {
	s = c.State
	for i := range ms {
		if ms[i].Parts == nil {
			continue
		}
		if s, err = guardedCall(func() (posthouse.State, error) { return ms[i].Parts(s.Clone()) }); err != nil {
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

// migrateFrontier renames what a frontier names. within is the old path of the subgraph
// that it is of, with a slash behind it, or "".
func migrateFrontier(g *frontier.Frontier, ms []Migration, within string) error {
	now := func(name string) string {
		return frontier.UnescapeName(renameIn(ms, within, frontier.EscapeName(name)))
	}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		old := t.Node
		if t.Node = now(old); t.Node != old && t.Was == "" {
			t.Was = old
		}
	}
	if err := migrateInputs(g, ms, renamePath(ms, within)); err != nil {
		return err
	}
	arrived := g.Arrived
	g.Arrived = make(map[string][]string, len(arrived))
	for to, from := range arrived {
		g.Arrived[now(to)] = mapNames(from, now)
	}
	g.Deferred = mapNames(g.Deferred, now)
	around, _ := frontier.SplitPath(strings.TrimSuffix(within, "/"))
	g.Parent = mapNames(g.Parent, func(name string) string {
		return frontier.UnescapeName(renameIn(ms, around, frontier.EscapeName(name)))
	})
	g.Renamed = migrateRenames(g.Renamed, ms, within)
	if within == "" {
		g.Names = migrateNames(g.Names, ms)
	}
	return nil
}

func migrateNames(n frontier.Names, ms []Migration) frontier.Names {
	for i := range ms {
		now := frontier.Names{}
		for path := range n {
			now[renamePath(ms[i:i+1], path)] = n.Of(path)
		}
		for path := range ms[i].Nodes {
			now[renamePath(ms[i:i+1], path)] = n.Of(path)
		}
		n = now
	}
	return n
}

// renames are the frontier's, or those of a subgraph that a lost run had called
// and this one calls.
func (r *run[S]) renames() frontier.Renames {
	if r.subrun == nil || len(r.rootState.renamed) == 0 || len(r.frontier.Renamed) > 0 {
		return r.frontier.Renamed
	}
	return r.rootState.renamed.Inside(r.subrun.path)
}

func migrateRenames(r frontier.Renames, ms []Migration, within string) frontier.Renames {
	all := frontier.Renames{}
	around, _ := frontier.SplitPath(strings.TrimSuffix(within, "/"))
	for old, name := range r {
		switch {
		case strings.HasPrefix(old, "/"):
			all[old] = renamePath(ms, name)
		case strings.HasPrefix(old, "../"):
			all[old] = renameIn(ms, around, name)
		default:
			all[old] = renameIn(ms, within, name)
		}
	}
	add := func(old, name string) {
		if _, ok := all[old]; !ok {
			all[old] = name
		}
	}
	for i := range ms {
		for path := range ms[i].Nodes {
			now := renamePath(ms[i:], path)
			at, old := frontier.SplitPath(path)
			_, name := frontier.SplitPath(now)
			add("/"+path, now)
			if at == renamePath(ms[:i], within) {
				add(old, name)
			}
			if within != "" && at == renamePath(ms[:i], around) {
				add("../"+old, name)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// renamedPart returns what a subgraph's part on record is called now.
func renamedPart(r frontier.Renames, old string) string {
	path, kind := strings.CutPrefix(old, subPart)
	prefix, rest := subPart, ""
	if kind {
		within, name := frontier.SplitPath(path)
		path, rest = strings.TrimSuffix(within, "/"), "/"+name
	} else if path, kind = strings.CutPrefix(old, frontier.PlanPart+"/"); kind {
		prefix = frontier.PlanPart + "/"
	} else if path, kind = strings.CutPrefix(old, calls.KeptPrefix); kind {
		prefix = calls.KeptPrefix
	} else {
		return old
	}
	for at := len(path); at > 0; at = strings.LastIndexByte(path[:at], '/') {
		if now, ok := r["/"+path[:at]]; ok {
			return prefix + now + path[at:] + rest
		}
	}
	return old
}

func migrateInputs(g *frontier.Frontier, ms []Migration, within string) error {
	for i := range g.Tasks {
		t := &g.Tasks[i]
		for j := range ms {
			if t.Input == nil || ms[j].Inputs == nil {
				continue
			}
			v, err := guardedCall(func() (posthouse.Value, error) { return ms[j].Inputs(within+frontier.EscapeName(t.Node), *t.Input) })
			if err != nil {
				return &Mismatch{
					Kind: MismatchMigration, Name: within + frontier.EscapeName(t.Node), Err: err,
					Text: fmt.Sprintf("migration %d of the input of task %q failed", j+1, within+frontier.EscapeName(t.Node)),
				}
			}
			t.Input = &v
		}
	}
	return nil
}

// guardedCall runs a function of the caller's and turns a panic into an error.
func guardedCall[T any](fn func() (T, error)) (v T, err error) {
	err = engine.Guard(func() (err error) { v, err = fn(); return err })
	return v, err
}
