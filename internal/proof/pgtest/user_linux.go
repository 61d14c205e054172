package pgtest

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account returns the user that servers run as: they refuse to run as root.
func account() (uid, gid int) {
	if os.Geteuid() != 0 {
		return os.Geteuid(), os.Getegid()
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.Atoi(u.Uid)
		gid, gerr := strconv.Atoi(u.Gid)
		if uerr == nil && gerr == nil {
			return uid, gid
		}
	}
	return 65534, 65534
}

func own(dir string) error {
	uid, gid := account()
	return os.Chown(dir, uid, gid)
}

// attributes make a process run as that user.
func attributes() *syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid := account()
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}
