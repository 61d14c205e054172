package jsonpatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Bounds on a patch.
const (
	MaxOps   = 1_000 // operations
	maxDepth = 1_000 // values within values of a merge patch, and names of a path
)

// A Reason says why an operation failed.
type Reason int

// The reasons.
const (
	Malformed Reason = iota // the patch itself is wrong
	Missing                 // the path leads nowhere
	Differs                 // a test found another value
	TooLarge                // the document would get too large
)

// A Fault is an operation that failed. The document is as it was.
type Fault struct {
	Reason Reason
	Index  int    // of the operation, from 0; -1: the patch as a whole
	Op     string // the operation's name, cut short
	Path   string // the path at fault, cut short
	Detail string // what is wrong with it
}

// Error implements error.
func (f *Fault) Error() string {
	if f.Index < 0 {
		return "the patch " + f.Detail
	}
	return fmt.Sprintf("operation %d (%s %q) %s", f.Index, f.Op, f.Path, f.Detail)
}

type operation struct {
	Op    string          `json:"op"`
	Path  *string         `json:"path"`
	From  *string         `json:"from"`
	Value json.RawMessage `json:"value"`
}

// Apply returns a document after a JSON Patch (RFC 6902), of at most limit bytes. All operations are
// done, or it fails with a [Fault].
func Apply(doc, patch []byte, limit int) ([]byte, error) {
	whole := func(reason Reason, detail string) error { return &Fault{Reason: reason, Index: -1, Detail: detail} }
	root, err := parse(doc)
	if err != nil {
		return nil, err
	}
	var ops []operation
	if trimmed := bytes.TrimSpace(patch); len(trimmed) == 0 || trimmed[0] != '[' {
		return nil, whole(Malformed, "is no array of operations")
	}
	if err := json.Unmarshal(patch, &ops); err != nil {
		return nil, whole(Malformed, "has an operation that is no object of op, path, from and value")
	}
	if len(ops) > MaxOps {
		return nil, whole(Malformed, "has more than "+strconv.Itoa(MaxOps)+" operations")
	}
	p := &patcher{root: root, size: len(doc), limit: limit}
	for i := range ops {
		if err := p.apply(&ops[i]); err != nil {
			err.Index, err.Op = i, clip(ops[i].Op)
			return nil, err
		}
	}
	after := p.root.write(nil)
	if len(after) > limit {
		return nil, whole(TooLarge, "makes a document of more than "+strconv.Itoa(limit)+" bytes")
	}
	return after, nil
}

func clip(s string) string {
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "..."
	}
	return s
}

// A patcher has a document while it is changed.
type patcher struct {
	root  *node
	size  int // bytes that the document has at most
	limit int
}

func (p *patcher) apply(o *operation) *Fault {
	if o.Path == nil {
		return &Fault{Reason: Malformed, Detail: "has no path"}
	}
	needs := map[string]string{"add": "value", "replace": "value", "test": "value", "move": "from", "copy": "from", "remove": ""}
	member, known := needs[o.Op]
	switch {
	case !known:
		return &Fault{Reason: Malformed, Path: clip(*o.Path), Detail: "is no operation: there are add, remove, replace, move, copy and test"}
	case member == "value" && o.Value == nil:
		return &Fault{Reason: Malformed, Path: clip(*o.Path), Detail: "has no value"}
	case member == "from" && o.From == nil:
		return &Fault{Reason: Malformed, Path: clip(*o.Path), Detail: "has no from"}
	}
	switch o.Op {
	case "add":
		return p.add(*o.Path, &node{raw: bytes.TrimSpace(o.Value)}, len(o.Value))
	case "remove":
		_, f := p.remove(*o.Path)
		return f
	case "replace":
		return p.replace(*o.Path, &node{raw: bytes.TrimSpace(o.Value)}, len(o.Value))
	case "test":
		return p.test(*o.Path, &node{raw: bytes.TrimSpace(o.Value)})
	case "copy":
		v, f := p.get(*o.From)
		if f != nil {
			return f
		}
		raw := v.write(nil)
		return p.add(*o.Path, &node{raw: raw}, len(raw))
	}
	if *o.From == *o.Path {
		_, f := p.get(*o.From)
		return f
	}
	if strings.HasPrefix(*o.Path, *o.From+"/") {
		return &Fault{Reason: Malformed, Path: clip(*o.Path), Detail: "is within what would be moved"}
	}
	v, f := p.remove(*o.From)
	if f != nil {
		return f
	}
	return p.add(*o.Path, v, 0)
}

// split returns the names of a path.
func split(path string) ([]string, *Fault) {
	if path == "" {
		return nil, nil
	}
	if path[0] != '/' {
		return nil, &Fault{Reason: Malformed, Path: clip(path), Detail: "does not begin with /"}
	}
	names := strings.Split(path[1:], "/")
	if len(names) > maxDepth {
		return nil, &Fault{Reason: Malformed, Path: clip(path), Detail: "is too deep"}
	}
	for i, name := range names {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(name), "~") {
			return nil, &Fault{Reason: Malformed, Path: clip(path), Detail: "has a ~ that is neither ~0 nor ~1"}
		}
		names[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	}
	return names, nil
}

// index returns the place in an array that a name means; end says that one after the last is one.
func index(name string, n int, end bool) (int, bool) {
	if end && name == "-" {
		return n, true
	}
	i, err := strconv.Atoi(name)
	if err != nil || i < 0 || strconv.Itoa(i) != name || i > n || i == n && !end {
		return 0, false
	}
	return i, true
}

