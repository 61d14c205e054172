// Package migrate changes what an earlier version of a graph has on record for a later
// one: names of nodes, the parts of a state, inputs and plans.
//
// It knows names and parts, and no node.
package migrate

import (
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/internal/engine"
)

// statePrefix begins the names of the parts of subgraphs' states.
const statePrefix = "$sub/"

// A Migration leads from a version to a later one, see graph.Migration.
type Migration struct {
	From  string
	Nodes map[string]string
	Parts func(old posthouse.State) (posthouse.State, error)

	Subgraphs func(path string, old posthouse.State) (posthouse.State, error)

	Inputs func(node string, in posthouse.Value) (posthouse.Value, error)
}

// From returns the migrations that lead from a version to the current one.
func From(all []Migration, fingerprint, current string) []Migration {
	if fingerprint == current || fingerprint == "" {
		return nil
	}
	at := slices.IndexFunc(all, func(m Migration) bool { return m.From == fingerprint })
	if at < 0 {
		at = slices.IndexFunc(all, func(m Migration) bool { return m.From == "" })
	}
	if at < 0 {
		return nil
	}
	return all[at:]
}

// Nodes returns the new name of what made a checkpoint: the path of a node, or the paths
// of several that made it together, joined by a plus.
func Nodes(ms []Migration, name string) string {
	within, last := frontier.SplitPath(name)
	names := frontier.MapNames(strings.Split(last, "+"), func(n string) string { return renameIn(ms, within, n) })
	return Path(ms, within) + strings.Join(names, "+")
}

// renameIn returns the new name of a node at an old place, which is "" or ends
// with a slash.
func renameIn(ms []Migration, within, name string) string {
	_, name = frontier.SplitPath(Path(ms, within+name))
	return name
}

// Path returns a path with the new names in it.
func Path(ms []Migration, path string) string {
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

// Parts returns a checkpoint's state in its new shape.
func Parts(ms []Migration, c *posthouse.Checkpoint) (s posthouse.State, err error) {
	s = c.State
	for i := range ms {
		if ms[i].Parts == nil {
			continue
		}
		s, err = guardedCall(func() (posthouse.State, error) { return ms[i].Parts(s.Clone()) })
		if err != nil {
			return nil, Misfit(MismatchMigration, "", err, "migration %d of the state failed", i+1)
		}
	}
	return s, nil
}

// Frontier renames what a frontier names. within is the old path of its subgraph, with
// a slash after it, or "".
func Frontier(g *frontier.Frontier, ms []Migration, within string) error {
	around, _ := frontier.SplitPath(strings.TrimSuffix(within, "/"))
	newName := func(within, name string) string {
		return frontier.UnescapeName(renameIn(ms, within, posthouse.EscapeName(name)))
	}
	now := func(name string) string { return newName(within, name) }
	for i := range g.Tasks {
		t := &g.Tasks[i]
		old := t.Node
		t.Node = now(old)
		if t.Node != old && t.Was == "" {
			t.Was = old
		}
	}
	if err := migrateInputs(g, ms, Path(ms, within)); err != nil {
		return err
	}
	arrived := g.Arrived
	g.Arrived = make(map[string][]string, len(arrived))
	for to, from := range arrived {
		g.Arrived[now(to)] = frontier.MapNames(from, now)
	}
	g.Deferred = frontier.MapNames(g.Deferred, now)
	g.Parent = frontier.MapNames(g.Parent, func(name string) string { return newName(around, name) })
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
			now[Path(ms[i:i+1], path)] = n.Of(path)
		}
		for path := range ms[i].Nodes {
			now[Path(ms[i:i+1], path)] = n.Of(path)
		}
		n = now
	}
	return n
}

func migrateRenames(r frontier.Renames, ms []Migration, within string) frontier.Renames {
	all := frontier.Renames{}
	around, _ := frontier.SplitPath(strings.TrimSuffix(within, "/"))
	for old, name := range r {
		switch {
		case strings.HasPrefix(old, "/"):
			all[old] = Path(ms, name)
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
			now := Path(ms[i:], path)
			at, old := frontier.SplitPath(path)
			_, name := frontier.SplitPath(now)
			add("/"+path, now)
			if at == Path(ms[:i], within) {
				add(old, name)
			}
			if within != "" && at == Path(ms[:i], around) {
				add("../"+old, name)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func migrateInputs(g *frontier.Frontier, ms []Migration, within string) error {
	for i := range g.Tasks {
		t := &g.Tasks[i]
		for j := range ms {
			if t.Input == nil || ms[j].Inputs == nil {
				continue
			}
			name := within + posthouse.EscapeName(t.Node)
			v, err := guardedCall(func() (posthouse.Value, error) { return ms[j].Inputs(name, *t.Input) })
			if err != nil {
				return Misfit(MismatchMigration, name, err, "migration %d of the input of task %q failed", j+1, name)
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

// Program renames the parts in which subgraphs keep their states and plans, and the nodes
// that the plans name. It returns the states in their new shape.
func Program(ms []Migration, program posthouse.State) (posthouse.State, error) {
	now := posthouse.State{}
	states := map[string]posthouse.State{} // by the paths of now
	for _, name := range slices.Sorted(maps.Keys(program)) {
		v := program[name]
		if path, ok := strings.CutPrefix(name, frontier.PlanPart+"/"); ok {
			g, err := frontier.ReadFrontier(nil, program, name)
			if err == nil {
				err = Frontier(&g, ms, path+"/")
			}
			if err == nil {
				v.Data, err = g.EncodePlan()
			}
			if err != nil {
				return nil, err
			}
			name = frontier.PlanPart + "/" + Path(ms, path)
		} else if path, ok := strings.CutPrefix(name, calls.KeptPrefix); ok {
			name = calls.KeptPrefix + Path(ms, path)
		} else if path, ok := strings.CutPrefix(name, statePrefix); ok {
			within, part := frontier.SplitPath(path)
			within = Path(ms, within)
			if states[within] == nil {
				states[within] = posthouse.State{}
			}
			if _, taken := states[within][part]; taken {
				return nil, partTaken(statePrefix + within + part)
			}
			states[within][part] = v
			continue
		}
		if _, taken := now[name]; taken {
			return nil, partTaken(name)
		}
		now[name] = v
	}
	for _, within := range slices.Sorted(maps.Keys(states)) {
		s, err := innerState(ms, strings.TrimSuffix(within, "/"), states[within])
		if err != nil {
			return nil, err
		}
		for part, v := range s {
			now[statePrefix+within+part] = v
		}
	}
	return now, nil
}

func partTaken(name string) *Mismatch {
	return Misfit(MismatchMigration, name, nil, "two parts of subgraphs would both be %q", name)
}

// innerState returns the state of the subgraph at a path in its new shape.
func innerState(ms []Migration, path string, s posthouse.State) (_ posthouse.State, err error) {
	for i := range ms {
		if ms[i].Subgraphs == nil {
			continue
		}
		s, err = guardedCall(func() (posthouse.State, error) { return ms[i].Subgraphs(path, s.Clone()) })
		if err != nil {
			return nil, Misfit(MismatchMigration, path, err, "migration %d of the state of subgraph %q failed", i+1, path)
		}
	}
	return s, nil
}

// EscapePath escapes the names in a path that a caller gives. It leaves those that are
// escaped already.
func EscapePath(path string) string {
	names := strings.Split(path, "/")
	for i, name := range names {
		if _, err := posthouse.UnescapeName(name); err != nil {
			names[i] = posthouse.EscapeName(name)
		}
	}
	return strings.Join(names, "/")
}
