package filestore

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// A disk is a file system in memory that keeps through a power cut what POSIX promises
// and no more: synced content, and names in synced directories. It can lose its power
// before any operation, fail a sync, or be full.
type disk struct {
	mu    sync.Mutex
	dirs  map[string]bool // true: its name is durable
	names map[string]*inode
	saved map[string]*inode // the names that are durable

	segment  int64 // size of the store's segments; 0: small
	ops      int   // that change something
	cut      int   // the power goes before this one; 0: never
	fail     int   // this sync fails; 0: no sync
	full     int   // writes from this operation on find no room
	bad      int   // this operation fails; 0: no operation
	syncs    int
	reads    int    // of content
	careless bool   // directories are not synced
	failed   string // what cut, fail or full met
}

// An inode is the content of a file.
type inode struct {
	data  []byte
	saved []byte
}

var (
	errCut  = errors.New("the power is gone")
	errSync = syscall.EIO
)

func newDisk() *disk {
	return &disk{dirs: map[string]bool{".": true}, names: map[string]*inode{}, saved: map[string]*inode{}}
}

// change counts an operation that changes something, and says whether it happens.
func (d *disk) change(what string, writes bool) error {
	d.ops++
	if d.cut > 0 && d.ops >= d.cut {
		if d.ops == d.cut {
			d.failed = what
		}
		return errCut
	}
	if d.bad > 0 && d.ops == d.bad {
		d.failed = what
		return errSync
	}
	if d.full > 0 && d.ops >= d.full && writes {
		if d.failed == "" {
			d.failed = what
		}
		return syscall.ENOSPC
	}
	return nil
}

func (d *disk) sync(what string) error {
	if err := d.change("sync "+what, false); err != nil {
		return err
	}
	if d.syncs++; d.fail > 0 && d.syncs == d.fail {
		d.failed = "sync " + what
		return errSync
	}
	return nil
}

func (d *disk) Open(name string, _ bool) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.names[name]
	if n == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &handle{d, n, name}, nil
}

func (d *disk) Create(name string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.change("create "+name, true); err != nil {
		return nil, err
	}
	if _, ok := d.dirs[path.Dir(name)]; !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	n := d.names[name]
	if n == nil {
		n = &inode{}
		d.names[name] = n
	}
	n.data = nil
	return &handle{d, n, name}, nil
}

func (d *disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.change("rename "+to, false); err != nil {
		return err
	}
	d.names[to] = d.names[from]
	delete(d.names, from)
	return nil
}

func (d *disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.change("remove "+name, false); err != nil {
		return err
	}
	if d.names[name] == nil {
		return fs.ErrNotExist
	}
	delete(d.names, name)
	return nil
}

func (d *disk) Mkdir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.change("mkdir "+name, true); err != nil {
		return err
	}
	if _, ok := d.dirs[name]; ok {
		return fs.ErrExist
	}
	d.dirs[name] = false
	return nil
}

func (d *disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.sync(dir); err != nil {
		return err
	}
	if d.careless {
		return nil
	}
	for name := range d.dirs {
		if path.Dir(name) == dir {
			d.dirs[name] = true
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(d.names)), slices.Collect(maps.Keys(d.saved))) {
		if path.Dir(name) != dir {
			continue
		}
		if n := d.names[name]; n != nil {
			d.saved[name] = n
		} else {
			delete(d.saved, name)
		}
	}
	return nil
}

func (d *disk) List(dir string) (names []string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.dirs[dir]; !ok {
		return nil, fs.ErrNotExist
	}
	for name := range d.names {
		if path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	for name := range d.dirs {
		if name != "." && path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	return names, nil
}

func (d *disk) Close() error { return nil }

type handle struct {
	d    *disk
	n    *inode
	name string
}

func (h *handle) ReadAt(b []byte, at int64) (int, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	h.d.reads++
	if at >= int64(len(h.n.data)) {
		return 0, io.EOF
	}
	n := copy(b, h.n.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (h *handle) WriteAt(b []byte, at int64) (int, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	err := h.d.change("write "+h.name, true)
	if err == syscall.ENOSPC {
		b = b[:len(b)/2] // some of it fits
	} else if err != nil {
		b = b[:len(b)*(h.d.ops%3)/2] // or the power goes in the middle
	}
	data := slices.Clone(h.n.data)
	if need := int(at) + len(b); need > len(data) {
		data = append(data, make([]byte, need-len(data))...)
	}
	copy(data[at:], b)
	h.n.data = data
	return len(b), err
}

func (h *handle) Truncate(size int64) error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.change("truncate "+h.name, false); err != nil {
		return err
	}
	h.n.data = slices.Clone(h.n.data[:size])
	return nil
}

func (h *handle) Sync() error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.sync(h.name); err != nil {
		return err
	}
	h.n.saved = h.n.data
	return nil
}

func (h *handle) Size() (int64, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return int64(len(h.n.data)), nil
}

func (h *handle) Close() error { return nil }

// after returns what a power cut leaves: of names and content that were not synced some
// is there and some is not, piece by piece.
func (d *disk) after(rnd *rand.Rand) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := newDisk()
	for name, durable := range d.dirs {
		if durable || rnd.IntN(2) == 0 {
			left.dirs[name] = true
		}
	}
	all := slices.Concat(slices.Collect(maps.Keys(d.names)), slices.Collect(maps.Keys(d.saved)))
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		n := d.saved[name]
		if now := d.names[name]; now != n && rnd.IntN(2) == 0 {
			n = now
		}
		if _, ok := left.dirs[path.Dir(name)]; n == nil || !ok {
			continue
		}
		torn := n.torn(rnd)
		left.names[name] = &inode{torn, torn}
	}
	maps.Copy(left.saved, left.names)
	return left
}

// torn returns content that is partly as it was synced.
func (n *inode) torn(rnd *rand.Rand) []byte {
	const piece = 128
	size := len(n.data)
	if rnd.IntN(2) == 0 {
		size = len(n.saved)
	}
	b := make([]byte, size)
	copy(b, n.saved)
	for at := 0; at < size; at += piece {
		if at < len(n.data) && rnd.IntN(2) == 0 {
			copy(b[at:min(at+piece, size)], n.data[at:])
		}
	}
	return b
}

// clone returns a copy of what is there.
func (d *disk) clone() *disk {
	c := newDisk()
	maps.Copy(c.dirs, d.dirs)
	for name, n := range d.names {
		c.names[name] = &inode{n.data, n.data}
	}
	maps.Copy(c.saved, c.names)
	return c
}

// logsOf lists the files that hold frames.
func (d *disk) logsOf() (names []string) {
	for name := range d.names {
		if strings.HasSuffix(name, logSuffix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
