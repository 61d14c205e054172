package sqlitestore

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/posthouse/posthouse"
)

// A fileLock keeps other processes from opening the store for writing. The
// operating system drops it when the process ends, however it ends; the file
// stays and says who has, or last had, the lock.
type fileLock struct{ f *os.File }

func acquire(path string) (*fileLock, error) {
	name := path + ".lock"
	f, err := openLock(name)
	if err != nil {
		if isHeld(err) {
			return nil, lockedError(path, name)
		}
		return nil, fileError("open", name, err)
	}
	owner := fmt.Sprintf("pid %d\nboot %s\n", os.Getpid(), bootID())
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(owner), 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, fileError("write", name, err)
	}
	return &fileLock{f}, nil
}

func (l *fileLock) release() error { return l.f.Close() }

func lockedError(path, name string) error {
	holder := "another process"
	if b, err := os.ReadFile(name); err == nil {
		line, _, _ := bytes.Cut(b, []byte("\n"))
		if pid, ok := bytes.CutPrefix(line, []byte("pid ")); ok && len(pid) < 20 {
			holder = fmt.Sprintf("process %s", pid)
		}
	}
	return &posthouse.Error{
		Code:    posthouse.CodeLocked,
		Message: fmt.Sprintf("%s has the store %s open for writing", holder, path),
		Hint:    "stop that process, talk to it over HTTP, or choose another data directory; reading needs no lock",
	}
}

// bootID tells one start of the machine from the next, so that a pid in an old
// lock file is not taken for a process of today.
func bootID() string {
	f, err := os.Open("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
