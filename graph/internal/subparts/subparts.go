// Package subparts names and tracks what subgraphs keep in the program's parts of a
// checkpoint: their states and plans, and where calls of other threads ended.
//
// It knows no node and no state's type.
package subparts

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/frontier"
)

// statePrefix begins the names of the parts of subgraphs' states.
const statePrefix = "$sub/"

// PlanName names the part that keeps the frontier of the subgraph at a path.
func PlanName(path string) string { return frontier.PlanPart + "/" + path }

// StateName returns the prefix of the parts of a subgraph's state.
func StateName(path string) string { return statePrefix + path + "/" }

// Within returns a checkpoint with the state of the subgraph at a path.
func Within(c *posthouse.Checkpoint, path string) *posthouse.Checkpoint {
	prefix := StateName(path)
	in := &posthouse.Checkpoint{Header: c.Header, State: posthouse.State{}, Metadata: c.Metadata, Program: c.Program}
	for name, v := range c.Program {
		if part, ok := strings.CutPrefix(name, prefix); ok {
			in.State[part] = v
		}
	}
	return in
}

// Shorten shortens a path to what a header takes. It keeps the end, which says more.
func Shorten(path string) string {
	if len(path) <= posthouse.MaxID {
		return path
	}
	return "..." + strings.ToValidUTF8(path[len(path)-posthouse.MaxID+3:], "")
}

// Orphans returns what drops the plans of subgraphs that no task of the frontier will
// go on with. The next call drops their states.
func Orphans[V any](program map[string]V, g *frontier.Frontier) (parts []posthouse.Part) {
	for name := range program {
		path, ok := strings.CutPrefix(name, frontier.PlanPart+"/")
		if !ok {
			continue
		}
		label, _, _ := strings.Cut(path, "/")
		node, _, _ := strings.Cut(label, "#")
		node = frontier.UnescapeName(node)
		if g == nil || !slices.ContainsFunc(g.Tasks, func(t frontier.Target) bool { return t.Node == node }) {
			parts = append(parts, posthouse.Part{Name: name, Drop: true})
		}
	}
	slices.SortFunc(parts, func(a, b posthouse.Part) int { return strings.Compare(a.Name, b.Name) })
	return parts
}

// WithoutOrphans returns a program without the plans that [Orphans] drops.
func WithoutOrphans(program posthouse.State, g *frontier.Frontier) posthouse.State {
	program = maps.Clone(program)
	for _, p := range Orphans(program, g) {
		delete(program, p.Name)
	}
	return program
}

// Change returns what makes one program the other, except the plan of the graph itself.
func Change(from, to posthouse.State) (parts []posthouse.Part) {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, stays := to[name]; !stays && name != frontier.PlanPart {
			parts = append(parts, posthouse.Part{Name: name, Drop: true})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		v, old := to[name], from[name]
		if name != frontier.PlanPart && (v.Codec != old.Codec || !bytes.Equal(v.Data, old.Data)) {
			parts = append(parts, posthouse.Part{Name: name, Codec: v.Codec, Data: v.Data})
		}
	}
	return parts
}

// Renamed returns what a subgraph's part on record is called now.
func Renamed(r frontier.Renames, old string) string {
	for _, prefix := range []string{statePrefix, frontier.PlanPart + "/", calls.KeptPrefix} {
		path, ok := strings.CutPrefix(old, prefix)
		if !ok {
			continue
		}
		at := len(path)
		if prefix == statePrefix {
			at = strings.LastIndexByte(path, '/') // the rest is a part's name
		}
		for ; at > 0; at = strings.LastIndexByte(path[:at], '/') {
			if now, ok := r["/"+path[:at]]; ok {
				return prefix + now + path[at:]
			}
		}
	}
	return old
}

// A Record tracks what subgraphs have on record while their graph runs, and which
// threads it called. It is safe for concurrent use.
type Record struct {
	mu     sync.Mutex
	parts  map[string]bool // names of the program's parts on record
	called []string        // threads of subgraphs that have one of their own and did not end
	own    posthouse.State // what such subgraphs kept, as completed steps left it
}

// NoteKept follows what subgraphs kept in threads of their own.
func (t *Record) NoteKept(parts []posthouse.Part) {
	if len(parts) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range parts {
		if strings.HasPrefix(p.Name, calls.KeptPrefix) {
			if t.own == nil {
				t.own = posthouse.State{}
			}
			t.own[p.Name] = posthouse.Value{Codec: p.Codec, Data: p.Data}
		}
	}
}

// KeptChild returns where the last call of a subgraph ended, or the zero Position.
func (t *Record) KeptChild(path string) (calls.Position, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return calls.KeptChild(t.own, path)
}

// NoteCall notes that a thread is called. Its result notes that the call ended.
func (t *Record) NoteCall(thread string) func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.called = append(t.called, thread)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.called = slices.DeleteFunc(t.called, func(c string) bool { return c == thread })
	}
}

// NoteParts follows the parts that a commit changed.
func (t *Record) NoteParts(parts []posthouse.Part) {
	if len(parts) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parts == nil {
		t.parts = map[string]bool{}
	}
	for i := range parts {
		if parts[i].Drop {
			delete(t.parts, parts[i].Name)
		} else {
			t.parts[parts[i].Name] = true
		}
	}
}

// below returns the names on record that are name itself or within it.
func (t *Record) below(name string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for _, p := range slices.Sorted(maps.Keys(t.parts)) {
		if p == name || strings.HasPrefix(p, name+"/") {
			names = append(names, p)
		}
	}
	return names
}

// Called returns the threads that were called and did not end.
func (t *Record) Called() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.called)
}

// Completion returns how the program's parts change when the node around a call
// completes. left is what the call left. With keep, the next call begins with it.
func (t *Record) Completion(path string, left []posthouse.Part, keep bool) []posthouse.Part {
	gone, parts := t.below(PlanName(path)), left
	if !keep {
		parts = nil
		for _, p := range left {
			if strings.HasPrefix(p.Name, calls.KeptPrefix) { // of subgraphs that outlive it
				parts = append(parts, p)
			}
		}
		gone = append(gone, t.below(statePrefix+path)...)
	}
	for _, name := range gone {
		parts = slices.DeleteFunc(parts, func(p posthouse.Part) bool { return p.Name == name })
		parts = append(parts, posthouse.Part{Name: name, Drop: true})
	}
	return parts
}

// HasCall reports whether a call of the subgraph at a path has begun, or left a state.
func (t *Record) HasCall(path string) bool {
	return len(t.below(PlanName(path)))+len(t.below(statePrefix+path)) > 0
}

// Orphans returns what drops the plans of all subgraphs.
func (t *Record) Orphans() []posthouse.Part {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Orphans(t.parts, nil)
}
