package stores

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/ends"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/transfer"
)

// Restore returns the command restore.
func Restore(e *env.Env) *cobra.Command {
	var store StoreFlag
	var yes, dry bool
	var by string
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of the store",
		Long: `Put a backup in the place of the data directory's store, a file of SQLite.

FILE is what posthouse backup wrote, or any other store on files. It is copied and read
back first; then the store that is there, if one is, is moved aside and kept. What was
done after the backup is not in it: from here on people are asked before an effect runs
under an approval from before, as after posthouse store accept-rollback. For a store on
a server, restore with its own tools and give that command. Stop the server first.`,
		Example: `  posthouse restore /backup/posthouse.db
  posthouse verify`,
		RunE: func(cmd *cobra.Command, args []string) error {
			url, dir, err := store.Address()
			if err != nil {
				return err
			}
			scheme, path, _ := strings.Cut(url, ":")
			if !strings.EqualFold(scheme, "sqlite") {
				return &posthouse.Error{
					Code: posthouse.CodeUnsupported, Message: "only a store in a file of SQLite is restored by this command",
					Hint: "put it back by its own means, then give: posthouse store accept-rollback",
				}
			}
			r := &restoring{env: e, dir: dir, path: strings.TrimPrefix(path, "//"), from: args[0], by: by, dry: dry}
			if ok, err := e.Confirm(yes || dry, "put %s in the place of the store?", args[0]); err != nil || !ok {
				return err
			}
			done, err := r.run(cmd.Context())
			if err != nil {
				return err
			}
			if r.aside != "" && !e.Structured() {
				e.Line("the store from before is kept: %s", r.aside)
			}
			return toldPutBack(e, done, dry)
		},
	}
	store.Add(e, cmd)
	env.YesFlag(cmd, &yes)
	env.DryRunFlag(cmd, &dry)
	cmd.Flags().StringVar(&by, "by", "operator", "who restores it; goes on record")
	return cmd
}

// restoring puts a backup in the place of a store of SQLite.
type restoring struct {
	env  *env.Env
	dir  datadir.Dir
	path string // of the store
	from string
	by   string
	dry  bool

	aside string // where the store from before is
}

func (r *restoring) run(ctx context.Context) (*transfer.StorePutBack, error) {
	if r.dry {
		return r.read(ctx)
	}
	if err := r.checkStopped(ctx); err != nil {
		return nil, err
	}
	next := r.path + ".restoring"
	if err := removeStore(next); err != nil {
		return nil, err
	}
	done, err := r.copy(ctx, next)
	if err != nil {
		return nil, errors.Join(err, removeStore(next))
	}
	return done, r.swap(next)
}

// checkStopped fails while a process has the store.
func (r *restoring) checkStopped(ctx context.Context) error {
	if _, err := os.Stat(r.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s, err := r.env.Open(ctx, "sqlite:"+r.path, nil)
	switch {
	case err == nil:
		return s.Close()
	case errors.Is(err, posthouse.ErrLocked):
		return host.Hinted(err, posthouse.CodeLocked, stopFirst)
	}
	return nil // it is damaged, or newer: that is why it is replaced
}

// read says what a restore would put on record.
func (r *restoring) read(ctx context.Context) (done *transfer.StorePutBack, err error) {
	src, err := r.env.Open(ctx, backupURL(r.from), &local.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	return r.putBack(ctx, src)
}

// copy makes the store that is to be used, with the record that it was put back.
func (r *restoring) copy(ctx context.Context, next string) (done *transfer.StorePutBack, err error) {
	src, err := r.env.Open(ctx, backupURL(r.from), &local.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := r.env.Open(ctx, "sqlite:"+next, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	p := r.env.Progress(time.Now)
	_, err = transfer.CopyStore(ctx, src, dst, &transfer.CopyStoreOptions{Progress: func(c *transfer.StoreCopied) {
		p.Update("threads %d, entries %d, %s", c.Threads, c.Entries, term.Size(c.Bytes))
	}})
	p.Done()
	if err != nil {
		return nil, err
	}
	return r.putBack(ctx, dst)
}

func (r *restoring) putBack(ctx context.Context, s posthouse.Store) (*transfer.StorePutBack, error) {
	have, err := ends.Load(r.dir.Ends())
	if err != nil {
		return nil, err
	}
	missing, err := ends.Missing(ctx, s, have)
	if err != nil {
		return nil, err
	}
	return putBack(ctx, s, r.dir, &transfer.PutBackOptions{By: r.by, From: filepath.Base(r.from), Missing: entriesOf(missing), DryRun: r.dry})
}

// backupURL returns the address of a backup: a file of SQLite, or a directory of a store of files.
func backupURL(path string) string {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return "file:" + path
	}
	return "sqlite:" + path
}

// besides are what SQLite and the store keep beside a file.
var besides = [...]string{"", "-wal", "-shm"}

// swap moves the store aside and the next one to its place.
func (r *restoring) swap(next string) error {
	if _, err := os.Stat(r.path); err == nil {
		r.aside = freeName(r.path + ".before-restore")
		for _, b := range besides {
			if err := os.Rename(r.path+b, r.aside+b); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return cannotWrite(err)
			}
		}
	}
	for _, b := range [...]string{"-wal", "-shm", ""} { // the file last: with it the store is there
		if err := os.Rename(next+b, r.path+b); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cannotWrite(err)
		}
	}
	if err := os.Remove(next + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cannotWrite(err)
	}
	return datadir.Sync(filepath.Dir(r.path))
}

// freeName returns a name that no file has.
func freeName(path string) string {
	name := path
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		name = path + "-" + strconv.Itoa(n)
	}
}

// removeStore removes what an interrupted restore has left.
func removeStore(path string) error {
	for _, b := range append(besides[:], ".lock") {
		if err := os.Remove(path + b); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cannotWrite(err)
		}
	}
	return nil
}
