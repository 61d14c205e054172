package filelock

import (
	"errors"
	"os"
)

// ErrHeld says that somebody else has the lock, in this process or another.
var ErrHeld = errors.New("the lock is held")

const fileMode = 0o600

// A Lock is a locked file.
type Lock struct{ *os.File }

// Close gives the lock back, and closes the file. A process that is being started at this
// moment may have the file for as long, so closing alone would not give the lock back.
func (l *Lock) Close() error { return errors.Join(unlock(l.File), l.File.Close()) }

// TakeBeside locks a file that is there and that others may have open for any other
// purpose. It fails with [ErrHeld], or with [io/fs.ErrNotExist]. On Windows, where a
// lock would keep others from the file, it returns nil and no error.
func TakeBeside(path string) (*Lock, error) { return locked(openBeside(path)) }

// Take opens the file, which it makes if it is missing, and locks it without
// waiting: [ErrHeld] if somebody has it. Others may read the file.
func Take(path string) (*Lock, error) { return locked(open(path)) }

func locked(f *os.File, err error) (*Lock, error) {
	switch {
	case isHeld(err):
		return nil, ErrHeld
	case f == nil || err != nil:
		return nil, err
	}
	return &Lock{f}, nil
}