// parent returns the value that holds a path, and the path's last name.
func (p *patcher) parent(path string) (at *node, last string, f *Fault) {
	names, f := split(path)
	if f != nil {
		return nil, "", f
	}
	at = p.root
	for i, name := range names {
		if at.open() != nil {
			return nil, "", &Fault{Reason: Malformed, Path: clip(path), Detail: "cannot be read"}
		}
		if i == len(names)-1 {
			if at.container() == 0 {
				return nil, "", missing(path)
			}
			return at, name, nil
		}
		at = at.child(name)
		if at == nil {
			return nil, "", missing(path)
		}
	}
	return nil, "", nil // the whole document
}

func missing(path string) *Fault {
	return &Fault{Reason: Missing, Path: clip(path), Detail: "leads to nothing"}
}

// child returns a member or an item of an opened node, or nil.
func (n *node) child(name string) *node {
	switch n.container() {
	case '{':
		if i := n.find(name); i >= 0 {
			return n.members[i].value
		}
	case '[':
		if i, ok := index(name, len(n.items), false); ok {
			return n.items[i]
		}
	}
	return nil
}

func (p *patcher) get(path string) (*node, *Fault) {
	at, last, f := p.parent(path)
	if f != nil {
		return nil, f
	}
	if at == nil {
		return p.root, nil
	}
	v := at.child(last)
	if v == nil {
		return nil, missing(path)
	}
	return v, nil
}

func (p *patcher) grow(path string, n int) *Fault {
	if p.size += n; p.size > 2*p.limit+1<<10 { // what was removed since may make room
		p.size = len(p.root.write(nil)) + n
	}
	if p.size > 2*p.limit+1<<10 {
		return &Fault{Reason: TooLarge, Path: clip(path), Detail: "makes the document too large"}
	}
	return nil
}

func (p *patcher) add(path string, v *node, size int) *Fault {
	at, last, f := p.parent(path)
	if f != nil {
		return f
	}
	if f := p.grow(path, size+len(last)+4); f != nil {
		return f
	}
	switch {
	case at == nil:
		p.root = v
	case at.container() == '{':
		at.set(last, v)
	default:
		i, ok := index(last, len(at.items), true)
		if !ok {
			return missing(path)
		}
		at.items = append(at.items, nil)
		copy(at.items[i+1:], at.items[i:])
		at.items[i] = v
	}
	return nil
}

func (p *patcher) remove(path string) (*node, *Fault) {
	at, last, f := p.parent(path)
	if f != nil {
		return nil, f
	}
	if at == nil {
		return nil, &Fault{Reason: Malformed, Path: "", Detail: "would remove the whole document"}
	}
	v := at.child(last)
	if v == nil {
		return nil, missing(path)
	}
	if at.container() == '{' {
		i := at.find(last)
		at.members = append(at.members[:i], at.members[i+1:]...)
		return v, nil
	}
	i, _ := index(last, len(at.items), false)
	at.items = append(at.items[:i], at.items[i+1:]...)
	return v, nil
}

func (p *patcher) replace(path string, v *node, size int) *Fault {
	at, last, f := p.parent(path)
	if f != nil {
		return f
	}
	if f := p.grow(path, size); f != nil {
		return f
	}
	switch {
	case at == nil:
		p.root = v
	case at.child(last) == nil:
		return missing(path)
	case at.container() == '{':
		at.set(last, v)
	default:
		i, _ := index(last, len(at.items), false)
		at.items[i] = v
	}
	return nil
}

func (p *patcher) test(path string, want *node) *Fault {
	have, f := p.get(path)
	if f != nil {
		return f
	}
	same, err := equal(have, want)
	if err != nil || !same {
		return &Fault{Reason: Differs, Path: clip(path), Detail: "found another value"}
	}
	return nil
}

// Merge returns a document after a JSON Merge Patch (RFC 7396), of at most limit bytes.
func Merge(doc, patch []byte, limit int) ([]byte, error) {
	root, err := parse(doc)
	if err != nil {
		return nil, err
	}
	change, err := parse(patch)
	if err != nil {
		return nil, &Fault{Reason: Malformed, Index: -1, Detail: "is not valid JSON"}
	}
	root, err = merge(root, change, 0)
	if err != nil {
		return nil, err
	}
	after := root.write(nil)
	if len(after) > limit {
		return nil, &Fault{Reason: TooLarge, Index: -1, Detail: "makes a document of more than " + strconv.Itoa(limit) + " bytes"}
	}
	return after, nil
}

func merge(target, patch *node, depth int) (*node, error) {
	if patch.container() != '{' {
		return patch, nil
	}
	if depth > maxDepth {
		return nil, &Fault{Reason: Malformed, Index: -1, Detail: "has more than " + strconv.Itoa(maxDepth) + " objects within each other"}
	}
	if target == nil || target.container() != '{' {
		target = &node{raw: json.RawMessage("{}")}
	}
	if err := target.open(); err != nil {
		return nil, err
	}
	if err := patch.open(); err != nil {
		return nil, err
	}
	for _, m := range patch.members {
		i := target.find(m.name)
		if m.value.container() == 0 && string(m.value.raw) == "null" {
			if i >= 0 {
				target.members = append(target.members[:i], target.members[i+1:]...)
			}
			continue
		}
		var have *node
		if i >= 0 {
			have = target.members[i].value
		}
		v, err := merge(have, m.value, depth+1)
		if err != nil {
			return nil, err
		}
		target.set(m.name, v)
	}
	return target, nil
}
