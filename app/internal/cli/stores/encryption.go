package stores

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/crypt/keyfile"
	"github.com/posthouse/posthouse/ledger"
)

// KeysFlag adds --keys, which POSTHOUSE_KEYS sets.
func KeysFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "keys", "", "file with the encryption keys (default: encryption.keys in the data directory)")
}

// keysFile returns the file that --keys names, else that of the data directory.
func keysFile(e *env.Env, path string) (string, error) {
	dir, err := e.Dir()
	if err != nil {
		return "", err
	}
	return host.KeysPath(path, dir), nil
}

// Encryption returns the command encryption, with those below it.
func Encryption(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use:   "encryption",
		Short: "Show and rotate the keys that what is stored is encrypted with",
		Long: `Show and rotate the keys that what is stored is encrypted with.

posthouse serve --encrypt makes the key file, encryption.keys in the data
directory; --keys or POSTHOUSE_KEYS names another, on a disk that is not backed up
with the store. From then on every start uses it. Keep a copy: without the keys
nothing can be read. What stays in the clear is in docs/guarantees.md.

To rotate: "rotate" adds a key, a restart of the server takes it and wraps all
data keys with it, "status" shows when the old one is not in use, "retire" takes
it away. No stored entry changes, so signatures and verify are not touched.`,
		Example: `  posthouse encryption status
  posthouse encryption rotate --yes`,
	}, encryptionStatus(e), encryptionRotate(e), encryptionRewrap(e), encryptionRetire(e), encryptionClear(e))
}

// An encryptionKey is a key as status lists it.
type encryptionKey struct {
	ID      string `json:"id"`
	Current bool   `json:"current"`
	Missing bool   `json:"missing"` // in use, and not in the key file
	Wraps   int    `json:"wraps"`   // data keys
}

func encryptionStatus(e *env.Env) *cobra.Command {
	var store StoreFlag
	var path string
	cmd := &cobra.Command{
		Use: "status", Short: "Show the keys, and how many data keys each wraps",
		Long: `Show the keys, and how many data keys each wraps.

It reads the data directory and may run beside a server. Each thread has a data
key of its own. A key that wraps none can be retired; one that is missing is
needed to read what it wraps.`,
		Example: `  posthouse encryption status --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := keysFile(e, path)
			if err != nil {
				return err
			}
			var ids []string
			keys, err := keyfile.Load(file)
			switch {
			case err == nil:
				ids = keys.IDs()
			case !errors.Is(err, posthouse.ErrNotFound) || path != "":
				return err
			}
			use, mark, err := keyUse(cmd.Context(), &store)
			if err != nil {
				return err
			}
			return showKeys(e, ids, use, mark)
		},
	}
	store.Add(e, cmd)
	KeysFlag(cmd, &path)
	return cmd
}

// keyUse returns how many data keys each key wraps, and the store's record of being
// encrypted.
func keyUse(ctx context.Context, store *StoreFlag) (use map[string]int, mark *posthouse.Encryption, err error) {
	mark, err = withLedger(ctx, store.toRead, nil, func(led *ledger.Ledger) (*posthouse.Encryption, error) {
		var err error
		use, err = crypt.KeyUse(ctx, led)
		if err != nil {
			return nil, err
		}
		return crypt.Status(ctx, led)
	})
	return use, mark, err
}

func showKeys(e *env.Env, ids []string, use map[string]int, mark *posthouse.Encryption) error {
	all, rows := []encryptionKey{}, [][]string{}
	add := func(k encryptionKey, note string) {
		all, rows = append(all, k), append(rows, []string{k.ID, term.Count(k.Wraps, "data key"), note})
	}
	for i, id := range ids {
		k, note := encryptionKey{ID: id, Current: i == len(ids)-1, Wraps: use[id]}, ""
		switch {
		case k.Current:
			note = "current"
		case k.Wraps == 0:
			note = "can be retired"
		}
		add(k, note)
		delete(use, id)
	}
	for _, id := range slices.Sorted(maps.Keys(use)) {
		add(encryptionKey{ID: id, Missing: true, Wraps: use[id]}, "MISSING")
	}
	return e.Answer(map[string]any{"encryptsAtRest": len(ids) > 0, "keys": all, "store": mark}, func() {
		switch {
		case mark.Encrypted:
			e.Line("the store is encrypted: without keys nothing is written to it")
		case len(ids) == 0:
			e.Line("not encrypted: there is no key file; posthouse serve --encrypt makes one")
		}
		for _, d := range mark.Decisions {
			e.Line("%s: %s decided to write in the clear: %s", tree.Time(d.At), d.By, d.Reason)
		}
		if len(rows) > 0 {
			e.Table([]string{"KEY", "WRAPS", ""}, rows)
		}
	})
}

func encryptionRotate(e *env.Env) *cobra.Command {
	var yes bool
	var path string
	cmd := &cobra.Command{
		Use: "rotate", Short: "Add a new key; a restart of the server takes it",
		Example: `  posthouse encryption rotate --yes`,
		RunE: func(*cobra.Command, []string) error {
			file, err := keysFile(e, path)
			if err != nil {
				return err
			}
			if ok, err := e.Confirm(yes, "add a new current key to %s?", file); err != nil || !ok {
				return err
			}
			id, err := keyfile.Rotate(file)
			if err != nil {
				return err
			}
			return e.Answer(encryptionKey{ID: id, Current: true}, func() { e.Line("encrypting with %s once the server is restarted", id) })
		},
	}
	env.YesFlag(cmd, &yes)
	KeysFlag(cmd, &path)
	return cmd
}
