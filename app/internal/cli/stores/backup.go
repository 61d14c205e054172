package stores

import (
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/term"
)

// Backup returns the command backup.
func Backup(e *env.Env) *cobra.Command {
	var store StoreFlag
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the store, consistently, also while a server uses it",
		Long: `Copy the store, consistently, also while a server uses it.

The copy is a whole store of its own: verify it, or open it with
--store sqlite:FILE, or file:DIR for a store of files. Keys and tokens are not in it.`,
		Example: `  posthouse backup /backup/posthouse.db
  posthouse verify --store sqlite:/backup/posthouse.db`,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := withStore(cmd.Context(), store.toRead, func(from posthouse.Store, _ datadir.Dir) (int64, error) {
				b, ok := from.(posthouse.Backuper)
				if !ok {
					return 0, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this store does not copy itself", Hint: store.ownBackup()}
				}
				if err := e.During(time.Now, "copying", func() error { return b.Backup(cmd.Context(), args[0]) }); err != nil {
					return 0, err
				}
				return sizeOf(args[0])
			})
			if err != nil {
				return err
			}
			return e.Answer(map[string]any{"file": args[0], "bytes": n}, func() {
				e.Line("%s: %s", args[0], term.Size(n))
				e.Next("posthouse verify --store %s", env.Quoted(store.scheme()+":"+args[0]))
			})
		},
	}
	store.Add(e, cmd)
	return cmd
}

// ownBackup says how a store is copied that does not copy itself.
func (f *StoreFlag) ownBackup() string {
	const orAny = "; a copy of any store: posthouse store copy FROM sqlite:FILE. docs/runbooks/backup.md has both"
	switch f.scheme() {
	case "postgres", "postgresql":
		return "its server does: pg_dump --format=custom, which is consistent beside running servers, or base backups with WAL for a point in time" + orAny
	case "redis", "rediss":
		return "its server does: the files of its data directory (appendonlydir), as Redis documents" + orAny
	case "nats", "tls":
		return "its server does: nats stream backup, with the servers of posthouse stopped" + orAny
	case "s3":
		return "its service does: versions or replication of the bucket" + orAny
	}
	return "a copy of any store: posthouse store copy FROM sqlite:FILE"
}

// sizeOf returns the bytes of a file, or of those in a directory.
func sizeOf(path string) (n int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}
