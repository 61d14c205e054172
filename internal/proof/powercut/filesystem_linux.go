package powercut

import (
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// A filesystem answers the kernel for a disk. All methods hold the disk's lock, except
// while a sync takes its time.
type filesystem struct {
	fuse.RawFileSystem
	disk    *Disk
	nodes   map[uint64]*node // that the kernel knows, by number
	handles map[uint64]*handle
	opened  uint64
}

// A handle is an open file or directory.
type handle struct {
	node *node
	sync bool // each write is durable when it returns
	list []fuse.DirEntry
}

// forgetAll starts over, as a kernel that has just started.
func (fs *filesystem) forgetAll() {
	fs.nodes, fs.handles = map[uint64]*node{fuse.FUSE_ROOT_ID: fs.disk.root}, map[uint64]*handle{}
}

// begin locks the disk, and fails if its power is gone or the node is not known. The
// caller unlocks it either way.
func (fs *filesystem) begin(ino uint64) (*node, fuse.Status) {
	fs.disk.mu.Lock()
	n := fs.nodes[ino]
	switch {
	case fs.disk.off:
		return nil, fuse.EIO
	case n == nil:
		return nil, fuse.Status(syscall.ESTALE)
	}
	return n, fuse.OK
}

// caching is how long the kernel may remember names and sizes: only the kernel changes
// them.
const caching = 10 * time.Second

func (n *node) attributes(a *fuse.Attr) {
	*a = fuse.Attr{
		Ino: n.ino, Mode: n.mode | n.kind.bits(), Nlink: uint32(max(n.links, 0)), Owner: fuse.Owner{Uid: n.uid, Gid: n.gid},
		Mtime: n.changed / 1000, Ctime: n.changed / 1000, Mtimensec: uint32(n.changed%1000) * 1e6, Ctimensec: uint32(n.changed%1000) * 1e6,
		Blksize: pieceSize,
	}
	switch n.kind {
	case file:
		a.Size, a.Blocks = uint64(n.now.size), uint64(n.now.size+511)/512
	case link:
		a.Size = uint64(len(n.target))
	}
}

func (k kind) bits() uint32 {
	return [...]uint32{file: syscall.S_IFREG, folder: syscall.S_IFDIR, link: syscall.S_IFLNK}[k]
}

// tell gives the kernel a node under a name.
func (fs *filesystem) tell(n *node, out *fuse.EntryOut) fuse.Status {
	n.lookups++
	fs.nodes[n.ino] = n
	out.NodeId, out.Generation = n.ino, 1
	n.attributes(&out.Attr)
	out.SetEntryTimeout(caching)
	out.SetAttrTimeout(caching)
	return fuse.OK
}

func (fs *filesystem) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	dir, st := fs.begin(h.NodeId)
	defer fs.disk.mu.Unlock()
	if !st.Ok() {
		return st
	}
	n := dir.entries[name]
	if n == nil {
		return fuse.ENOENT
	}
	return fs.tell(n, out)
}

func (fs *filesystem) Forget(ino, count uint64) {
	fs.disk.mu.Lock()
	defer fs.disk.mu.Unlock()
	if n := fs.nodes[ino]; n != nil && ino != fuse.FUSE_ROOT_ID {
		if n.lookups -= min(count, n.lookups); n.lookups == 0 {
			delete(fs.nodes, ino)
		}
	}
}

func (fs *filesystem) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, st := fs.begin(in.NodeId)
	defer fs.disk.mu.Unlock()
	if st.Ok() {
		n.attributes(&out.Attr)
		out.SetTimeout(caching)
	}
	return st
}

func (fs *filesystem) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, st := fs.begin(in.NodeId)
	defer fs.disk.mu.Unlock()
	if !st.Ok() {
		return st
	}
	if mode, ok := in.GetMode(); ok {
		n.mode = mode & 0o7777
	}
	if uid, ok := in.GetUID(); ok {
		n.uid = uid
	}
	if gid, ok := in.GetGID(); ok {
		n.gid = gid
	}
	if size, ok := in.GetSize(); ok {
		if err := fs.disk.truncate(n, int64(size)); err != nil {
			return status(err)
		}
	}
	n.attributes(&out.Attr)
	out.SetTimeout(caching)
	return fuse.OK
}

