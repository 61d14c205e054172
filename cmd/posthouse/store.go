package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/datadir"
	"github.com/posthouse/posthouse/store/all"
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
	if url == "" {
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
	store, err := all.Open(ctx, url, &all.Options{ReadOnly: readOnly})
	var e *posthouse.Error
	if errors.As(err, &e) && e.Code == posthouse.CodeNotFound {
		missing := *e
		missing.Hint = "posthouse dev makes one; or say where it is with --data-dir or --store"
		return nil, "", &missing
	}
	return store, dir, err
}
