package cli

import (
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
)

func (a *app) backupCmd() *cobra.Command {
	var url string
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the store, consistently, also while a server uses it",
		Long: `Copy the store, consistently, also while a server uses it.

The copy is a whole store of its own: verify it, or open it with
--store sqlite:FILE, or file:DIR for a store of files. Keys and tokens are not in it.`,
		Example: `  posthouse backup /backup/posthouse.db
  posthouse verify --store sqlite:/backup/posthouse.db`,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := withStore(cmd.Context(), url, a.openToRead, func(store posthouse.Store, _ datadir.Dir) (int64, error) {
				b, ok := store.(posthouse.Backuper)
				if !ok {
					return 0, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this store does not copy itself"}
				}
				if err := a.During(time.Now, "copying", func() error { return b.Backup(cmd.Context(), args[0]) }); err != nil {
					return 0, err
				}
				return sizeOf(args[0])
			})
			if err != nil {
				return err
			}
			return a.answer(map[string]any{"file": args[0], "bytes": n}, func() {
				a.Line("%s: %s", args[0], size(n))
				a.next("posthouse verify --store %s", quoted(a.scheme(url)+":"+args[0]))
			})
		},
	}
	a.storeFlag(cmd, &url)
	return cmd
}

// scheme returns that of a store's address.
func (a *app) scheme(url string) string {
	url, _, _ = a.storeURL(url)
	scheme, _, _ := strings.Cut(url, ":")
	return strings.ToLower(scheme)
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
