package stores

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
)

// A verifying is the flags of verify.
type verifying struct {
	store                StoreFlag
	thread, witness, key string
	allowUnsigned        bool
	requireGrants        bool
}

// Verify returns the command verify.
func Verify(e *env.Env) *cobra.Command {
	var v verifying
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove the store: every hash, chain and signature, offline",
		Long: `Prove the store: every hash, chain and signature, offline.

It reads the data directory, not the server, changes nothing, and may run beside
one. It needs the public key only. Each thread is walked from its first entry to
its last: hashes of entries and bodies, the chain, signatures, whether records
agree, whether summaries and index agree with the log. With --witness it also
finds a store that was put back to an older state.

What a server signs (questions, decisions, removals, ends of runs, and something
in each second of work) must be covered by a valid signature, and there must be
public keys to check them with. A program that writes without a key is verified
with --allow-unsigned: then anybody who can write to the store can rewrite it.

It counts what acted on the world under somebody's approval (gate.Act), and lists
steps and nodes of class external that nobody approved; with --require-grants those
are faults. An effect that names a gate which does not license it (undecided,
refused, used up, of another branch or thread) always is.

Exit code 8 if anything is wrong; each fault names thread, entry and record.`,
		Example: `  posthouse verify
  posthouse verify --data-dir /backup/posthouse --witness /safe/head.json
  posthouse verify --thread order-1234 --key public.pem --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return verify(cmd.Context(), e, &v) },
	}
	f := cmd.Flags()
	v.store.Add(e, cmd)
	f.StringVar(&v.thread, "thread", "", "only this thread")
	f.StringVar(&v.witness, "witness", "", "a head seen before, made by posthouse witness")
	f.StringVar(&v.key, "key", "", "file with the public keys (default: signing.key.pub in the data directory)")
	f.BoolVar(&v.allowUnsigned, "allow-unsigned", false, "what no signature covers is no fault: for stores that are written without a signing key")
	f.BoolVar(&v.requireGrants, "require-grants", false, "an effect on the world that nobody approved is a fault")
	return cmd
}

func verify(ctx context.Context, e *env.Env, v *verifying) error {
	report, err := withStore(ctx, v.store.toRead, func(store posthouse.Store, dir datadir.Dir) (*sign.Report, error) {
		return v.run(ctx, &e.Term, store, dir.Key()+sign.PublicSuffix)
	})
	if err != nil {
		return err
	}
	err = e.Answer(report, func() {
		showReport(&e.Term, report)
		if !report.OK() && report.Covered == 0 && len(report.Keys) == 0 && !v.allowUnsigned {
			e.Line("nothing in it is signed: if that is right, pass --allow-unsigned")
		}
	})
	if err == nil && !report.OK() {
		return env.Exit(posthouse.ExitCorrupt)
	}
	return err
}

// Check verifies a store as verify does with --allow-unsigned.
func Check(ctx context.Context, t *term.Term, store posthouse.Store, ringFile string) (*sign.Report, error) {
	v := verifying{allowUnsigned: true}
	return v.run(ctx, t, store, ringFile)
}

// run verifies a store. ringFile has the public keys where --key names no other.
func (v *verifying) run(ctx context.Context, t *term.Term, store posthouse.Store, ringFile string) (*sign.Report, error) {
	if v.key != "" {
		ringFile = v.key
	}
	ring, err := sign.LoadRing(ringFile)
	switch {
	case errors.Is(err, posthouse.ErrNotFound) && v.key == "":
		if v.allowUnsigned {
			t.Note("there is no %s: signatures are counted, not checked", ringFile)
		}
	case err != nil:
		return nil, err
	}
	keys := len(ring.Keys()) > 0
	o := &sign.VerifyOptions{Thread: v.thread, RequireSigned: keys && !v.allowUnsigned, RequireGrants: v.requireGrants}
	if v.witness != "" {
		o.Witness, err = statement.LoadHead(v.witness, ring)
		if err != nil {
			return nil, err
		}
	}
	p := t.Progress(time.Now)
	defer p.Done()
	o.Walked = func(w sign.Verified) {
		p.Update("verified: threads %d, entries %d, %s", w.Threads, w.Entries, term.Size(w.Bytes))
	}
	report, err := sign.Verify(ctx, store, ring, o)
	if err == nil && !keys && !v.allowUnsigned && report.Entries > 0 {
		report.Faults = append(report.Faults, sign.Fault{
			Kind: sign.FaultUnsigned, Record: -1,
			Message: "there are no public keys in " + ringFile + ", so no signature was checked; name them with --key, or pass --allow-unsigned",
		})
	}
	return report, err
}

func showReport(out *term.Term, r *sign.Report) {
	out.Line("checked  %s, %s, %s, %s, %s", term.Count(r.Threads, "thread"), term.Count(r.Entries, "entry"), term.Count(r.Records, "record"),
		term.Count(r.Checkpoints, "checkpoint"), term.Size(r.Bytes))
	if r.Removed > 0 {
		out.Line("removed  %s, as removal records say", term.Count(r.Removed, "body"))
	}
	out.Line("signed   %d of %s covered by a valid signature", r.Covered, term.Count(r.Entries, "entry"))
	if r.Uncovered > 0 {
		out.Line("         %d not: since the last valid signature of their thread, or in %s without one", r.Uncovered, term.Count(r.Unsigned, "thread"))
	}
	for _, k := range r.Keys {
		note := ""
		if !k.Known {
			note = ", not among the public keys"
		}
		out.Line("key      %s: %d of %s valid%s", k.ID, k.Valid, term.Count(k.Signatures, "signature"), note)
	}
	if r.Witnessed > 0 {
		out.Line("witness  %s checked against it", term.Count(r.Witnessed, "thread"))
	}
	showUngranted(out, r)
	if r.OK() {
		out.Line("%s", out.Paint(term.Good, "ok"))
		return
	}
	for _, f := range r.Faults {
		out.Line("%s %s", out.Paint(term.Bad, "FAULT"), f.String())
	}
	out.Line("%s", out.Paint(term.Bad, term.Count(len(r.Faults), "fault")))
}

// maxListed is how many effects without a grant a person is shown.
const maxListed = 20

// showUngranted says how many effects were approved, and lists those that were not.
func showUngranted(out *term.Term, r *sign.Report) {
	without := len(r.Ungranted) + r.UngrantedMore
	if r.Granted+without == 0 {
		return
	}
	out.Line("effects  %d under a grant%s, %d of class external without one", r.Granted, moreOfEffects(r), without)
	for i, f := range r.Ungranted {
		if i == maxListed {
			out.Line("         and %s more (--json lists them)", term.Number(without-maxListed))
			return
		}
		out.Line("         %s", term.Visible(strings.TrimPrefix(f.String(), string(f.Kind)+": ")))
	}
}

// moreOfEffects says which of the effects under a grant workers had, and which are unknown.
func moreOfEffects(r *sign.Report) string {
	var parts []string
	if r.AtWorkers > 0 {
		parts = append(parts, term.Number(r.AtWorkers)+" at workers in "+term.Count(r.Attempts, "attempt"))
	}
	if r.Unknown > 0 {
		parts = append(parts, term.Number(r.Unknown)+" with an unknown outcome")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