func (fs *filesystem) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status { return fuse.OK }

func (fs *filesystem) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	const blocks = 1 << 24
	*out = fuse.StatfsOut{Blocks: blocks, Bfree: blocks / 2, Bavail: blocks / 2, Files: blocks, Ffree: blocks / 2, Bsize: pieceSize, Frsize: pieceSize, NameLen: 255}
	return fuse.OK
}

// make makes a node under a free name.
func (fs *filesystem) make(h *fuse.InHeader, name string, k kind, mode uint32, out *fuse.EntryOut) (*node, fuse.Status) {
	dir, st := fs.begin(h.NodeId)
	if !st.Ok() {
		return nil, st
	}
	if dir.entries[name] != nil {
		return nil, fuse.Status(syscall.EEXIST)
	}
	n, err := fs.disk.create(dir, name, k, mode&0o7777, h.Uid, h.Gid)
	if err != nil {
		return nil, status(err)
	}
	return n, fs.tell(n, out)
}

func (fs *filesystem) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	_, st := fs.make(&in.InHeader, name, folder, in.Mode, out)
	fs.disk.mu.Unlock()
	return st
}

func (fs *filesystem) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	if in.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return fuse.EPERM
	}
	_, st := fs.make(&in.InHeader, name, file, in.Mode, out)
	fs.disk.mu.Unlock()
	return st
}

func (fs *filesystem) Symlink(_ <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	n, st := fs.make(h, name, link, 0o777, out)
	if n != nil {
		n.target = target
	}
	fs.disk.mu.Unlock()
	return st
}

func (fs *filesystem) Readlink(_ <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	n, st := fs.begin(h.NodeId)
	defer fs.disk.mu.Unlock()
	if !st.Ok() {
		return nil, st
	}
	return []byte(n.target), fuse.OK
}

func (fs *filesystem) Unlink(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return fs.remove(h, name)
}

func (fs *filesystem) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return fs.remove(h, name)
}

func (fs *filesystem) remove(h *fuse.InHeader, name string) fuse.Status {
	dir, st := fs.begin(h.NodeId)
	defer fs.disk.mu.Unlock()
	if !st.Ok() {
		return st
	}
	switch n := dir.entries[name]; {
	case n == nil:
		return fuse.ENOENT
	case len(n.entries) > 0:
		return fuse.Status(syscall.ENOTEMPTY)
	}
	if err := fs.disk.begin(changes); err != nil {
		return status(err)
	}
	fs.disk.edit(edit{dir, name, nil})
	return fuse.OK
}

func (fs *filesystem) Rename(_ <-chan struct{}, in *fuse.RenameIn, oldName, newName string) fuse.Status {
	const noReplace = 1
	from, st := fs.begin(in.NodeId)
	defer fs.disk.mu.Unlock()
	if !st.Ok() {
		return st
	}
	to := fs.nodes[in.Newdir]
	if to == nil {
		return fuse.Status(syscall.ESTALE)
	}
	n, old := from.entries[oldName], to.entries[newName]
	switch {
	case in.Flags&^noReplace != 0:
		return fuse.EINVAL
	case n == nil:
		return fuse.ENOENT
	case n == old:
		return fuse.OK
	case old != nil && in.Flags == noReplace:
		return fuse.Status(syscall.EEXIST)
	case old != nil && len(old.entries) > 0:
		return fuse.Status(syscall.ENOTEMPTY)
	}
	if err := fs.disk.begin(grows); err != nil {
		return status(err)
	}
	fs.disk.edit(edit{to, newName, n}, edit{from, oldName, nil})
	return fuse.OK
}

func (fs *filesystem) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	dir, st := fs.begin(in.NodeId)
	defer fs.disk.mu.Unlock()
	if !st.Ok() {
		return st
	}
	n := fs.nodes[in.Oldnodeid]
	switch {
	case n == nil:
		return fuse.Status(syscall.ESTALE)
	case dir.entries[name] != nil:
		return fuse.Status(syscall.EEXIST)
	}
	if err := fs.disk.begin(grows); err != nil {
		return status(err)
	}
	fs.disk.edit(edit{dir, name, n})
	return fs.tell(n, out)
}
