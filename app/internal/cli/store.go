package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/ledger"
)

// storeFlag adds --store, for commands that open a store themselves.
func storeFlag(cmd *cobra.Command, url *string) {
	cmd.Flags().StringVar(url, "store", "", "address of the store: memory:, file:DIR or sqlite:PATH (default: the data directory's own)")
}

// storeURL returns the address that was given, else the data directory's own.
func (a *app) storeURL(url string) (string, datadir.Dir, error) {
	dir, err := a.dir()
	if err != nil {
		return "", "", err
	}
	if url = strings.TrimSpace(url); url == "" {
		url = dir.StoreURL()
	}
	return url, dir, nil
}

// openStore opens a store to read, or to write as well. It must be closed.
func (a *app) openStore(ctx context.Context, url string, readOnly bool) (posthouse.Store, datadir.Dir, error) {
	url, dir, err := a.storeURL(url)
	if err != nil {
		return nil, "", err
	}
	store, err := (&host.Source{URL: url, Dir: dir, Open: a.openURL, ReadOnly: readOnly}).OpenStore(ctx)
	return store, dir, err
}

// openToRead opens a store to read. It must be closed.
func (a *app) openToRead(ctx context.Context, url string) (posthouse.Store, datadir.Dir, error) {
	return a.openStore(ctx, url, true)
}

// A storeOpener opens a store and names its data directory.
type storeOpener func(context.Context, string) (posthouse.Store, datadir.Dir, error)

// withStore opens a store, calls fn with it, closes it, and returns what fn returned.
func withStore[T any](ctx context.Context, url string, open storeOpener, fn func(posthouse.Store, datadir.Dir) (T, error)) (T, error) {
	store, dir, err := open(ctx, url)
	if err != nil {
		var none T
		return none, err
	}
	v, err := fn(store, dir)
	return v, errors.Join(err, store.Close())
}

// withLedger is [withStore] with a Ledger over the store.
func withLedger[T any](ctx context.Context, url string, open storeOpener, o *ledger.Options, fn func(*ledger.Ledger) (T, error)) (T, error) {
	return withStore(ctx, url, open, func(store posthouse.Store, _ datadir.Dir) (T, error) {
		led, err := ledger.Open(store, o)
		if err != nil {
			var none T
			return none, err
		}
		return fn(led)
	})
}

// stopFirst is the hint if another process has the store.
const stopFirst = "stop the server of this data directory first"

// openToWrite opens a store to write. It must be closed.
func (a *app) openToWrite(ctx context.Context, url string) (posthouse.Store, datadir.Dir, error) {
	store, dir, err := a.openStore(ctx, url, false)
	return store, dir, host.Hinted(err, posthouse.CodeLocked, stopFirst)
}

// openExisting opens a store to write, and never makes one. It must be closed.
func (a *app) openExisting(ctx context.Context, url string) (posthouse.Store, datadir.Dir, error) {
	store, _, err := a.openToRead(ctx, url)
	switch {
	case err == nil:
		if err := store.Close(); err != nil {
			return nil, "", err
		}
	case errors.Is(err, posthouse.ErrNotFound), errors.Is(err, posthouse.ErrCorrupt):
		return nil, "", err
	}
	return a.openToWrite(ctx, url) // any other error is this one's as well
}
