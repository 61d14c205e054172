package stores

import (
	"cmp"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/address"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/transfer"
)

// ThreadImport returns the command import of thread, which opens the store itself.
func ThreadImport(e *env.Env) *cobra.Command {
	var store StoreFlag
	var thread, key, by string
	var unverified, dry bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Put a thread from a file into the store, as it was",
		Long: `Put a thread from a file into the store, as it was.

The file is checked whole before anything is written. The thread keeps its name,
ids, hashes and signatures, and all of them must be of keys that are known: those
of the data directory, or of where it came from, given by --key. With --unverified
they need not be; then no branch runs before somebody resumes it. A thread or an id that is there already is
refused. Approvals that may still be used end, and are listed: the store that the thread comes from has
them, too. The server must be stopped, unless it is a dry run, which checks the same and writes nothing.`,
		Example: `  posthouse thread import order-1234.thread --dry-run
  posthouse thread import order-1234.thread
  posthouse verify --thread order-1234`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "file", Message: "cannot be read", Err: err}
			}
			o := &transfer.ImportOptions{Thread: thread, Unverified: unverified, By: by, DryRun: dry}
			if !unverified {
				o.Check, err = importCheck(e, key)
			}
			open := store.toWrite
			if dry {
				open = store.toTry
			}
			var done *transfer.ThreadFile
			if err == nil {
				done, err = withStore(cmd.Context(), open, func(s posthouse.Store, dir datadir.Dir) (*transfer.ThreadFile, error) {
					lo, err := ownOptions(cmd.Context(), s, dir, true)
					if err != nil {
						return nil, err
					}
					led, err := ledger.Open(s, lo)
					if err != nil {
						return nil, err
					}
					done, err := transfer.Import(cmd.Context(), led, f, o)
					return done, errors.Join(err, led.Close())
				})
			}
			err = errors.Join(err, f.Close())
			if err != nil {
				return err
			}
			if dry {
				return wouldImport(e, done, args[0])
			}
			err = transferred(e, done, args[0])
			in := ""
			if store.URL != "" {
				in = " --store " + env.Quoted(address.Redacted(store.URL))
			}
			e.Next("posthouse verify --thread %s%s", done.Thread, in)
			return err
		},
	}
	store.Add(e, cmd)
	env.DryRunFlag(cmd, &dry)
	cmd.Flags().StringVar(&thread, "thread", "", "refuse the file unless it holds this thread")
	cmd.Flags().StringVar(&key, "key", "", "file with the public keys to check it with (default: those of the data directory)")
	cmd.Flags().BoolVar(&unverified, "unverified", false, "import it with any signatures or none, and interrupt what would run")
	cmd.Flags().StringVar(&by, "by", "operator", "who imports it; goes on record. With --unverified they cannot approve what it asks")
	return cmd
}

// wouldImport says what an import would write.
func wouldImport(e *env.Env, t *transfer.ThreadFile, file string) error {
	return e.Answer(map[string]any{
		"dryRun": true, "thread": t.Thread, "entries": t.Entries, "checkpoints": t.Checkpoints, "slots": t.Slots, "bytes": t.Bytes,
	}, func() {
		e.Line("%s would be imported: thread %s, %s, %s, %s", file, t.Thread, term.Count(t.Entries, "entry"), term.Count(t.Slots, "slot"), term.Size(t.Bytes))
		e.Line("nothing was written: leave --dry-run out")
	})
}

// importCheck checks signatures against the given ring, or the data directory's.
func importCheck(e *env.Env, key string) (func(*posthouse.Entry) error, error) {
	dir, err := e.Dir()
	if err != nil {
		return nil, err
	}
	ring, err := sign.LoadRing(cmp.Or(key, dir.Key()+sign.PublicSuffix))
	if errors.Is(err, posthouse.ErrNotFound) && key == "" {
		ring, err = nil, nil
	}
	return ring.ImportCheck(), host.Hinted(err, posthouse.CodeNotFound, "give the file of public keys of where the thread comes from")
}
