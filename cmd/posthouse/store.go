package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

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
	if !readOnly && !a.newStore {
		if err := vanished(url, dir); err != nil {
			return nil, "", err
		}
	}
	store, err := all.Open(ctx, url, &all.Options{ReadOnly: readOnly})
	if err != nil {
		return nil, "", hinted(err, posthouse.CodeNotFound, "posthouse dev makes one; or say where it is with --data-dir or --store")
	}
	return store, dir, nil
}

// vanished refuses to make a store where one was and is gone, or is an empty
// file: beside a key that has signed, with the lock file that a store leaves.
func vanished(url string, dir datadir.Dir) error {
	scheme, path, _ := strings.Cut(url, ":")
	path = strings.TrimSpace(strings.TrimPrefix(path, "//"))
	if _, err := os.Stat(dir.Key()); err != nil || !strings.EqualFold(scheme, "sqlite") || path == "" {
		return nil // a first start; what else is wrong, opening it says
	}
	what := "is empty"
	switch st, err := os.Stat(path); {
	case err == nil && st.Size() > 0:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(path + ".lock"); err != nil {
			return nil // there was none
		}
		what = "is gone"
	case err != nil:
		return nil
	}
	return &posthouse.Error{
		Code:    posthouse.CodeNotFound,
		Message: "the store " + path + " " + what + ", and the key " + dir.Key() + " has signed what was in one",
		Hint:    "put the store back from a backup, or say where it is with --store; to begin anew without it: posthouse serve --new-store",
	}
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
	return store, dir, hinted(err, posthouse.CodeLocked, stopFirst)
}

// hinted returns err with another hint if it has the code.
func hinted(err error, code posthouse.Code, hint string) error {
	var e *posthouse.Error
	if errors.As(err, &e) && e.Code == code {
		said := *e
		said.Hint = hint
		return &said
	}
	return err
}
