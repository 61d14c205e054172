//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

func open(path string) (*os.File, error) { return lock(path, os.O_CREATE|os.O_RDWR) }

func openBeside(path string) (*os.File, error) { return lock(path, os.O_RDWR) }

func lock(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag, fileMode)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close() // what failed before counts
		return nil, err
	}
	return f, nil
}

func isHeld(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }
