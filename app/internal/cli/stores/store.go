package stores

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/address"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/transfer"
)

// Store returns the command store, with those below it.
func Store(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use:   "store",
		Short: "Copy a store, check a server before you trust it, or accept one that was put back",
		Example: `  posthouse store check postgres://posthouse@db.example.com/posthouse
  posthouse store copy sqlite:posthouse.db postgres://posthouse@db.example.com/posthouse`,
	}, storeCheck(e), storeCopy(e), storeAcceptRollback(e))
}

func storeCopy(e *env.Env) *cobra.Command {
	var allowWeak, dry bool
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
same; so a copy of a backup takes what came after it from the store that was damaged.

With --dry-run it reads FROM as a copy does, and says what TO lacks: TO may be in use, or
not be there yet.`,
		Example: `  posthouse store copy sqlite:posthouse.db sqlite:/new/posthouse.db --dry-run
  posthouse store copy sqlite:posthouse.db sqlite:/new/posthouse.db
  posthouse store copy file:/var/lib/posthouse/log postgres://posthouse@db.example.com/posthouse`,
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := copyStore(cmd.Context(), e, args[0], args[1], allowWeak, dry)
			if done == nil || err != nil && !errors.Is(err, posthouse.ErrCorrupt) && !errors.Is(err, posthouse.ErrConflict) {
				return err
			}
			return errors.Join(e.Answer(done, func() {
				did := "copied"
				if dry {
					did = "would be copied"
				}
				e.Line("%s: %s, %s, %s, %s", did, term.Count(done.Threads, "thread"), term.Count(done.Entries, "entry"), term.Count(done.Slots, "slot"), term.Size(done.Bytes))
				if done.Skipped > 0 {
					e.Line("%s were there already", term.Count(done.Skipped, "entry"))
				}
				if dry {
					e.Line("nothing was written: leave --dry-run out")
					return
				}
				e.Line("verified: %s read back and compared", term.Count(done.Verified, "thread"))
				e.Next("posthouse verify --store %s", env.Quoted(address.Redacted(args[1])))
			}), err)
		},
	}
	weakFlag(cmd, &allowWeak)
	env.DryRunFlag(cmd, &dry)
	return cmd
}

func copyStore(ctx context.Context, e *env.Env, from, to string, allowWeak, dry bool) (*transfer.StoreCopied, error) {
	src, err := e.Open(ctx, from, &local.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	dst, err := e.Open(ctx, to, &local.Options{AllowWeak: allowWeak, ReadOnly: dry})
	if dry && errors.Is(err, posthouse.ErrNotFound) {
		dst, err = e.Open(ctx, "memory:", nil) // it would be made
	}
	if err != nil {
		return nil, errors.Join(host.Hinted(err, posthouse.CodeLocked, stopFirst), src.Close())
	}
	p := e.Progress(time.Now)
	done, err := transfer.CopyStore(ctx, src, dst, &transfer.CopyStoreOptions{DryRun: dry, Progress: func(c *transfer.StoreCopied) {
		p.Update("threads %d, entries %d, %s", c.Threads, c.Entries, term.Size(c.Bytes))
	}})
	p.Done()
	return done, errors.Join(err, dst.Close(), src.Close())
}
