package cli

import (
	"os"
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
--store sqlite:FILE. Keys and tokens are not in it.`,
		Example: `  posthouse backup /backup/posthouse.db
  posthouse verify --store sqlite:/backup/posthouse.db`,
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := withStore(cmd.Context(), url, a.openToRead, func(store posthouse.Store, _ datadir.Dir) (os.FileInfo, error) {
				b, ok := store.(posthouse.Backuper)
				if !ok {
					return nil, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this store does not copy itself"}
				}
				if err := a.During(time.Now, "copying", func() error { return b.Backup(cmd.Context(), args[0]) }); err != nil {
					return nil, err
				}
				return os.Stat(args[0])
			})
			if err != nil {
				return err
			}
			return a.answer(map[string]any{"file": args[0], "bytes": st.Size()}, func() {
				a.Line("%s: %s", args[0], size(st.Size()))
				a.next("posthouse verify --store %s", quoted("sqlite:"+args[0]))
			})
		},
	}
	storeFlag(cmd, &url)
	return cmd
}
