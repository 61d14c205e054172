package stores

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/sign"
)

// Retain returns the command retain.
func Retain(e *env.Env) *cobra.Command {
	var r RetentionFlags
	var store StoreFlag
	var dry, allowUnsigned bool
	cmd := &cobra.Command{
		Use:   "retain",
		Short: "Remove old checkpoints by a policy, on record",
		Long: `Remove old checkpoints by a policy, on record.

Whatever the policy says, branch heads, open questions, what kept checkpoints are
rebuilt from, what forks were made from, and threads under legal hold stay. A
record attests what goes before it is removed, signed with the data directory's
key (without that key, a store that has signatures is refused); being stopped at
any point loses nothing else. With --dry-run it says what would go, changes
nothing, and may run beside a server; otherwise the server must be stopped, or
does it itself: see posthouse serve --retain-max-age. Run posthouse compact to
give the space back.`,
		Example: `  posthouse retain --max-age 30d --keep-last 50 --dry-run
  posthouse retain --finished 90d --dry-run
  posthouse retain --max-per-thread 1000 --keep-label milestone --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !r.Set() {
				return &posthouse.Error{
					Code: posthouse.CodeInvalid, Field: "retention", Message: "removes nothing",
					Hint: "give --max-age, --max-per-thread, --released, --finished or --slots",
				}
			}
			done, err := applyPolicy(cmd.Context(), &e.Term, &store, r.Policy(), dry, allowUnsigned)
			if done == nil {
				return err
			}
			// The error is about threads that could not be read; the others were.
			return errors.Join(e.Answer(done, func() { showRetained(&e.Term, done) }), err)
		},
	}
	store.Add(e, cmd)
	r.Add(cmd.Flags(), "")
	cmd.Flags().StringVar(&r.policy.Prefix, "prefix", "", "only threads whose names start so")
	cmd.Flags().StringVar(&r.policy.Graph, "graph", "", "only threads of this program")
	cmd.Flags().StringVar(&r.policy.Coordination, "coordination", "", "only threads of this coordination")
	cmd.Flags().BoolVar(&allowUnsigned, "allow-unsigned", false, "write removals that nothing signs where the signing key is not there")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would go, and remove nothing")
	return cmd
}

func showRetained(out *term.Term, r *retain.Report) {
	verb := "removed"
	if r.DryRun {
		verb = "would remove"
	}
	out.Line("%s %s of %s, %s, %s", verb, term.Count(r.Checkpoints, "checkpoint"), term.Count(r.Threads, "thread"), term.Count(r.Versions, "version"), term.Size(r.Bytes))
	if r.Finished > 0 {
		out.Line("of those, %s as a whole, finished:", term.Count(r.Finished, "thread"))
		for _, name := range r.FinishedThreads {
			out.Line("  %s", name)
		}
		if more := r.Finished - len(r.FinishedThreads); more > 0 {
			out.Line("  and %d more", more)
		}
	}
	if r.Slots > 0 {
		out.Line("%s %s of complete tasks", verb, term.Count(r.Slots, "slot"))
	}
	if r.Kept > 0 {
		out.Line("kept: bodies %d that other checkpoints are rebuilt from", r.Kept)
	}
	if r.Held > 0 || r.Busy > 0 {
		out.Line("passed over: %s under legal hold, %s in use", term.Count(r.Held, "thread"), term.Count(r.Busy, "thread"))
	}
}

func applyPolicy(ctx context.Context, t *term.Term, at *StoreFlag, r retain.Policy, dry, allowUnsigned bool) (*retain.Report, error) {
	open := at.toChange
	if dry {
		open = at.toRead
	}
	return withStore(ctx, open, func(store posthouse.Store, dir datadir.Dir) (*retain.Report, error) {
		o := &ledger.Options{}
		var err error
		if !dry {
			o.Signer, err = signer(ctx, store, dir, allowUnsigned)
		}
		if err != nil {
			return nil, err
		}
		led, err := ledger.Open(store, o)
		if err != nil {
			return nil, err
		}
		p := t.Progress(time.Now)
		defer p.Done()
		return retain.Run(ctx, led, r, &retain.Options{DryRun: dry, By: "operator", Progress: func(r *retain.Report) {
			p.Update("looked at %d threads: checkpoints %d, %s", r.Threads, r.Checkpoints, term.Size(r.Bytes))
		}})
	})
}

// signer returns the data directory's signing key, for records that a command writes
// itself. Without the key it is nil if the store has no signatures; otherwise it is an
// error, since verify reports unsigned records of a signed store as faults.
func signer(ctx context.Context, store posthouse.Store, dir datadir.Dir, allowUnsigned bool) (posthouse.Signer, error) {
	key, err := sign.Load(dir.Key())
	switch {
	case err == nil:
		return key, nil
	case !errors.Is(err, posthouse.ErrNotFound):
		return nil, err
	case allowUnsigned:
		return nil, nil
	}
	_, err = sign.LoadRing(dir.Key() + sign.PublicSuffix)
	found := err == nil
	if errors.Is(err, posthouse.ErrNotFound) {
		found, err = signed(ctx, store)
	}
	if err != nil || !found {
		return nil, err
	}
	return nil, &posthouse.Error{
		Code:    posthouse.CodeNotFound,
		Message: "the records of this store are signed, and the signing key is not there: no " + dir.Key(),
		Hint:    "name the data directory that has the key with --data-dir; with --allow-unsigned the removals are written unsigned, which posthouse verify then reports as faults",
	}
}

// signed reports whether the store has signed records. A Ledger with a key signs the
// first entry of each thread.
func signed(ctx context.Context, store posthouse.Store) (bool, error) {
	for info, err := range store.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			return false, err
		}
		for e, err := range store.Read(ctx, info.Thread, posthouse.Range{Limit: 1, Headers: true}) {
			if err != nil || len(e.Sig) > 0 {
				return err == nil, err
			}
		}
	}
	return false, nil
}
