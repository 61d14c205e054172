package filestore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/durable"
)

// Backup implements [posthouse.Backuper]. The copy is a directory that can be opened like
// the store's own. Writers wait while it runs. A store that only reads copies beside the
// process that writes, and starts over if that process drained the journal while it
// copied.
func (s *Store) Backup(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fileError("find", path, err)
	}
	if s.opts.ReadOnly {
		return s.backupBeside(ctx, path)
	}
	s.dir.awaitReaders(ctx)
	return s.submit(ctx, "back up the store", &request{alone: func() error {
		s.drains.wait()
		if err := s.drainAll(); err != nil {
			return err
		}
		return s.dir.copyTo(ctx, path, nil)
	}})
}

// backupBeside copies the journal first: an entry that a log has or gets while the copy
// runs is in the journal, or was in the log before, until the journal's oldest segment
// goes.
func (s *Store) backupBeside(ctx context.Context, path string) error {
	defer s.dir.holdJournal()()
	for range attempts {
		before, err := s.dir.segments()
		if err != nil {
			return s.dir.wrap("back up the store", err)
		}
		still := func() (bool, error) {
			now, err := s.dir.segments()
			return err == nil && len(now) > 0 && len(before) > 0 && now[0] == before[0], err
		}
		err = s.dir.copyTo(ctx, path, still)
		if !errors.Is(err, errMoved) {
			return err
		}
	}
	return &posthouse.Error{
		Code: posthouse.CodeBusy, Message: "the store " + s.dir.path + " is written so fast that no copy of it is whole",
		Hint: "try again when there is less to do",
	}
}

// copyTo copies all files to a directory beside path, which then gets that name. [errMoved]
// if still, when it is set, says that the copy is not whole.
func (d *directory) copyTo(ctx context.Context, path string, still func() (bool, error)) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return fileError("look for", path, err)
		}
		return &posthouse.Error{Code: posthouse.CodeExists, Message: path + " exists already", Hint: "choose another name for the backup"}
	}
	part := path + ".part"
	if err := os.RemoveAll(part); err != nil {
		return fileError("remove", part, err)
	}
	files, dirs, err := d.copyAll(ctx, part)
	if err == nil && still != nil {
		var same bool
		same, err = still()
		if err == nil && !same {
			err = errMoved
		}
	}
	if err == nil {
		err = each(files, syncFile)
	}
	if err == nil {
		err = each(dirs, durable.Dirs{}.Sync)
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err == nil {
		err = durable.Dirs{}.Sync(filepath.Dir(path))
	}
	if err != nil {
		_ = os.RemoveAll(part)
		if errors.Is(err, errMoved) {
			return err
		}
		return fileError("write the backup", path, err)
	}
	return nil
}

// copyAll copies the store's files to a new directory. It returns what is to be synced.
func (d *directory) copyAll(ctx context.Context, to string) (files, dirs []string, err error) {
	if err := (durable.Dirs{}).MakeAll(to, dirMode); err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{to: true, filepath.Join(to, threadsDir): true}
	if err := os.Mkdir(filepath.Join(to, threadsDir), dirMode); err != nil {
		return nil, nil, err
	}
	err = d.walk(func(name string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(to, filepath.FromSlash(name))
		seen[filepath.Dir(path)] = true
		if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
			return err
		}
		err := d.copyFile(name, path)
		if err == nil {
			files = append(files, path)
		}
		return err
	})
	return files, slices.Collect(maps.Keys(seen)), err
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	return cmp.Or(f.Sync(), f.Close())
}

// copyFile copies a file. It does not sync it, so that a copy beside a writer is quick.
func (d *directory) copyFile(name, to string) (err error) {
	from, err := d.system.Open(name, false)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	size, err := from.Size()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	buf := make([]byte, min(size, 1<<20))
	for at := int64(0); at < size; {
		n, err := from.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if n == 0 {
			return err
		}
		if _, err := f.WriteAt(buf[:n], at); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
