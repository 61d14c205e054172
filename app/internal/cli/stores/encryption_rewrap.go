package stores

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/crypt/keyfile"
	"github.com/posthouse/posthouse/ledger"
)

func encryptionRewrap(e *env.Env) *cobra.Command {
	var store StoreFlag
	var path string
	cmd := &cobra.Command{
		Use: "rewrap", Short: "Wrap all data keys with the current key, without a server",
		Long: `Wrap all data keys with the current key, without a server.

A server does this by itself after a restart. It may be interrupted at any point
and begun again.`,
		Example: `  posthouse encryption rewrap`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			done, err := rewrap(cmd.Context(), e, &store, path)
			if err != nil {
				return err
			}
			return e.Answer(done, func() { e.Line("wrapped %s anew; %d were before", term.Count(done.Keys, "data key"), done.Current) })
		},
	}
	store.Add(e, cmd)
	KeysFlag(cmd, &path)
	return cmd
}

func rewrap(ctx context.Context, e *env.Env, store *StoreFlag, path string) (*crypt.Rewrapped, error) {
	file, err := keysFile(e, path)
	if err != nil {
		return nil, err
	}
	keys, err := keyfile.Load(file)
	if err != nil {
		return nil, err
	}
	ring, err := keys.Keyring()
	if err != nil {
		return nil, err
	}
	return withLedger(ctx, store.toChange, &ledger.Options{Cipher: ring}, func(led *ledger.Ledger) (*crypt.Rewrapped, error) {
		return crypt.Rewrap(ctx, led)
	})
}
