package stores

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/term"
)

// Compact returns the command compact.
func Compact(e *env.Env) *cobra.Command {
	var store StoreFlag
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Rewrite the store into fewer bytes; no record changes",
		Long: `Rewrite the store into fewer bytes.

Bodies are compressed together; sequence numbers, hashes, headers and signatures
stay what they are. Being stopped at any point loses nothing. The server must be
stopped.`,
		Example: `  posthouse compact`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			done, err := compact(cmd.Context(), &e.Term, &store)
			if err != nil {
				return err
			}
			return e.Answer(done, func() {
				e.Line("%s before, %s after; rewrote %s", term.Size(done.Before), term.Size(done.After), term.Count(done.Bodies, "body"))
			})
		},
	}
	store.Add(e, cmd)
	return cmd
}

func compact(ctx context.Context, t *term.Term, f *StoreFlag) (posthouse.Compacted, error) {
	return withStore(ctx, f.toChange, func(store posthouse.Store, _ datadir.Dir) (done posthouse.Compacted, err error) {
		c, ok := store.(posthouse.Compacter)
		if !ok {
			return done, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this store does not compact"}
		}
		err = t.During(time.Now, "compacting", func() (err error) {
			done, err = c.Compact(ctx)
			return err
		})
		return done, err
	})
}
