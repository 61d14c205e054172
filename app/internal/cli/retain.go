package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/sign"
)

// A span is a duration flag that also knows days and weeks.
type span time.Duration

func (s *span) String() string {
	if *s == 0 {
		return "" // none, which help need not name
	}
	return time.Duration(*s).String()
}

func (*span) Type() string { return "duration" }

func (s *span) Set(v string) error { return (*server.Span)(s).UnmarshalText([]byte(v)) }

// A retention is the flags of a policy.
type retention struct {
	maxAge, released, finished, slots span
	labels                            []string
	retain.Policy
}

// flags adds a policy's flags, each behind a prefix.
func (r *retention) flags(f *pflag.FlagSet, prefix string) {
	f.Var(&r.maxAge, prefix+"max-age", "remove checkpoints older than this, as in 30d, 2w or 12h")
	f.IntVar(&r.MaxPerThread, prefix+"max-per-thread", 0, "remove the oldest checkpoints of a thread beyond this number")
	f.Var(&r.released, prefix+"released", "remove versions released longer ago than this")
	f.Var(&r.finished, prefix+"finished", "remove whole threads that ended, with the slots of their tasks, and did not move for longer than this")
	f.Var(&r.slots, prefix+"slots", "remove, in threads that stay, what handlers saved for tasks that have been complete for longer than this")
	f.IntVar(&r.KeepLast, prefix+"keep-last", 0, "keep the newest so many checkpoints of each branch")
	f.StringSliceVar(&r.KeepBranches, prefix+"keep-branch", nil, "keep the checkpoints of this branch; may be repeated")
	f.StringSliceVar(&r.labels, prefix+"keep-label", nil, "keep checkpoints with this label, NAME or NAME=VALUE; may be repeated")
	f.IntVar(&r.KeepVersions, prefix+"keep-versions", 0, "keep the newest so many released versions of each thread")
	f.StringSliceVar(&r.KeepTags, prefix+"keep-tag", nil, "keep released versions with this tag; may be repeated")
	f.BoolVar(&r.DropSources, prefix+"drop-sources", false, "also remove what a fork was made from")
}

func (r *retention) policy() retain.Policy {
	p := r.Policy
	p.MaxAge, p.Released, p.Finished, p.Slots = time.Duration(r.maxAge), time.Duration(r.released), time.Duration(r.finished), time.Duration(r.slots)
	for _, l := range r.labels {
		if p.KeepLabels == nil {
			p.KeepLabels = map[string]string{}
		}
		name, value, _ := strings.Cut(l, "=")
		p.KeepLabels[name] = value
	}
	return p
}

func (r *retention) set() bool {
	p := r.policy()
	return p.LetsGo()
}

func (a *app) retainCmd() *cobra.Command {
	var r retention
	var url string
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
			if !r.set() {
				return &posthouse.Error{
					Code: posthouse.CodeInvalid, Field: "retention", Message: "removes nothing",
					Hint: "give --max-age, --max-per-thread, --released, --finished or --slots",
				}
			}
			done, err := a.retain(cmd.Context(), url, r.policy(), dry, allowUnsigned)
			if done == nil {
				return err
			}
			// The error is about threads that could not be read; the others were.
			return errors.Join(a.answer(done, func() { a.showRetained(done) }), err)
		},
	}
	a.storeFlag(cmd, &url)
	r.flags(cmd.Flags(), "")
	cmd.Flags().StringVar(&r.Prefix, "prefix", "", "only threads whose names start so")
	cmd.Flags().StringVar(&r.Graph, "graph", "", "only threads of this program")
	cmd.Flags().StringVar(&r.Coordination, "coordination", "", "only threads of this coordination")
	cmd.Flags().BoolVar(&allowUnsigned, "allow-unsigned", false, "write removals that nothing signs where the signing key is not there")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would go, and remove nothing")
	return cmd
}

func (a *app) showRetained(r *retain.Report) {
	verb := "removed"
	if r.DryRun {
		verb = "would remove"
	}
	a.Line("%s %s of %s, %s, %s", verb, count(r.Checkpoints, "checkpoint"), count(r.Threads, "thread"), count(r.Versions, "version"), size(r.Bytes))
	if r.Finished > 0 {
		a.Line("of those, %s as a whole, finished:", count(r.Finished, "thread"))
		for _, name := range r.FinishedThreads {
			a.Line("  %s", name)
		}
		if more := r.Finished - len(r.FinishedThreads); more > 0 {
			a.Line("  and %d more", more)
		}
	}
	if r.Slots > 0 {
		a.Line("%s %s of complete tasks", verb, count(r.Slots, "slot"))
	}
	if r.Kept > 0 {
		a.Line("kept: bodies %d that other checkpoints are rebuilt from", r.Kept)
	}
	if r.Held > 0 || r.Busy > 0 {
		a.Line("passed over: %s under legal hold, %s in use", count(r.Held, "thread"), count(r.Busy, "thread"))
	}
}

func (a *app) retain(ctx context.Context, url string, r retain.Policy, dry, allowUnsigned bool) (*retain.Report, error) {
	open := a.openExisting
	if dry {
		open = a.openToRead
	}
	return withStore(ctx, url, open, func(store posthouse.Store, dir datadir.Dir) (*retain.Report, error) {
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
		p := a.Progress(time.Now)
		defer p.Done()
		return retain.Run(ctx, led, r, &retain.Options{DryRun: dry, By: "operator", Progress: func(r *retain.Report) {
			p.Update("looked at %d threads: checkpoints %d, %s", r.Threads, r.Checkpoints, size(r.Bytes))
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
