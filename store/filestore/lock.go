package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/filelock"
)

// acquire keeps other processes from opening the store for writing. The operating system
// gives the lock back when this process ends. The file stays and names the process.
func acquire(dir string) (*filelock.Lock, error) {
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
		err = filelock.Name(f)
		if err == nil {
			err = makeReading(dir)
		}
		if err != nil {
			_ = f.Close()
		}
	}
	if err != nil {
		return nil, fileError("lock", name, err)
	}
	return f, nil
}

// makeReading makes the file that processes lock while they read the journal.
func makeReading(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, readingName), os.O_CREATE|os.O_RDONLY, fileMode)
	if err != nil {
		return err
	}
	return f.Close()
}

// holdJournal asks the process that writes to leave its journal as it is until the function
// it returns is called. Without it, reading a large store could start over for ever. It is
// a request: nothing is asked where this process may not write, and where another one reads
// too. The process that writes stops listening when its journal becomes too long.
func (d *directory) holdJournal() (release func()) {
	if d.opts.system == nil {
		if f, err := filelock.TakeBeside(filepath.Join(d.path, readingName)); err == nil && f != nil {
			return func() { _ = f.Close() }
		}
	}
	return func() {}
}

// held reports whether another process reads the journal.
func (d *directory) held() bool {
	if d.opts.system != nil {
		return false
	}
	f, err := filelock.TakeBeside(filepath.Join(d.path, readingName))
	if f != nil {
		_ = f.Close()
	}
	return errors.Is(err, filelock.ErrHeld)
}

// A process that reads for longer than heldLongest, or was stopped while it read, reads
// again.
const (
	heldPause   = 10 * time.Millisecond
	heldLongest = 5 * time.Second
)

// awaitReaders waits, but not for long, until no other process reads the journal. Who is
// about to drain all of it calls this before commits have to wait.
func (d *directory) awaitReaders(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, heldLongest)
	defer cancel()
	for ctx.Err() == nil && d.held() {
		select {
		case <-time.After(heldPause):
		case <-ctx.Done():
		}
	}
}
