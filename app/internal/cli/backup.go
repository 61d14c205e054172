package cli

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
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
		Args: args(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, _, err := a.openStore(cmd.Context(), url, true)
			if err != nil {
				return err
			}
			if b, ok := store.(posthouse.Backuper); ok {
				err = a.During(time.Now, "copying", func() error { return b.Backup(cmd.Context(), args[0]) })
			} else {
				err = &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this store does not copy itself"}
			}
			if err = errors.Join(err, store.Close()); err != nil {
				return err
			}
			st, err := os.Stat(args[0])
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
