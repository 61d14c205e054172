package stores

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/ends"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/crypt/keyfile"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/transfer"
)

func storeAcceptRollback(e *env.Env) *cobra.Command {
	var store StoreFlag
	var yes, dry bool
	var by string
	cmd := &cobra.Command{
		Use:   "accept-rollback",
		Short: "Say that the store was put back to an earlier state",
		Long: `Say that the store was put back to an earlier state, as by hand from a backup.

What was done since that state is not on record. So from here on people are asked
before an effect runs under an approval from before: it may have been done. Effects
that happen once for their key continue, and a program's own look (Reconcile) comes
first. Open questions say to which time the store was put back. Who said so, and what
is known to be missing, goes on record. Do it once, with all servers stopped.`,
		Example: `  posthouse store accept-rollback
  posthouse store accept-rollback --store postgres://posthouse@db.example.com/restored --by ann`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := e.Dir()
			if err != nil {
				return err
			}
			have, err := ends.Load(dir.Ends())
			if err != nil {
				return err
			}
			done, err := withStore(cmd.Context(), store.toChange, func(s posthouse.Store, dir datadir.Dir) (*transfer.StorePutBack, error) {
				missing, err := ends.Missing(cmd.Context(), s, have)
				if err != nil {
					return nil, err
				}
				for _, m := range missing {
					if e.Structured() {
						break // the answer has them
					}
					e.Line("missing: thread %s entry %d", m.Thread, m.Seq)
				}
				o := &transfer.PutBackOptions{By: by, Missing: entriesOf(missing), DryRun: dry}
				if dry {
					return putBack(cmd.Context(), s, dir, o)
				}
				if ok, err := e.Confirm(yes, "have people asked before what was approved in this store is done?"); err != nil || !ok {
					return nil, err
				}
				return putBack(cmd.Context(), s, dir, o)
			})
			if err != nil || done == nil {
				return err
			}
			return toldPutBack(e, done, dry)
		},
	}
	store.Add(e, cmd)
	env.YesFlag(cmd, &yes)
	env.DryRunFlag(cmd, &dry)
	cmd.Flags().StringVar(&by, "by", "operator", "who says so; goes on record")
	return cmd
}

func entriesOf(missing []ends.End) (all []transfer.MissingEntry) {
	for _, m := range missing {
		all = append(all, transfer.MissingEntry{Thread: m.Thread, Seq: m.Seq})
	}
	return all
}

// putBack puts on record that a store was put back, and forgets the ends that are lost.
func putBack(ctx context.Context, s posthouse.Store, dir datadir.Dir, o *transfer.PutBackOptions) (*transfer.StorePutBack, error) {
	lo, err := ownOptions(ctx, s, dir, false)
	if err != nil {
		return nil, err
	}
	led, err := ledger.Open(s, lo)
	if err != nil {
		return nil, err
	}
	done, err := transfer.PutBack(ctx, led, o)
	err = errors.Join(err, led.Close())
	if err != nil || o.DryRun {
		return done, err
	}
	_, err = ends.Open(dir.Ends(), nil, nil)
	return done, err
}

// ownOptions are those of a Ledger by which a command writes records itself, with the data directory's
// keys.
func ownOptions(ctx context.Context, s posthouse.Store, dir datadir.Dir, allowUnsigned bool) (*ledger.Options, error) {
	key, err := signer(ctx, s, dir, allowUnsigned)
	if err != nil {
		return nil, err
	}
	o := &ledger.Options{Signer: key}
	keys, err := keyfile.Load(host.KeysPath("", dir))
	if errors.Is(err, posthouse.ErrNotFound) {
		return o, nil
	}
	if err != nil {
		return nil, err
	}
	ring, err := keys.Keyring()
	if err != nil {
		return nil, err
	}
	o.Cipher = ring
	return o, nil
}

func toldPutBack(e *env.Env, p *transfer.StorePutBack, dry bool) error {
	return e.Answer(p, func() {
		if dry {
			e.Line("it goes back to %s: %s would be marked, %s would be asked about", p.To.UTC().Format(time.RFC3339), term.Count(p.Threads, "thread"), term.Count(p.Approvals, "approval"))
			e.Line("nothing was written: leave --dry-run out")
			return
		}
		e.Line("put back to %s: %s marked, %s to be asked about", p.To.UTC().Format(time.RFC3339), term.Count(p.Threads, "thread"), term.Count(p.Approvals, "approval"))
		e.Next("posthouse verify")
	})
}
