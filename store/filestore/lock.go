package filestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/filelock"
)

// acquire keeps other processes from opening the store for writing. The operating system
// gives the lock back when this process ends. The file stays and names the process.
func acquire(dir string) (*os.File, error) {
	name := filepath.Join(dir, lockName)
	f, err := filelock.Take(name)
	if errors.Is(err, filelock.ErrHeld) {
		return nil, &posthouse.Error{
			Code:    posthouse.CodeLocked,
			Message: fmt.Sprintf("%s has the store %s open for writing", filelock.Holder(name), dir),
			Hint:    "stop that process, talk to it over HTTP, or choose another data directory; reading needs no lock",
		}
	}
	if err == nil {
		if err = filelock.Name(f); err != nil {
			_ = f.Close()
		}
	}
	if err != nil {
		return nil, fileError("lock", name, err)
	}
	return f, nil
}
