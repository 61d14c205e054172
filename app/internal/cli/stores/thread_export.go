package stores

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/transfer"
)

// ThreadExport returns the command export of thread, which opens the store itself.
func ThreadExport(e *env.Env) *cobra.Command {
	var store StoreFlag
	var out string
	cmd := &cobra.Command{
		Use:   "export THREAD",
		Short: "Write a thread to a file, as it is, to be imported elsewhere",
		Long: `Write a thread to a file, as it is, to be imported elsewhere.

It holds every entry with its hashes, signatures and states, and the thread's
slots. For an audit trail to be read by people use posthouse export. It reads the
data directory and may run beside a server.`,
		Example: `  posthouse thread export order-1234 --out order-1234.thread
  posthouse thread import order-1234.thread --data-dir /other`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				_, err := exportThread(cmd.Context(), &store, args[0], e.Out)
				return err
			}
			f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
			if err != nil {
				return cannotWrite(err)
			}
			done, err := exportThread(cmd.Context(), &store, args[0], f)
			err = errors.Join(err, f.Close())
			if err != nil {
				return errors.Join(err, os.Remove(out))
			}
			return transferred(e, done, out)
		},
	}
	store.Add(e, cmd)
	cmd.Flags().StringVar(&out, "out", "", "write to this file instead of standard output")
	return cmd
}

func exportThread(ctx context.Context, from *StoreFlag, thread string, w io.Writer) (*transfer.ThreadFile, error) {
	return withLedger(ctx, from.toRead, nil, func(led *ledger.Ledger) (*transfer.ThreadFile, error) {
		thread, err := threadIn(ctx, led.Store(), thread)
		if err != nil {
			return nil, err
		}
		return transfer.Export(ctx, led, thread, w, nil)
	})
}

func transferred(e *env.Env, t *transfer.ThreadFile, file string) error {
	return e.Answer(t, func() {
		e.Line("%s: thread %s, %s, %s, %s", file, t.Thread, term.Count(t.Entries, "entry"), term.Count(t.Slots, "slot"), term.Size(t.Bytes))
		if len(t.Ended) > 0 {
			e.Line("%s ended, since the store that the thread comes from has them, too; people are asked again:", term.Count(len(t.Ended), "approval"))
		}
		for _, id := range t.Ended {
			e.Line("  %s", id)
		}
	})
}
