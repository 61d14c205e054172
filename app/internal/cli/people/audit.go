package people

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
)

// mostActs is how many acts are read to sort them by time: the trail is by thread.
const mostActs = 5000

// actKinds are the kinds of acts that the server knows.
var actKinds = []string{
	"question", "decision", "vote", "delegation", "signal", "change", "effect", "task", "release", "removal", "login", "logout", "refusal", "token",
}

// Audit returns the command audit.
func Audit(e *env.Env) *cobra.Command {
	var prefix, by, kind, since, until string
	var asCSV bool
	var limit int
	cmd := &cobra.Command{
		Use: "audit [THREAD]", Short: "List who did what, newest first",
		Long: `List who did what, newest first.

It lists what was asked, decided, delegated, signalled, changed by hand, done to the
world, released and removed, and who logged in, in the words of the pages. SIGNED names
the entry with the signature that covers the line: its own, or a later one of its thread;
"not yet" says that none came after it. posthouse verify checks the signatures.

With --csv it is a table for a spreadsheet, of all that fits, by threads. Its last line
counts the others: without it the file broke off. It needs the role operator.`,
		Example: `  posthouse audit --by alice
  posthouse audit order-1234
  posthouse audit --kind decision --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z
  posthouse audit --csv --since 2026-11-01T00:00:00Z > november.csv`,
		RunE: e.Look(func(ctx context.Context, c *client.Client, args []string) error {
			q := &client.AuditQuery{Prefix: prefix, By: by, Kind: kind}
			if len(args) > 0 {
				q.Thread = args[0]
			}
			for _, t := range []struct {
				flag, given string
				at          *time.Time
			}{{"since", since, &q.Since}, {"until", until, &q.Until}} {
				if t.given == "" {
					continue
				}
				at, err := time.Parse(time.RFC3339, t.given)
				if err != nil {
					return &posthouse.Error{Code: posthouse.CodeInvalid, Field: t.flag, Message: "is not a time", Hint: "as in 2026-12-01T08:00:00Z"}
				}
				*t.at = at
			}
			if asCSV {
				return c.Proof().ExportActs(ctx, q, "csv", e.Out)
			}
			return listActs(ctx, e, c, q, limit)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&prefix, "prefix", "", "only of threads with a name that begins so")
	f.StringVar(&by, "by", "", "only by this person or token")
	f.StringVar(&kind, "kind", "", "only of this kind, such as decision or effect")
	f.StringVar(&since, "since", "", "only from then on, as in 2026-12-01T08:00:00Z")
	f.StringVar(&until, "until", "", "only before then")
	f.BoolVar(&asCSV, "csv", false, "as a table for a spreadsheet")
	env.Choices(cmd, "kind", actKinds)
	e.LimitFlag(cmd, &limit)
	return cmd
}

func listActs(ctx context.Context, e *env.Env, c *client.Client, q *client.AuditQuery, limit int) error {
	var acts []*client.Act
	more := false
	for a, err := range c.Proof().Acts(ctx, q) {
		if err != nil {
			return err
		}
		if limit > 0 && len(acts) == mostActs {
			more = true
			break
		}
		acts = append(acts, a)
	}
	slices.SortStableFunc(acts, func(a, b *client.Act) int { return b.At.Compare(a.At) })
	if limit > 0 && len(acts) > limit {
		acts, more = acts[:limit], true
	}
	return acted.Print(e, acts, more)
}

var acted = env.Table[*client.Act]{
	None: "there is no such act on record",
	Head: []string{"WHEN", "WHO", "DID", "WHAT", "ENTRY", "SIGNED"},
	Row: func(a *client.Act) []string {
		who := cmp.Or(a.By, "(program)")
		if a.Actor != "" && a.Actor != a.By {
			who += " by " + a.Actor
		}
		what := a.What
		if a.Reason != "" {
			what += " (" + a.Reason + ")"
		}
		if a.CopyOf != "" {
			what += " [copied from " + a.CopyOf + "]"
		}
		return []string{
			tree.Time(a.At), term.Visible(who), term.Visible(a.Did), term.Clip(term.Visible(what), 80), term.Visible(a.Thread) + " #" + strconv.FormatUint(a.Seq, 10), signature(a),
		}
	},
	ID: func(a *client.Act) string { return a.Thread + " " + strconv.FormatUint(a.Seq, 10) },
}

// signature says what signature covers an act.
func signature(a *client.Act) string {
	switch a.Coverage {
	case "signed":
		return "signed"
	case "covered":
		return "by #" + strconv.FormatUint(a.CoveredBy, 10)
	case "none":
		return "not yet"
	}
	return "not known"
}
