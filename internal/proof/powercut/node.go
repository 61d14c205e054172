package powercut

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A kind says what a node is.
type kind int

const (
	file kind = iota
	folder
	link // a symbolic one
)

// A node is a file, a directory or a symbolic link. The lock of the disk is over it.
type node struct {
	ino         uint64
	kind        kind
	mode        uint32 // permissions
	uid, gid    uint32
	changed     uint64 // when, as a mark
	links       int    // names that lead here
	lookups     uint64 // of the kernel
	mapped      bool   // may be mapped shared
	target      string // of a link
	now, synced content
	pending     []piece          // of a file, oldest first
	entries     map[string]*node // of a directory, as programs see it
	names       map[string]*node // and what is durable
}

func (d *Disk) newNode(k kind, mode, uid, gid uint32) *node {
	d.inos++
	n := &node{ino: d.inos, kind: k, mode: mode, uid: uid, gid: gid}
	if k == folder {
		n.entries, n.names = map[string]*node{}, map[string]*node{}
	}
	return n
}

// write changes bytes of a file.
func (d *Disk) write(n *node, data []byte, off int64, sync bool) error {
	if err := d.begin(grows); err != nil {
		return err
	}
	mark := d.nextMark()
	n.changed = mark
	for len(data) > 0 {
		i, from := int(off/pieceSize), int(off%pieceSize)
		part := data[:min(len(data), pieceSize-from)]
		b := new(block)
		if i < len(n.now.blocks) && n.now.blocks[i] != nil && len(part) < pieceSize {
			*b = *n.now.blocks[i]
		}
		copy(b[from:], part)
		data, off = data[len(part):], off+int64(len(part))
		n.now.put(i, b, off)
		end := min(n.now.size, int64(i+1)*pieceSize) // a block is written as long as the file is then
		n.pending = append(n.pending, piece{mark: mark, index: i, block: b, end: end})
	}
	if sync && !d.faults.Lying {
		d.persist(n, mark)
	}
	return nil
}

// truncate changes the size of a file.
func (d *Disk) truncate(n *node, size int64) error {
	if size == n.now.size {
		return nil
	}
	if err := d.begin(changes); err != nil {
		return err
	}
	p := piece{mark: d.nextMark(), end: size, truncate: true}
	p.apply(&n.now)
	n.pending = append(n.pending, p)
	return nil
}

// persist makes the changes of a file durable up to a mark.
func (n *node) persist(upTo uint64) {
	done := 0
	for done < len(n.pending) && n.pending[done].mark <= upTo {
		n.pending[done].apply(&n.synced)
		done++
	}
	n.pending = slices.Delete(n.pending, 0, done)
}

// forget makes the changes of a file that no later sync makes durable.
func (n *node) forget(upTo uint64) {
	n.pending = slices.DeleteFunc(n.pending, func(p piece) bool { return p.mark <= upTo })
}

// lose decides which changes of a file are kept.
func (n *node) lose(rnd *rand.Rand, keep float64, inOrder bool) {
	for i := range n.pending {
		p := &n.pending[i]
		if rnd.Float64() < keep {
			p.apply(&n.synced)
		} else if p.truncate || inOrder {
			break // of a truncation: later changes were written to the truncated file
		}
	}
	n.pending, n.now = nil, n.synced.clone()
}

// A naming is a change of names that is not durable.
type naming struct {
	mark  uint64
	edits []edit
}

// An edit gives a name in a directory to a node, or with nil takes it away.
type edit struct {
	dir  *node
	name string
	node *node
}

// apply makes the edits durable, those of one directory, or with nil all. It reports
// whether they are all of them.
func (c *naming) apply(only *node) bool {
	for _, e := range c.edits {
		if only != nil && e.dir != only {
			return false // all edits of a change are in one directory, or it is ext4's
		}
		if e.node == nil {
			delete(e.dir.names, e.name)
		} else {
			e.dir.names[e.name] = e.node
		}
	}
	return true
}

// edit makes edits to what programs see, and notes that they are not durable.
func (d *Disk) edit(edits ...edit) {
	for _, e := range edits {
		if old := e.dir.entries[e.name]; old != nil {
			old.links--
		}
		if e.node == nil {
			delete(e.dir.entries, e.name)
		} else {
			e.dir.entries[e.name] = e.node
			e.node.links++
		}
	}
	mark := d.nextMark()
	if d.model == Ext4 || len(edits) == 2 && edits[0].dir == edits[1].dir {
		d.journal = append(d.journal, naming{mark, edits})
		return
	}
	for _, e := range edits { // POSIX does not say that two directories change together
		d.journal = append(d.journal, naming{mark, []edit{e}})
	}
}

// create makes a node under a name that is free.
func (d *Disk) create(dir *node, name string, k kind, mode, uid, gid uint32) (*node, error) {
	if err := d.begin(grows); err != nil {
		return nil, err
	}
	n := d.newNode(k, mode, uid, gid)
	n.mapped = strings.HasSuffix(name, "-shm")
	d.edit(edit{dir, name, n})
	return n, nil
}

func sortedNames(m map[string]*node) []string { return slices.Sorted(maps.Keys(m)) }
