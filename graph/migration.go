package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
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
	within, last := splitPath(name)
	names := strings.Split(last, "+")
	for i, n := range names {
		names[i] = renameIn(ms, within, n)
	}
	return renamePath(ms, within) + strings.Join(names, "+")
}

// splitPath cuts a path before its last name. The first piece keeps its slash.
func splitPath(path string) (within, name string) {
	i := strings.LastIndexByte(path, '/') + 1
	return path[:i], path[i:]
}

// renameIn returns the new name of a node at an old place, which is "" or ends
// with a slash.
func renameIn(ms []Migration, within, name string) string {
	_, name = splitPath(renamePath(ms, within+name))
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

// migrate renames what a frontier names. within is the old path of the subgraph
// that it is of, with a slash behind it, or "".
func (g *frontier) migrate(ms []Migration, within string) error {
	now := func(name string) string { return unescapeName(renameIn(ms, within, escapeName(name))) }
	for i := range g.tasks {
		t := &g.tasks[i]
		old := t.node
		if t.node = now(old); t.node != old && t.was == "" {
			t.was = old
		}
	}
	if err := g.migrateInputs(ms, renamePath(ms, within)); err != nil {
		return err
	}
	arrived := g.arrived
	g.arrived = make(map[string][]string, len(arrived))
	for to, from := range arrived {
		g.arrived[now(to)] = mapNames(from, now)
	}
	g.deferred = mapNames(g.deferred, now)
	around, _ := splitPath(strings.TrimSuffix(within, "/"))
	g.parent = mapNames(g.parent, func(name string) string { return unescapeName(renameIn(ms, around, escapeName(name))) })
	g.renamed = g.renamed.migrate(ms, within)
	if within == "" {
		g.names = g.names.migrate(ms)
	}
	return nil
}

// names are, by the paths that nodes have now, and spelled like those, what their executions are called
// until the run parks or ends: as they were when it last did. A run that was
// lost may have come to any of them.
type names map[string]string

// of returns what executions of a node are called. One that got the name which
// another had is told apart from it.
func (n names) of(path string) string {
	within, name := splitPath(path)
	if was, ok := n[path]; ok {
		return was
	}
	for other, was := range n {
		if at, _ := splitPath(other); was == name && at == within {
			return name + "~"
		}
	}
	return name
}

func (n names) migrate(ms []Migration) names {
	for i := range ms {
		now := names{}
		for path := range n {
			now[renamePath(ms[i:i+1], path)] = n.of(path)
		}
		for path := range ms[i].Nodes {
			now[renamePath(ms[i:i+1], path)] = n.of(path)
		}
		n = now
	}
	return n
}

// renames are new names, spelled, of what is on record under old ones: of nodes, of nodes
// of the graph around behind "../", and of paths behind "/".
type renames map[string]string

// inside returns those of a subgraph by those of the whole. path is its name now.
func (r renames) inside(path string) renames {
	around, _ := splitPath(path)
	all := renames{}
	for old, now := range r {
		if old, ok := strings.CutPrefix(old, "/"); ok {
			_, was := splitPath(old)
			within, name := splitPath(now)
			all["/"+old] = now
			if within == path+"/" {
				all[was] = name
			}
			if within == around {
				all["../"+was] = name
			}
		}
	}
	return all
}

// renames are the frontier's, or those of a subgraph that a lost run had called
// and this one calls.
func (r *run[S]) renames() renames {
	if r.subrun == nil || len(r.rootState.renamed) == 0 || len(r.frontier.renamed) > 0 {
		return r.frontier.renamed
	}
	return r.rootState.renamed.inside(r.subrun.path)
}

func (r renames) migrate(ms []Migration, within string) renames {
	all := renames{}
	around, _ := splitPath(strings.TrimSuffix(within, "/"))
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
			at, old := splitPath(path)
			_, name := splitPath(now)
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

// node returns what a node on record is called now.
func (r renames) node(old string) string { return cmp.Or(r[old], old) }

// part returns what a subgraph's part on record is called now.
func (r renames) part(old string) string {
	path, kind := strings.CutPrefix(old, subPart)
	prefix, rest := subPart, ""
	if kind {
		within, name := splitPath(path)
		path, rest = strings.TrimSuffix(within, "/"), "/"+name
	} else if path, kind = strings.CutPrefix(old, planPart+"/"); kind {
		prefix = planPart + "/"
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

func (g *frontier) migrateInputs(ms []Migration, within string) error {
	for i := range g.tasks {
		t := &g.tasks[i]
		for j := range ms {
			if t.input == nil || ms[j].Inputs == nil {
				continue
			}
			v, err := guardedCall(func() (posthouse.Value, error) { return ms[j].Inputs(within+escapeName(t.node), *t.input) })
			if err != nil {
				return &Mismatch{
					Kind: MismatchMigration, Name: within + escapeName(t.node), Err: err,
					Text: fmt.Sprintf("migration %d of the input of task %q failed", j+1, within+escapeName(t.node)),
				}
			}
			t.input = &v
		}
	}
	return nil
}

// guardedCall runs a function of the caller's and turns a panic into an error.
func guardedCall[T any](fn func() (T, error)) (v T, err error) {
	err = engine.Guard(func() (err error) { v, err = fn(); return err })
	return v, err
}
