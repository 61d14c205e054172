package stores

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/term"
)

// Compact returns the command compact.
func Compact(e *env.Env) *cobra.Command {
	var store StoreFlag
	var dry bool
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Rewrite the store into fewer bytes; no record changes",
		Long: `Rewrite the store into fewer bytes.

Bodies are compressed together; sequence numbers, hashes, headers and signatures
stay what they are. Being stopped at any point loses nothing. The server must be
stopped, unless it is a dry run, which compacts a copy in the system's temporary
directory (TMPDIR) and removes that.`,
		Example: `  posthouse compact --dry-run
  posthouse compact`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dry {
				return wouldCompact(cmd.Context(), e, &store)
			}
			done, err := withStore(cmd.Context(), store.toChange, func(s posthouse.Store, _ datadir.Dir) (posthouse.Compacted, error) {
				return compact(cmd.Context(), &e.Term, s)
			})
			if err != nil {
				return err
			}
			return e.Answer(done, func() {
				e.Line("%s before, %s after; rewrote %s", term.Size(done.Before), term.Size(done.After), term.Count(done.Bodies, "body"))
			})
		},
	}
	store.Add(e, cmd)
	env.DryRunFlag(cmd, &dry)
	return cmd
}

func compact(ctx context.Context, t *term.Term, store posthouse.Store) (done posthouse.Compacted, err error) {
	c, ok := store.(posthouse.Compacter)
	if !ok {
		return done, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this store does not compact"}
	}
	err = t.During(time.Now, "compacting", func() (err error) {
		done, err = c.Compact(ctx)
		return err
	})
	return done, err
}

// wouldCompact compacts a copy.
func wouldCompact(ctx context.Context, e *env.Env, store *StoreFlag) error {
	dir, err := os.MkdirTemp("", "posthouse-compact-")
	if err != nil {
		return err
	}
	done, err := withStore(ctx, store.toRead, func(from posthouse.Store, _ datadir.Dir) (done posthouse.Compacted, err error) {
		b, ok := from.(posthouse.Backuper)
		if !ok {
			return done, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this store does not copy itself, so that a dry run has nothing to try", Hint: "leave --dry-run out: no record changes"}
		}
		path := filepath.Join(dir, "copy")
		if err := e.During(time.Now, "copying", func() error { return b.Backup(ctx, path) }); err != nil {
			return done, err
		}
		tried, err := e.Open(ctx, store.scheme()+":"+path, nil)
		if err != nil {
			return done, err
		}
		done, err = compact(ctx, &e.Term, tried)
		return done, errors.Join(err, tried.Close())
	})
	err = errors.Join(err, os.RemoveAll(dir))
	if err != nil {
		return err
	}
	return e.Answer(map[string]any{"dryRun": true, "before": done.Before, "after": done.After, "bodies": done.Bodies}, func() {
		e.Line("%s now, %s after; would rewrite %s", term.Size(done.Before), term.Size(done.After), term.Count(done.Bodies, "body"))
		e.Line("nothing was rewritten: leave --dry-run out")
	})
}
