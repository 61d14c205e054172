package stores

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/bench"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/scratch"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/store/local"
)

// Bench returns the command bench.
func Bench(e *env.Env) *cobra.Command {
	var o bench.Options
	var encrypt, allowWeak bool
	var url, against string
	names, about := bench.Names()
	var list strings.Builder
	for i, n := range names {
		list.WriteString("  " + n + strings.Repeat(" ", max(10-len(n), 1)) + about[i] + "\n")
	}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine, each workload beside a raw baseline",
		Long: `Measure this machine, each workload beside a raw baseline.

The baseline writes one row a step through the same driver with the same
settings, and nothing else; workloads that say against what are compared with
that. Rounds of both are interleaved; figures are medians, and the ratio is what
counts. Workloads:

` + list.String() + `
With --store the workloads writer and writers run against a store of yours, in namespaces that are dropped
after each round, beside a bare client of the same server: one row a step, one round
trip, one sync.

With --serve the last four run: the product as it is served, over SQLite on this machine,
and all of its clients in this process. Memory is watched for --duration; ten minutes tell
more than the default does.

CPU, allocations and memory a step are of this process, the baseline's beside them.

With --against, each figure has its value in an earlier run beside it, which --json wrote.
Allocations and memory are counted, not timed: one that grew by more than a tenth is
marked, also on a busy machine.

A figure that misses its limit, or grew, is marked; the exit code is 1 then.`,
		Example: `  posthouse bench
  posthouse bench --only w1,chat --rounds 15
  posthouse bench --store postgres://posthouse@db.example.com/posthouse
  posthouse bench --serve --duration 10m
  posthouse bench --json > bench.json
  posthouse bench --against bench.json`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if encrypt {
				o.Cipher, err = benchKeys()
				if err != nil {
					return err
				}
			}
			if url != "" {
				o.Server = &scratch.Server{URL: url, Open: func(ctx context.Context, url string) (posthouse.Store, error) {
					return e.Open(ctx, url, &local.Options{AllowWeak: allowWeak})
				}}
			}
			return measure(cmd.Context(), e, &o, against)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Only, "only", nil, "these workloads only")
	env.Choices(cmd, "only", names)
	f.IntVar(&o.Rounds, "rounds", 7, "rounds of each")
	f.IntVar(&o.Scale, "scale", 1, "divide the number of steps, for a quick look whose figures mean little")
	f.StringVar(&url, "store", "", "measure this store, beside a bare client of the same server")
	weakFlag(cmd, &allowWeak)
	f.BoolVar(&o.Serve, "serve", false, "measure the product as it is served, with its clients")
	f.DurationVar(&o.Duration, "duration", 30*time.Second, "how long memory is watched, with --serve")
	f.StringVar(&against, "against", "", "compare with this earlier run, a `file` that --json wrote")
	f.StringVar(&o.Dir, "dir", "", "where to make databases (default: the system's temporary directory)")
	f.BoolVar(&encrypt, "encrypt", false, "encrypt what posthouse stores, with a key made for the occasion; limits are those without")
	cmd.MarkFlagsMutuallyExclusive("serve", "store")
	cmd.MarkFlagsMutuallyExclusive("serve", "encrypt")
	return cmd
}

func benchKeys() (posthouse.Cipher, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails, see crypto/rand
	return crypt.NewKeyring(map[string][]byte{"bench": key}, "bench")
}

// earlierRun reads the figures in a file.
func earlierRun(path string) ([]bench.Figure, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "against", Message: "cannot be read: " + err.Error(), Hint: "write a run with bench --json > FILE", Err: err}
	}
	defer func() { _ = f.Close() }()
	return bench.ReadFigures(f)
}

// measure runs the workloads and prints their figures, beside those in the file against if
// one is named.
func measure(ctx context.Context, e *env.Env, o *bench.Options, against string) error {
	var earlier []bench.Figure
	if against != "" {
		var err error
		earlier, err = earlierRun(against)
		if err != nil {
			return err
		}
	}
	o.Progress = func(workload, doing string) { e.Status("%s: %s", workload, doing) }
	figures, err := bench.Run(ctx, o)
	e.Status("")
	if err != nil {
		return err
	}
	bench.Compare(figures, earlier)
	head := []string{"WORKLOAD", "FIGURE", "POSTHOUSE", "BASELINE", "", "VALUE", "LIMIT", ""}
	if against != "" {
		head = slices.Insert(head, 6, "EARLIER", "CHANGE")
	}
	missed := false
	rows := [][]string{}
	for _, f := range figures {
		missed = missed || !f.OK
		row := figureRow(&f)
		if against != "" {
			row = slices.Insert(row, 6, change(&f)...)
		}
		rows = append(rows, row)
	}
	err = e.Answer(figures, func() { e.Table(head, rows) })
	if err == nil && missed {
		return env.Exit(1)
	}
	return err
}

func figureRow(f *bench.Figure) []string {
	limit, mark := "", ""
	if f.Limit != 0 {
		limit = "≤ " + float(f.Limit)
		if f.AtLeast {
			limit = "≥ " + float(f.Limit)
		}
		mark = "ok"
	}
	switch {
	case !f.OK && f.Limit != 0:
		mark = "missed"
	case !f.OK:
		mark = "grew"
	}
	base := ""
	if f.Baseline != 0 {
		base = float(f.Baseline)
	}
	return []string{f.Workload, f.Name, float(f.Ours), base, f.Unit, float(f.Value), limit, term.Visible(mark)}
}

// change returns a figure's value in the earlier run and how far it is from that.
func change(f *bench.Figure) []string {
	if f.Earlier == nil {
		return []string{"", ""}
	}
	by := ""
	if *f.Earlier != 0 {
		by = fmt.Sprintf("%+.0f %%", 100*(f.Value / *f.Earlier - 1))
	}
	return []string{float(*f.Earlier), by}
}

// float formats a number with the digits that matter.
func float(v float64) string {
	switch {
	case v >= 1000:
		return term.Number(int(v + 0.5))
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
