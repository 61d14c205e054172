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
	err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		_ = f.Close() // what failed before counts
		return nil, err
	}
	return f, nil
}

func unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func isHeld(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }
