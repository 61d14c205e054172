package powercut

import (
	"io/fs"
	"syscall"
)

func owner(info fs.FileInfo) (uid, gid uint32) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Uid, s.Gid
	}
	return 0, 0
}
