package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
)

// A verifying is the flags of verify.
type verifying struct {
	store, thread, witness, key string
	allowUnsigned               bool
	requireGrants               bool
}

func (a *app) verifyCmd() *cobra.Command {
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
		RunE: func(cmd *cobra.Command, _ []string) error { return a.verify(cmd.Context(), &v) },
	}
	f := cmd.Flags()
	a.storeFlag(cmd, &v.store)
	f.StringVar(&v.thread, "thread", "", "only this thread")
	f.StringVar(&v.witness, "witness", "", "a head seen before, made by posthouse witness")
	f.StringVar(&v.key, "key", "", "file with the public keys (default: signing.key.pub in the data directory)")
	f.BoolVar(&v.allowUnsigned, "allow-unsigned", false, "what no signature covers is no fault: for stores that are written without a signing key")
	f.BoolVar(&v.requireGrants, "require-grants", false, "an effect on the world that nobody approved is a fault")
	return cmd
}

func (a *app) verify(ctx context.Context, v *verifying) error {
	report, err := withStore(ctx, v.store, a.openToRead, func(store posthouse.Store, dir datadir.Dir) (*sign.Report, error) {
		return a.runVerify(ctx, store, dir.Key()+sign.PublicSuffix, v)
	})
	if err != nil {
		return err
	}
	err = a.answer(report, func() {
		a.showReport(report)
		if !report.OK() && report.Covered == 0 && len(report.Keys) == 0 && !v.allowUnsigned {
			a.Line("nothing in it is signed: if that is right, pass --allow-unsigned")
		}
	})
	if err == nil && !report.OK() {
		return &exitError{posthouse.ExitCorrupt}
	}
	return err
}

func (a *app) runVerify(ctx context.Context, store posthouse.Store, ringFile string, v *verifying) (*sign.Report, error) {
	if v.key != "" {
		ringFile = v.key
	}
	ring, err := sign.LoadRing(ringFile)
	switch {
	case errors.Is(err, posthouse.ErrNotFound) && v.key == "":
		if v.allowUnsigned {
			a.Note("there is no %s: signatures are counted, not checked", ringFile)
		}
	case err != nil:
		return nil, err
	}
	keys := len(ring.Keys()) > 0
	o := &sign.VerifyOptions{Thread: v.thread, RequireSigned: keys && !v.allowUnsigned, RequireGrants: v.requireGrants}
	if v.witness != "" {
		if o.Witness, err = statement.LoadHead(v.witness, ring); err != nil {
			return nil, err
		}
	}
	p := a.Progress(time.Now)
	defer p.Done()
	o.Walked = func(w sign.Verified) {
		p.Update("verified: threads %d, entries %d, %s", w.Threads, w.Entries, size(w.Bytes))
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

func (a *app) showReport(r *sign.Report) {
	a.Line("checked  %s, %s, %s, %s, %s", count(r.Threads, "thread"), count(r.Entries, "entry"), count(r.Records, "record"),
		count(r.Checkpoints, "checkpoint"), size(r.Bytes))
	if r.Removed > 0 {
		a.Line("removed  %s, as removal records say", count(r.Removed, "body"))
	}
	a.Line("signed   %d of %s covered by a valid signature", r.Covered, count(r.Entries, "entry"))
	if r.Uncovered > 0 {
		a.Line("         %d not yet: since a thread's last signature, or in %s without one", r.Uncovered, count(r.Unsigned, "thread"))
	}
	for _, k := range r.Keys {
		note := ""
		if !k.Known {
			note = ", not among the public keys"
		}
		a.Line("key      %s: %d of %s valid%s", k.ID, k.Valid, count(k.Signatures, "signature"), note)
	}
	if r.Witnessed > 0 {
		a.Line("witness  %s checked against it", count(r.Witnessed, "thread"))
	}
	a.showUngranted(r)
	if r.OK() {
		a.Line("%s", a.Paint(term.Good, "ok"))
		return
	}
	for _, f := range r.Faults {
		a.Line("%s %s", a.Paint(term.Bad, "FAULT"), f.String())
	}
	a.Line("%s", a.Paint(term.Bad, count(len(r.Faults), "fault")))
}

// maxListed is how many effects without a grant a person is shown.
const maxListed = 20

// showUngranted says how many effects somebody approved, and which nobody did.
func (a *app) showUngranted(r *sign.Report) {
	without := len(r.Ungranted) + r.UngrantedMore
	if r.Granted+without == 0 {
		return
	}
	a.Line("effects  %d under a grant%s, %d of class external without one", r.Granted, moreOfEffects(r), without)
	for i, f := range r.Ungranted {
		if i == maxListed {
			a.Line("         and %s more (--json lists them)", number(without-maxListed))
			return
		}
		a.Line("         %s", term.Visible(strings.TrimPrefix(f.String(), string(f.Kind)+": ")))
	}
}

// moreOfEffects says which of the effects under a grant workers had, and which are unknown.
func moreOfEffects(r *sign.Report) string {
	var parts []string
	if r.AtWorkers > 0 {
		parts = append(parts, number(r.AtWorkers)+" at workers in "+count(r.Attempts, "attempt"))
	}
	if r.Unknown > 0 {
		parts = append(parts, number(r.Unknown)+" with an unknown outcome")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// count returns a number with its noun, in the plural unless it is 1.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if l := len(noun) - 1; noun[l] == 'y' && noun[l-1] != 'e' {
		noun = noun[:l] + "ie"
	}
	return number(n) + " " + noun + "s"
}

func (a *app) witnessCmd() *cobra.Command {
	var url string
	cmd := &cobra.Command{
		Use:   "witness FILE",
		Short: "Sign where every thread ends, to be kept elsewhere",
		Long: `Sign where every thread ends, to be kept elsewhere.

A log that was cut short, or a store put back to an old copy, is consistent in
itself. Handed to verify later, this file finds both. Keep it on another machine.`,
		Example: `  posthouse witness /safe/head.json
  posthouse verify --witness /safe/head.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			head, err := withStore(cmd.Context(), url, a.openToRead, func(store posthouse.Store, dir datadir.Dir) (*sign.Head, error) {
				return witness(cmd.Context(), store, dir.Key(), args[0])
			})
			if err != nil {
				return err
			}
			return a.answer(map[string]any{"file": args[0], "at": head.At, "threads": len(head.Threads)}, func() { a.Line("%s: %s as of %s", args[0], count(len(head.Threads), "thread"), tree.Time(head.At)) })
		},
	}
	a.storeFlag(cmd, &url)
	return cmd
}

func witness(ctx context.Context, store posthouse.Store, keyFile, file string) (*sign.Head, error) {
	key, err := sign.Load(keyFile)
	if err != nil {
		return nil, err
	}
	head, err := statement.Witness(ctx, store, key, nil)
	if err != nil {
		return nil, err
	}
	return head, statement.SaveHead(file, head)
}
