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
	var dry bool
	cmd := &cobra.Command{
		Use: "rewrap", Short: "Wrap all data keys with the current key, without a server",
		Long: `Wrap all data keys with the current key, without a server.

A server does this by itself after a restart. It may be interrupted at any point
and begun again.`,
		Example: `  posthouse encryption rewrap`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dry {
				return wouldRewrap(cmd.Context(), e, &store, path)
			}
			done, err := rewrap(cmd.Context(), e, &store, path)
			if err != nil {
				return err
			}
			return e.Answer(done, func() { e.Line("wrapped %s anew; %d were before", term.Count(done.Keys, "data key"), done.Current) })
		},
	}
	store.Add(e, cmd)
	KeysFlag(cmd, &path)
	env.DryRunFlag(cmd, &dry)
	return cmd
}

// wouldRewrap counts the data keys that another key than the current one wraps.
func wouldRewrap(ctx context.Context, e *env.Env, store *StoreFlag, path string) error {
	file, err := keysFile(e, path)
	if err != nil {
		return err
	}
	keys, err := keyfile.Load(file)
	if err != nil {
		return err
	}
	ring, err := keys.Keyring()
	if err != nil {
		return err
	}
	use, _, err := keyUse(ctx, store)
	if err != nil {
		return err
	}
	n, current := 0, 0
	for id, count := range use {
		if id == ring.Current() {
			current = count
		} else {
			n += count
		}
	}
	return e.Answer(map[string]any{"dryRun": true, "keys": n, "current": current}, func() {
		e.Line("would be wrapped with %s: %s; %d are already", ring.Current(), term.Count(n, "data key"), current)
	})
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
