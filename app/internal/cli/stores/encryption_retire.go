package stores

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/crypt/keyfile"
)

func encryptionRetire(e *env.Env) *cobra.Command {
	var yes, dry bool
	var store StoreFlag
	var path string
	cmd := &cobra.Command{
		Use: "retire KEY", Short: "Take a key away that wraps nothing any more",
		Long: `Take a key away that wraps nothing any more.

It is gone for good: backups that were made before the rotation need it, and so
does any other store that it is used for.`,
		Example: `  posthouse encryption retire aes256:0123456789abcdef --dry-run
  posthouse encryption retire aes256:0123456789abcdef --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := keysFile(e, path)
			if err != nil {
				return err
			}
			use, _, err := keyUse(cmd.Context(), &store)
			if err != nil {
				return err
			}
			if n := use[args[0]]; n > 0 {
				return &posthouse.Error{
					Code: posthouse.CodeConflict, Message: fmt.Sprintf("key %s wraps %s", args[0], term.Count(n, "data key")),
					Hint: "restart the server after posthouse encryption rotate, or run posthouse encryption rewrap",
				}
			}
			if dry {
				return wouldRetire(e, file, args[0])
			}
			if ok, err := e.Confirm(yes, "take key %s out of %s, for good?", args[0], file); err != nil || !ok {
				return err
			}
			if err := keyfile.Retire(file, args[0]); err != nil {
				return err
			}
			return e.Answer(encryptionKey{ID: args[0]}, func() { e.Line("retired %s", args[0]) })
		},
	}
	env.YesFlag(cmd, &yes)
	env.DryRunFlag(cmd, &dry)
	store.Add(e, cmd)
	KeysFlag(cmd, &path)
	return cmd
}

// wouldRetire says whether a key that wraps nothing can go.
func wouldRetire(e *env.Env, file, id string) error {
	keys, err := keyfile.Load(file)
	if err == nil {
		err = keys.CanRetire(id)
	}
	if err != nil {
		return err
	}
	return e.Answer(map[string]any{"dryRun": true, "id": id}, func() {
		e.Line("key %s would be taken out of %s, for good; it wraps nothing in this store", id, file)
		e.Line("nothing was taken out: leave --dry-run out")
	})
}
