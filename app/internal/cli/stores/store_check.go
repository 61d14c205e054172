package stores

import (
	"context"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/conform"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/store/local"
)

func storeCheck(e *env.Env) *cobra.Command {
	var only string
	var long bool
	cmd := &cobra.Command{
		Use:   "check URL",
		Short: "Run the conformance suite against a server of yours, and report what it makes durable",
		Long: `Run the conformance suite against a server, or a disk, of yours, and report what
it makes durable.

Every case has a namespace of its own, which is dropped at its end: a schema of a
database, a prefix of a server, a directory beside a file. Threads that are there
are never opened. The report names each broken rule (exit code 1), the settings by
which acknowledged writes would be lost (exit code 8), and what a durable write
costs. It takes a minute or two; --long repeats races and random histories 1,000
times, for hours. That heads are linearizable is the one rule it does not check.
package lineartest does, in a test.

NATS servers do not tell their clients whether they sync each write, so for
nats://HOST the exit code is 8 even where they do: look for sync_interval: always in
their configuration. A server in the process, nats:DIR, syncs each write.`,
		Example: `  posthouse store check postgres://posthouse@db.example.com/posthouse
  posthouse store check file:/mnt/disk/posthouse --only append/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := checkStore(cmd.Context(), e, args[0], only, long)
			if err != nil {
				return err
			}
			if err := e.Answer(report, func() { showChecked(&e.Term, report) }); err != nil {
				return err
			}
			switch {
			case len(report.Failed) > 0:
				return env.Exit(posthouse.ExitFailure)
			case len(report.Durability.Weak) > 0:
				return env.Exit(posthouse.ExitCorrupt)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&only, "only", "", "run the cases whose name contains this")
	env.Choices(cmd, "only", conform.Groups())
	cmd.Flags().BoolVar(&long, "long", false, "repeat races and random histories 1,000 times")
	return cmd
}

func checkStore(ctx context.Context, e *env.Env, url, only string, long bool) (*conform.Report, error) {
	p := e.Progress(time.Now)
	defer p.Done()
	return conform.Run(ctx, &conform.Options{
		URL: url, Only: only, Long: long,
		Open: func(ctx context.Context, url string) (posthouse.Store, error) {
			return e.Open(ctx, url, &local.Options{AllowWeak: true}) // the report says what is weak
		},
		Again: func(ctx context.Context) *exec.Cmd {
			exe, err := os.Executable()
			return &exec.Cmd{Path: exe, Args: []string{exe, "store", "check", url}, Err: err}
		},
		Progress: func(done, of int, name string) { p.Update("%d of %d cases, %s", done, of, name) },
	})
}

func showChecked(out *term.Term, r *conform.Report) {
	out.Line("%s: %d of %s hold, %d do not apply", r.Store, r.Passed, term.Count(r.Passed+len(r.Failed), "rule"), len(r.Skipped))
	for _, rule := range r.Unchecked {
		out.Line("not checked: %s (package lineartest does, in a test)", rule)
	}
	for _, c := range r.Failed {
		out.Line("")
		out.Line("%s %s", out.Paint(term.Bad, "broken:"), c.Name)
		out.Line("%s", c.Log)
	}
	d := &r.Durability
	out.Line("")
	switch {
	case !d.Kept:
		out.Line("durable     no: the store ends with its process")
	case len(d.Weak) == 0 && d.Killed:
		out.Line("durable     yes, by its settings; a killed process lost nothing")
	case len(d.Weak) == 0:
		out.Line("durable     yes, by its settings; no process was killed")
	}
	for _, why := range d.Weak {
		out.Line("durable     %s %s", out.Paint(term.Bad, "no:"), why)
	}
	pace := func(who string, p conform.Pace) {
		out.Line("%-11s %.0f writes/s of 1 KB, half within %.2f ms, 99 of 100 within %.2f ms", who, p.PerSecond, p.Median.Seconds()*1e3, p.P99.Seconds()*1e3)
	}
	pace("one writer", d.One)
	pace("32 writers", d.Many)
	for _, left := range r.LeftBehind {
		out.Note("left behind: %s", left)
	}
}
