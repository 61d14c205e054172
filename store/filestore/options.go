package filestore

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/posthouse/posthouse"
)

// Options are the settings of a store. The zero value, or nil, is a good one.
type Options struct {
	// ReadOnly opens an existing store for reading, while a process writes or not. It takes
	// no lock and changes nothing. Every write fails with ErrReadOnly.
	ReadOnly bool

	// Poll is how often a watch of a ReadOnly store looks for entries of the process that
	// writes; default 200 ms. A store that writes does not poll.
	Poll time.Duration

	system  system // in tests: another file system
	segment int64  // in tests: another size of segments
	early   bool   // in tests: acknowledge before the sync, to see that it is noticed
}

// segmentSize is how large a file of the journal becomes before it is drained, in bytes.
// One commit may be larger.
const segmentSize = 8 << 20

func (o *Options) withDefaults() (Options, error) {
	var v Options
	if o != nil {
		v = *o
	}
	if v.Poll == 0 {
		v.Poll = 200 * time.Millisecond
	}
	if v.segment == 0 {
		v.segment = segmentSize
	}
	if v.Poll < 0 {
		return v, posthouse.Invalid("Poll", "is negative")
	}
	return v, nil
}

// Info implements [posthouse.Informer].
func (s *Store) Info(ctx context.Context) (kind, promise string, bytes int64, err error) {
	err = filepath.WalkDir(s.dir.path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return ctx.Err() // what is gone by now has no size
		}
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
		return ctx.Err()
	})
	return "files", "what is acknowledged is synced to the disk: it outlives a power cut", bytes, err
}
