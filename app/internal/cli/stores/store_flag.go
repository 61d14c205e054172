package stores

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/ledger"
)

// A StoreFlag is the store that a command opens itself.
type StoreFlag struct {
	URL       string // --store; empty: the data directory's own
	AllowWeak bool   // --allow-weak-store: also one that loses acknowledged writes

	env *env.Env
}

// Add adds the flags to a command.
func (f *StoreFlag) Add(e *env.Env, cmd *cobra.Command) {
	f.env = e
	cmd.Flags().StringVar(&f.URL, "store", "", "address of the store: memory:, file:DIR, sqlite:PATH or a server (default: the data directory's own)")
	settings.FallBack(cmd.Flags(), "store", settings.DatabaseURL)
	weakFlag(cmd, &f.AllowWeak)
}

// weakFlag adds --allow-weak-store, for commands that write to a store.
func weakFlag(cmd *cobra.Command, allow *bool) {
	cmd.Flags().BoolVar(allow, "allow-weak-store", false, "use a store whose server loses acknowledged writes by its settings")
}

// Address returns the address that was given, else the data directory's own.
func (f *StoreFlag) Address() (url string, dir datadir.Dir, err error) {
	dir, err = f.env.Dir()
	if err != nil {
		return "", "", err
	}
	url = strings.TrimSpace(f.URL)
	if url == "" {
		url = dir.StoreURL()
	}
	return url, dir, nil
}

// scheme returns that of the address.
func (f *StoreFlag) scheme() string {
	url, _, _ := f.Address()
	scheme, _, _ := strings.Cut(url, ":")
	return strings.ToLower(scheme)
}

// open opens the store to read, or to write as well. It must be closed.
func (f *StoreFlag) open(ctx context.Context, readOnly bool) (posthouse.Store, datadir.Dir, error) {
	url, dir, err := f.Address()
	if err != nil {
		return nil, "", err
	}
	store, err := (&host.Source{URL: url, Dir: dir, Open: f.env.Open, ReadOnly: readOnly, AllowWeak: f.AllowWeak}).OpenStore(ctx)
	return store, dir, err
}

// toRead opens the store to read. It must be closed.
func (f *StoreFlag) toRead(ctx context.Context) (posthouse.Store, datadir.Dir, error) {
	return f.open(ctx, true)
}

// stopFirst is the hint if another process has the store.
const stopFirst = "stop the server of this data directory first"

// toWrite opens the store to write. It must be closed.
func (f *StoreFlag) toWrite(ctx context.Context) (posthouse.Store, datadir.Dir, error) {
	store, dir, err := f.open(ctx, false)
	return store, dir, host.Hinted(err, posthouse.CodeLocked, stopFirst)
}

// toTry opens the store for a dry run: it is read, and one that is not there is an empty one. It must be
// closed.
func (f *StoreFlag) toTry(ctx context.Context) (posthouse.Store, datadir.Dir, error) {
	store, dir, err := f.toRead(ctx)
	if errors.Is(err, posthouse.ErrNotFound) {
		store, err = f.env.Open(ctx, "memory:", nil)
		if err == nil {
			dir, err = f.env.Dir()
		}
	}
	return store, dir, err
}

// toChange opens the store to write, and never makes one. It must be closed.
func (f *StoreFlag) toChange(ctx context.Context) (posthouse.Store, datadir.Dir, error) {
	store, _, err := f.toRead(ctx)
	switch {
	case err == nil:
		if err := store.Close(); err != nil {
			return nil, "", err
		}
	case errors.Is(err, posthouse.ErrNotFound), errors.Is(err, posthouse.ErrCorrupt):
		return nil, "", err
	}
	return f.toWrite(ctx) // any other error is this one's as well
}

// An opener opens a store and names its data directory.
type opener func(context.Context) (posthouse.Store, datadir.Dir, error)

// withStore opens a store, calls fn with it, closes it, and returns what fn returned.
func withStore[T any](ctx context.Context, open opener, fn func(posthouse.Store, datadir.Dir) (T, error)) (T, error) {
	store, dir, err := open(ctx)
	if err != nil {
		var none T
		return none, err
	}
	v, err := fn(store, dir)
	return v, errors.Join(err, store.Close())
}

// withLedger is [withStore] with a Ledger over the store.
func withLedger[T any](ctx context.Context, open opener, o *ledger.Options, fn func(*ledger.Ledger) (T, error)) (T, error) {
	return withStore(ctx, open, func(store posthouse.Store, _ datadir.Dir) (T, error) {
		led, err := ledger.Open(store, o)
		if err != nil {
			var none T
			return none, err
		}
		return fn(led)
	})
}
