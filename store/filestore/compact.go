package filestore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/posthouse/posthouse"
)

// Compact implements [posthouse.Compacter]. It drains the journal and rewrites the
// slots' log if older writes take room in it. Threads' logs have nothing dead: a
// removal rewrites them at once. Writers wait while it runs.
func (s *Store) Compact(ctx context.Context) (done posthouse.Compacted, err error) {
	s.dir.awaitReaders(ctx)
	err = s.submit(ctx, "compact the store", &request{alone: func() error {
		s.drains.wait()
		var err error
		done.Before, err = s.dir.size()
		if err != nil {
			return err
		}
		err = s.drainAll()
		if err == nil && s.slotLog.end > 0 {
			err = s.rewriteSlots()
		}
		if err == nil {
			err = s.seal() // who follows the journal reads the logs again
		}
		if err == nil {
			err = s.drainAll()
		}
		if err != nil {
			return err
		}
		done.After, err = s.dir.size()
		return err
	}})
	if err != nil {
		return posthouse.Compacted{}, err
	}
	return done, nil
}

// size returns the bytes of the store's files.
func (d *directory) size() (n int64, err error) {
	err = d.walk(func(name string) error {
		f, err := d.system.Open(name, false)
		if err != nil {
			return err
		}
		size, err := f.Size()
		n += size
		return cmp.Or(err, f.Close())
	})
	return n, err
}

// walk calls f for each file of the store but the lock.
func (d *directory) walk(f func(name string) error) error {
	var names []string
	dirs := []string{journalDir} // first: see backupBeside
	under, err := d.system.List(threadsDir)
	if err != nil {
		return err
	}
	for _, dir := range under {
		dirs = append(dirs, threadsDir+"/"+dir)
	}
	for _, dir := range dirs {
		files, err := d.system.List(dir)
		if err != nil {
			return err
		}
		for _, name := range files {
			if path.Ext(name) == logSuffix {
				names = append(names, dir+"/"+name)
			}
		}
	}
	for _, name := range append(names, formatName, slotsName) {
		if err := f(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
