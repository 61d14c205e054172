package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
)

// storeFlag adds --store, for commands that open a store themselves.
func storeFlag(cmd *cobra.Command, url *string) {
	cmd.Flags().StringVar(url, "store", "", "address of the store: memory: or sqlite:PATH (default: the data directory's own)")
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

// openStore opens a store, to read or to write. It must be closed.
func (a *app) openStore(ctx context.Context, url string, readOnly bool) (posthouse.Store, datadir.Dir, error) {
	url, dir, err := a.storeURL(url)
	if err != nil {
		return nil, "", err
	}
	store, err := (&host.Source{URL: url, Dir: dir, Open: a.openURL, ReadOnly: readOnly}).OpenStore(ctx)
	return store, dir, err
}

// stopFirst is what to do where another process has the store, most likely.
const stopFirst = "stop the server of this data directory first"

// openExisting opens a store to write, and makes none where there is none. It
// must be closed.
func (a *app) openExisting(ctx context.Context, url string) (posthouse.Store, datadir.Dir, error) {
	store, _, err := a.openStore(ctx, url, true)
	switch {
	case err == nil:
		if err := store.Close(); err != nil {
			return nil, "", err
		}
	case errors.Is(err, posthouse.ErrNotFound), errors.Is(err, posthouse.ErrCorrupt):
		return nil, "", err
	}
	store, dir, err := a.openStore(ctx, url, false) // what else is wrong with it, this says too
	return store, dir, host.Hinted(err, posthouse.CodeLocked, stopFirst)
}
