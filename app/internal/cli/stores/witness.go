package stores

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
)

// Witness returns the command witness.
func Witness(e *env.Env) *cobra.Command {
	var store StoreFlag
	cmd := &cobra.Command{
		Use:   "witness FILE",
		Short: "Sign where every thread ends, to be kept elsewhere",
		Long: `Sign where every thread ends, to be kept elsewhere.

A log that was cut short, or a store put back to an old copy, is consistent in
itself. Handed to verify later, this file finds both. Keep it on another machine.`,
		Example: `  posthouse witness /safe/head.json
  posthouse verify --witness /safe/head.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			head, err := withStore(cmd.Context(), store.toRead, func(from posthouse.Store, dir datadir.Dir) (*sign.Head, error) {
				return witness(cmd.Context(), from, dir.Key(), args[0])
			})
			if err != nil {
				return err
			}
			return e.Answer(map[string]any{"file": args[0], "at": head.At, "threads": len(head.Threads)}, func() {
				e.Line("%s: %s as of %s", args[0], term.Count(len(head.Threads), "thread"), tree.Time(head.At))
			})
		},
	}
	store.Add(e, cmd)
	return cmd
}

func witness(ctx context.Context, store posthouse.Store, keyFile, file string) (*sign.Head, error) {
	key, err := sign.Load(keyFile)
	if err != nil {
		return nil, err
	}
	head, err := statement.Witness(ctx, store, key, nil)
	if err != nil {
		return nil, err
	}
	return head, statement.SaveHead(file, head)
}
