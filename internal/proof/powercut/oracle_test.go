package powercut

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// An oracle says what a disk must hold, by copies of everything: of each file and each
// directory as it was at its last sync and after each change since. It shares nothing with
// the disk.
type oracle struct {
	model Model
	root  *oracleNode
}

type oracleNode struct {
	dir   bool
	data  [][]byte                 // the file at its last sync, and after each change since; the last is what it holds
	names []map[string]*oracleNode // the same of a directory
}

func newOracle(m Model) *oracle { return &oracle{model: m, root: oracleDir()} }

func oracleDir() *oracleNode {
	return &oracleNode{dir: true, names: []map[string]*oracleNode{{}}}
}

func (n *oracleNode) now() []byte                     { return n.data[len(n.data)-1] }
func (n *oracleNode) list() map[string]*oracleNode    { return n.names[len(n.names)-1] }
func (n *oracleNode) safe() map[string]*oracleNode    { return n.names[0] }
func (n *oracleNode) change(m map[string]*oracleNode) { n.names = append(n.names, m) }

// at finds the directory of a path, and its last name.
func (o *oracle) at(p string) (dir *oracleNode, name string) {
	dir = o.root
	parts := strings.Split(p, "/")
	for _, part := range parts[:len(parts)-1] {
		dir = dir.list()[part]
		if dir == nil || !dir.dir {
			return nil, ""
		}
	}
	return dir, parts[len(parts)-1]
}

func (o *oracle) node(p string) *oracleNode {
	if p == "" {
		return o.root
	}
	dir, name := o.at(p)
	if dir == nil {
		return nil
	}
	return dir.list()[name]
}

// name gives a name to a node, or takes it away.
func (o *oracle) name(p string, n *oracleNode) {
	dir, name := o.at(p)
	m := maps.Clone(dir.list())
	if n == nil {
		delete(m, name)
	} else {
		m[name] = n
	}
	dir.change(m)
}

func (o *oracle) syncFile(n *oracleNode) {
	n.data = [][]byte{n.now()}
	if o.model == Ext4 {
		o.syncNames()
	}
}

func (o *oracle) syncDir(n *oracleNode) {
	if o.model == Ext4 {
		o.syncNames()
		return
	}
	n.names = []map[string]*oracleNode{n.list()}
}

// syncNames makes all names durable that can be reached.
func (o *oracle) syncNames() {
	var walk func(*oracleNode)
	walk = func(n *oracleNode) {
		if n.dir {
			n.names = []map[string]*oracleNode{n.list()}
			for _, c := range n.list() {
				walk(c)
			}
		}
	}
	walk(o.root)
}

// want compares what is below dir with what must be there after a cut that keeps nothing,
// or all.
func (o *oracle) want(dir string, all bool) error {
	names := (*oracleNode).safe
	if all {
		names = (*oracleNode).list
	}
	var walk func(n *oracleNode, p string) error
	walk = func(n *oracleNode, p string) error {
		found, err := os.ReadDir(filepath.Join(dir, p))
		if err != nil {
			return err
		}
		var have []string
		for _, e := range found {
			have = append(have, e.Name())
		}
		if want := slices.Sorted(maps.Keys(names(n))); !slices.Equal(have, want) {
			return fmt.Errorf("%q has the names %q, want %q", p, have, want)
		}
		for name, c := range names(n) {
			at := path.Join(p, name)
			if c.dir {
				if err := walk(c, at); err != nil {
					return err
				}
				continue
			}
			want := c.data[0]
			if all {
				want = c.now()
			}
			if have, err := os.ReadFile(filepath.Join(dir, at)); err != nil || !bytes.Equal(have, want) {
				return fmt.Errorf("%q has %d bytes, want %d, the first difference is at %d: %v", at, len(have), len(want), differs(have, want), err)
			}
		}
		return nil
	}
	return walk(o.root, "")
}

func differs(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// allows compares what is below dir with what may be there after a cut that keeps some:
// each name and each byte must have been so at the last sync or since.
func (o *oracle) allows(dir string) error {
	var walk func(n *oracleNode, p string) error
	walk = func(n *oracleNode, p string) error {
		found, err := os.ReadDir(filepath.Join(dir, p))
		if err != nil {
			return err
		}
		have := map[string]bool{}
		for _, e := range found {
			at := path.Join(p, e.Name())
			have[e.Name()] = true
			var why error = fmt.Errorf("%q was never there", at)
			for _, names := range n.names {
				c := names[e.Name()]
				if c == nil || c.dir != e.IsDir() {
					continue
				}
				if c.dir {
					why = walk(c, at)
				} else {
					why = c.allows(filepath.Join(dir, at))
				}
				if why == nil {
					break
				}
			}
			if why != nil {
				return why
			}
		}
		for name := range n.safe() {
			if !have[name] && !slices.ContainsFunc(n.names, func(m map[string]*oracleNode) bool { return m[name] == nil }) {
				return fmt.Errorf("%q was durable and is gone", path.Join(p, name))
			}
		}
		return nil
	}
	return walk(o.root, "")
}

// allows compares a file with all that it ever was since its last sync.
func (n *oracleNode) allows(at string) error {
	have, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(n.data, func(d []byte) bool {
		return len(d) == len(have) || len(have)%pieceSize == 0 && len(d) > len(have)
	}) {
		return fmt.Errorf("%s has %d bytes, as it never had", at, len(have))
	}
	for i, b := range have {
		if !slices.ContainsFunc(n.data, func(d []byte) bool { return i < len(d) && d[i] == b || i >= len(d) && b == 0 }) {
			return fmt.Errorf("%s: byte %d is %d, as it never was", at, i, b)
		}
	}
	return nil
}
