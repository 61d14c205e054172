package stores

import (
	"bytes"
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
)

// Export returns the command export.
func Export(e *env.Env) *cobra.Command {
	var store StoreFlag
	var out string
	var states bool
	cmd := &cobra.Command{
		Use:   "export THREAD",
		Short: "Write a thread's audit trail as a signed DSSE envelope",
		Long: `Write a thread's audit trail as a signed DSSE envelope.

It holds every entry with its hashes and signatures and a readable view of each,
names what acted on the world with who approved it and what exactly, and can be
checked without the store. States and step results are left out
unless --states asks for them. It reads the data directory and may run beside a
server.`,
		Example: `  posthouse export order-1234 > order-1234.dsse.json
  posthouse export order-1234 --states --out order-1234.dsse.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := export(cmd.Context(), &store, args[0], states)
			if err != nil {
				return err
			}
			if out == "" {
				_, err := e.Out.Write(data)
				return err
			}
			if err := os.WriteFile(out, data, 0o600); err != nil {
				return cannotWrite(err)
			}
			return e.Answer(map[string]any{"file": out, "bytes": len(data)}, func() { e.Line("%s: %s", out, term.Size(int64(len(data)))) })
		},
	}
	store.Add(e, cmd)
	cmd.Flags().StringVar(&out, "out", "", "write to this file instead of standard output")
	cmd.Flags().BoolVar(&states, "states", false, "with states and step results")
	return cmd
}

// threadIn returns the thread of a store that a name, or part of an id, stands for.
func threadIn(ctx context.Context, store posthouse.Store, part string) (string, error) {
	for _, err := range store.Read(ctx, part, posthouse.Range{Limit: 1, Headers: true}) {
		if err == nil {
			return part, nil // it is its name
		}
		break // whoever reads it says so
	}
	return env.OneThread(part, func(yield func(string, error) bool) {
		for info, err := range store.Threads(ctx, posthouse.ThreadQuery{}) {
			name := ""
			if info != nil {
				name = info.Thread
			}
			if !yield(name, err) {
				return
			}
		}
	})
}

func export(ctx context.Context, from *StoreFlag, thread string, states bool) ([]byte, error) {
	return withStore(ctx, from.toRead, func(store posthouse.Store, dir datadir.Dir) ([]byte, error) {
		key, err := sign.Load(dir.Key())
		if err != nil {
			return nil, err
		}
		thread, err := threadIn(ctx, store, thread)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = statement.Export(ctx, store, thread, key, &b, &statement.ExportOptions{States: states})
		return b.Bytes(), err
	})
}
