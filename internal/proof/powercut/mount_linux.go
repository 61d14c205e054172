package powercut

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// A Mounted is a disk that is mounted.
type Mounted struct {
	server *fuse.Server
	dir    string
}

// Available reports whether this machine has FUSE.
func Available() bool {
	_, err := os.Stat("/dev/fuse")
	return err == nil
}

// Mount mounts the disk on a directory. It needs /dev/fuse and the right to mount. The
// process itself should not work below dir: what it waits for, it has to answer.
func (d *Disk) Mount(dir string) (*Mounted, error) {
	fs := &filesystem{RawFileSystem: fuse.NewDefaultRawFileSystem(), disk: d}
	fs.forgetAll()
	syscall.ForkLock.RLock() // a program that is started would inherit a file of the disk, which go-fuse opens for a moment
	defer syscall.ForkLock.RUnlock()
	server, err := fuse.NewServer(fs, dir, &fuse.MountOptions{
		FsName: "powercut", Name: "powercut", AllowOther: true, Options: []string{"default_permissions"},
		DirectMountStrict: true, DisableXAttrs: true, DisableReadDirPlus: true, DisableSplice: true, MaxWrite: 1 << 20,
	})
	if err != nil {
		return nil, fmt.Errorf("powercut: mount %s: %w", dir, err)
	}
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
		return nil, fmt.Errorf("powercut: mount %s: %w", dir, err)
	}
	return &Mounted{server: server, dir: dir}, nil
}

// Unmount takes the disk from its directory. It fails while a program has a file open.
func (m *Mounted) Unmount() error {
	var err error
	for range 50 { // it waits between, since a process that was killed may be on its way out
		err = m.server.Unmount()
		if err == nil {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("powercut: unmount %s: %w", m.dir, err), syscall.Unmount(m.dir, syscall.MNT_DETACH))
}

// status returns an error as FUSE has it.
func status(err error) fuse.Status {
	if err == nil {
		return fuse.OK
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return fuse.Status(errno)
	}
	return fuse.EIO
}
