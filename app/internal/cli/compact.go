package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
)

func (a *app) compactCmd() *cobra.Command {
	var url string
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Rewrite the store into fewer bytes; no record changes",
		Long: `Rewrite the store into fewer bytes.

Bodies are compressed together; sequence numbers, hashes, headers and signatures
stay what they are. Being stopped at any point loses nothing. The server must be
stopped.`,
		Example: `  posthouse compact`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			done, err := a.compact(cmd.Context(), url)
			if err != nil {
				return err
			}
			return a.answer(done, func() {
				a.Line("%s before, %s after; rewrote %s", size(done.Before), size(done.After), count(done.Bodies, "body"))
			})
		},
	}
	a.storeFlag(cmd, &url)
	return cmd
}

func (a *app) compact(ctx context.Context, url string) (posthouse.Compacted, error) {
	return withStore(ctx, url, a.openExisting, func(store posthouse.Store, _ datadir.Dir) (done posthouse.Compacted, err error) {
		c, ok := store.(posthouse.Compacter)
		if !ok {
			return done, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this store does not compact"}
		}
		err = a.During(time.Now, "compacting", func() (err error) {
			done, err = c.Compact(ctx)
			return err
		})
		return done, err
	})
}
