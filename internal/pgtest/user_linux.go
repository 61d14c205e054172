package pgtest

import (
	"os"
	"os/user"
	"runtime"
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

// attributes make a process end when the thread that started it does.
func attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if uid, gid := account(); os.Geteuid() == 0 {
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return a
}

// forever keeps the thread of this goroutine for as long as that runs.
func forever() { runtime.LockOSThread() }
