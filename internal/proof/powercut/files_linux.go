package powercut

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// open makes a handle of a node.
func (fs *filesystem) open(n *node, flags uint32, out *fuse.OpenOut) {
	fs.opened++
	h := &handle{node: n, sync: flags&(syscall.O_SYNC|syscall.O_DSYNC) != 0}
	fs.handles[fs.opened] = h
	out.Fh = fs.opened
	if n.kind == file && !n.mapped {
		out.OpenFlags = fuse.FOPEN_DIRECT_IO // each write comes here as the program made it
	}
}

func (fs *filesystem) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	n, st := fs.make(&in.InHeader, name, file, in.Mode, &out.EntryOut)
	defer fs.disk.mu.Unlock()
	if st.Ok() {
		fs.open(n, in.Flags, &out.OpenOut)
	}
	return st
}

func (fs *filesystem) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n, st := fs.begin(in.NodeId)
	defer fs.disk.mu.Unlock()
	if st.Ok() {
		fs.open(n, in.Flags, out)
	}
	return st
}

func (fs *filesystem) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n, st := fs.begin(in.NodeId)
	defer fs.disk.mu.Unlock()
	if !st.Ok() {
		return nil, st
	}
	buf = buf[:min(len(buf), int(in.Size))]
	return fuse.ReadResultData(buf[:n.now.read(buf, int64(in.Offset))]), fuse.OK
}

func (fs *filesystem) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n, st := fs.begin(in.NodeId)
	defer fs.disk.mu.Unlock()
	if !st.Ok() {
		return 0, st
	}
	h := fs.handles[in.Fh]
	if err := fs.disk.write(n, data, int64(in.Offset), h != nil && h.sync); err != nil {
		return 0, status(err)
	}
	return uint32(len(data)), fuse.OK
}

func (fs *filesystem) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (fs *filesystem) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status { return fs.fsync(in) }

func (fs *filesystem) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status { return fs.fsync(in) }

func (fs *filesystem) fsync(in *fuse.FsyncIn) fuse.Status {
	n, st := fs.begin(in.NodeId)
	fs.disk.mu.Unlock()
	if !st.Ok() {
		return st
	}
	return status(fs.disk.sync(n))
}

func (fs *filesystem) Release(_ <-chan struct{}, in *fuse.ReleaseIn) { fs.ReleaseDir(in) }

func (fs *filesystem) ReleaseDir(in *fuse.ReleaseIn) {
	fs.disk.mu.Lock()
	defer fs.disk.mu.Unlock()
	delete(fs.handles, in.Fh)
}

func (fs *filesystem) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n, st := fs.begin(in.NodeId)
	defer fs.disk.mu.Unlock()
	if st.Ok() {
		fs.open(n, 0, out)
	}
	return st
}

func (fs *filesystem) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	n, st := fs.begin(in.NodeId)
	defer fs.disk.mu.Unlock()
	if !st.Ok() {
		return st
	}
	h := fs.handles[in.Fh]
	if h == nil {
		return fuse.EBADF
	}
	if h.list == nil || in.Offset == 0 {
		h.list = []fuse.DirEntry{{Name: ".", Ino: n.ino, Mode: syscall.S_IFDIR}, {Name: "..", Mode: syscall.S_IFDIR}}
		for _, name := range sortedNames(n.entries) {
			h.list = append(h.list, fuse.DirEntry{Name: name, Ino: n.entries[name].ino, Mode: n.entries[name].kind.bits()})
		}
	}
	for i := int(in.Offset); i < len(h.list); i++ {
		e := h.list[i]
		e.Off = uint64(i + 1)
		if !out.AddDirEntry(e) {
			break
		}
	}
	return fuse.OK
}
