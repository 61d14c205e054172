package filelock

import (
	"errors"
	"os"
)

// ErrHeld says that somebody else has the lock, in this process or another.
var ErrHeld = errors.New("the lock is held")

const fileMode = 0o600

// TakeBeside locks a file that is there and that others may have open for any other
// purpose. It fails with [ErrHeld], or with [io/fs.ErrNotExist]. On Windows, where a
// lock would keep others from the file, it returns nil and no error.
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
