package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/address"
	"github.com/posthouse/posthouse/app/internal/conform"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/transfer"
)

// storeFlag adds --store, for commands that open a store themselves.
func (a *app) storeFlag(cmd *cobra.Command, url *string) {
	cmd.Flags().StringVar(url, "store", "", "address of the store: memory:, file:DIR, sqlite:PATH or a server (default: the data directory's own)")
	a.weakFlag(cmd)
}

// weakFlag adds --allow-weak-store, for commands that write to a store.
func (a *app) weakFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.allowWeak, "allow-weak-store", false, "use a store whose server loses acknowledged writes by its settings")
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
	store, err := (&host.Source{URL: url, Dir: dir, Open: a.openURL, ReadOnly: readOnly, AllowWeak: a.allowWeak}).OpenStore(ctx)
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

func (a *app) storeCmd() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "store",
		Short: "Copy a store into another, or check a server before you trust it",
		Example: `  posthouse store check postgres://posthouse@db.example.com/posthouse
  posthouse store copy sqlite:posthouse.db postgres://posthouse@db.example.com/posthouse`,
	}, a.storeCheck(), a.storeCopy())
}

func (a *app) storeCopy() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy every thread and slot, and read all of it back",
		Long: `Copy every thread and slot into another store, of whatever kind, and read all
of it back.

Entries, hashes and signatures stay what they are. A copy that was stopped goes on
where it was when it is asked for again; one asked for again later takes what is
new. FROM may be in use, TO may not. Keys and tokens are not in it.

A thread that is damaged is named (exit code 8): of one damaged in a body, a state
say, the entries before it are copied, of any other nothing. So is one that TO has
another log of, which is left as it is (exit code 4). The others are copied all the
same; so a copy of a backup takes what came after it from the store that was damaged.`,
		Example: `  posthouse store copy sqlite:posthouse.db sqlite:/new/posthouse.db
  posthouse store copy file:/var/lib/posthouse/log postgres://posthouse@db.example.com/posthouse`,
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := a.copyStore(cmd.Context(), args[0], args[1])
			if done == nil || err != nil && !errors.Is(err, posthouse.ErrCorrupt) && !errors.Is(err, posthouse.ErrConflict) {
				return err
			}
			return errors.Join(a.answer(done, func() {
				a.Line("copied: %s, %s, %s, %s", count(done.Threads, "thread"), count(done.Entries, "entry"), count(done.Slots, "slot"), size(done.Bytes))
				if done.Skipped > 0 {
					a.Line("%s were there already", count(done.Skipped, "entry"))
				}
				a.Line("verified: %s read back and compared", count(done.Verified, "thread"))
				a.next("posthouse verify --store %s", quoted(address.Redacted(args[1])))
			}), err)
		},
	}
	a.weakFlag(cmd)
	return cmd
}

func (a *app) copyStore(ctx context.Context, from, to string) (*transfer.StoreCopied, error) {
	src, err := a.openURL(ctx, from, &local.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	dst, err := a.openURL(ctx, to, &local.Options{AllowWeak: a.allowWeak})
	if err != nil {
		return nil, errors.Join(host.Hinted(err, posthouse.CodeLocked, stopFirst), src.Close())
	}
	p := a.Progress(time.Now)
	done, err := transfer.CopyStore(ctx, src, dst, &transfer.CopyStoreOptions{Progress: func(c *transfer.StoreCopied) {
		p.Update("copied and verified: threads %d, entries %d, %s", c.Verified, c.Entries, size(c.Bytes))
	}})
	p.Done()
	return done, errors.Join(err, dst.Close(), src.Close())
}

func (a *app) storeCheck() *cobra.Command {
	var only string
	var long bool
	cmd := &cobra.Command{
		Use:   "check URL",
		Short: "Run the conformance suite against a server of yours, and report what it makes durable",
		Long: `Run the conformance suite against a server, or a disk, of yours, and report what
it makes durable.

Every case has a namespace of its own, which is dropped at its end: a schema of a
database, a prefix of a server, a directory beside a file. Threads that are there
are never opened. The report names each broken rule (exit code 1), the settings by
which acknowledged writes would be lost (exit code 8), and what a durable write
costs. It takes a minute or two; --long repeats races and random histories 1,000
times, for hours.

NATS servers do not tell their clients whether they sync each write, so for
nats://HOST the exit code is 8 even where they do: look for sync_interval: always in
their configuration. A server in the process, nats:DIR, syncs each write.`,
		Example: `  posthouse store check postgres://posthouse@db.example.com/posthouse
  posthouse store check file:/mnt/disk/posthouse --only append/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := a.checkStore(cmd.Context(), args[0], only, long)
			if err != nil {
				return err
			}
			if err := a.answer(report, func() { a.showChecked(report) }); err != nil {
				return err
			}
			switch {
			case len(report.Failed) > 0:
				return &exitError{posthouse.ExitFailure}
			case len(report.Durability.Weak) > 0:
				return &exitError{posthouse.ExitCorrupt}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&only, "only", "", "run the cases whose name contains this")
	cmd.Flags().BoolVar(&long, "long", false, "repeat races and random histories 1,000 times")
	return cmd
}

func (a *app) checkStore(ctx context.Context, url, only string, long bool) (*conform.Report, error) {
	p := a.Progress(time.Now)
	defer p.Done()
	return conform.Run(ctx, &conform.Options{
		URL: url, Only: only, Long: long,
		Open: func(ctx context.Context, url string) (posthouse.Store, error) {
			return a.openURL(ctx, url, &local.Options{AllowWeak: true}) // the report says what is weak
		},
		Again: func(ctx context.Context) *exec.Cmd {
			exe, err := os.Executable()
			return &exec.Cmd{Path: exe, Args: []string{exe, "store", "check", url}, Err: err}
		},
		Progress: func(done, of int, name string) { p.Update("%d of %d cases, %s", done, of, name) },
	})
}

func (a *app) showChecked(r *conform.Report) {
	a.Line("%s: %d of %s hold, %d do not apply", r.Store, r.Passed, count(r.Passed+len(r.Failed), "rule"), len(r.Skipped))
	for _, c := range r.Failed {
		a.Line("")
		a.Line("%s %s", a.Paint(term.Bad, "broken:"), c.Name)
		a.Line("%s", c.Log)
	}
	d := &r.Durability
	a.Line("")
	switch {
	case !d.Kept:
		a.Line("durable     no: the store ends with its process")
	case len(d.Weak) == 0 && d.Killed:
		a.Line("durable     yes, by its settings; a killed process lost nothing")
	case len(d.Weak) == 0:
		a.Line("durable     yes, by its settings; no process was killed")
	}
	for _, why := range d.Weak {
		a.Line("durable     %s %s", a.Paint(term.Bad, "no:"), why)
	}
	pace := func(who string, p conform.Pace) {
		a.Line("%-11s %.0f writes/s of 1 KB, half within %.2f ms, 99 of 100 within %.2f ms", who, p.PerSecond, p.Median.Seconds()*1e3, p.P99.Seconds()*1e3)
	}
	pace("one writer", d.One)
	pace("32 writers", d.Many)
	for _, left := range r.LeftBehind {
		a.Note("left behind: %s", left)
	}
}
