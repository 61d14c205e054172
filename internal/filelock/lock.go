package filelock

import (
	"errors"
	"os"
)

// ErrHeld says that somebody else has the lock, in this process or another.
var ErrHeld = errors.New("the lock is held")

// fileMode is that of lock files: their owner's alone.
const fileMode = 0o600

// TakeBeside locks a file that is there and that others may have open for any
// purpose but this: [ErrHeld], or an error that is [io/fs.ErrNotExist]. It is nil
// without an error on Windows, where a lock would keep them from it.
func TakeBeside(path string) (*os.File, error) {
	f, err := openBeside(path)
	if isHeld(err) {
		return nil, ErrHeld
	}
	return f, err
}

// Take opens the file, which it makes if it is missing, and locks it without
// waiting: [ErrHeld] if somebody has it. Others may read the file. Closing it
// gives the lock back.
func Take(path string) (*os.File, error) {
	f, err := open(path)
	if isHeld(err) {
		return nil, ErrHeld
	}
	return f, err
}
