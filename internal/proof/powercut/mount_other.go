//go:build !linux

package powercut

import (
	"errors"
	"io/fs"
)

// A Mounted is a disk that is mounted.
type Mounted struct{}

// Mount fails: there is FUSE on Linux only.
func (d *Disk) Mount(string) (*Mounted, error) {
	return nil, errors.New("powercut: a disk can be mounted on Linux only")
}

// Unmount does nothing.
func (*Mounted) Unmount() error { return nil }

// Available reports that no disk can be mounted.
func Available() bool { return false }

func owner(fs.FileInfo) (uid, gid uint32) { return 0, 0 }
