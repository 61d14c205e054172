package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
	"github.com/posthouse/posthouse/app/internal/cli/stores"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/project"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
)

func devCmd(e *env.Env, c *Config) *cobra.Command {
	s := serving{env: e, config: c, dev: true}
	watch, demo := true, false
	short, _, _ := strings.Cut(c.Dev.About, "\n")
	short = strings.TrimSuffix(short, ".")
	cmd := &cobra.Command{
		Use:   "dev",
		Short: short,
		Long: strings.TrimSpace(c.Dev.About) + `

In the directory of a Go program that requires posthouse, as posthouse init makes one, it
builds and serves that program instead, and again after each change of its files. A build that
fails leaves the program from before running. Threads are in the store, and go on.`,
		Example: `  posthouse dev
  posthouse dev --ephemeral --addr 127.0.0.1:0
  posthouse dev --data-dir ./data --store sqlite:./data/other.db`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if demo {
				return s.runDemo(cmd.Context())
			}
			if dir, err := os.Getwd(); err == nil && watch && project.AtHand(dir) {
				return s.rebuild(cmd.Context(), dir)
			}
			return s.run(cmd.Context())
		},
	}
	s.add(cmd)
	if c.Dev.Demo != nil {
		cmd.Flags().BoolVar(&demo, "demo", false, "serve "+c.Dev.Demo.About+" to look at, in a store of its own that goes when the server ends")
	}
	cmd.Flags().BoolVar(&watch, "watch", true, "build and serve the program in this directory, again after each change")
	return cmd
}

// rebuild serves the program in a directory, again after each change.
func (s *serving) rebuild(ctx context.Context, dir string) error {
	e := s.env
	e.Note("serving the program in %s, again after each change", dir)
	loop := project.Loop{Dir: dir, Args: given(s.flags), Out: e.Out, Err: e.Err, Say: e.Note}
	return loop.Run(ctx)
}

// given returns the flags of the command line, as another gets them. Variables are set for the other as well.
func given(flags *pflag.FlagSet) (args []string) {
	flags.Visit(func(f *pflag.Flag) {
		if settings.Of(f).Origin != settings.Flag || f.Name == "watch" {
			return
		}
		values := []string{f.Value.String()}
		switch v := f.Value.(type) {
		case pflag.SliceValue:
			values = v.GetSlice()
		default:
			if strings.HasPrefix(f.Value.Type(), "stringTo") {
				values[0] = strings.Trim(values[0], "[]")
			}
		}
		for _, v := range values {
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	return args
}

// devCheck is how long dev looks for damage before it serves.
const devCheck = 3 * time.Second

// maxToldWaiting bounds how many questions dev counts.
const maxToldWaiting = 100

// tellKept says that the data stays, what waits in it from before, and whether it is
// damaged.
func (s *serving) tellKept(ctx context.Context, h *host.Host, dir datadir.Dir) {
	e := s.env
	if h.StoreURL != "memory:" {
		e.Line("the data stays when this process ends; to begin again without it, delete %s", string(dir))
	}
	waiting := 0
	for _, err := range h.Ledger.Gates(ctx, ledger.GateQuery{Limit: maxToldWaiting}) {
		if err != nil {
			break // the check below says more
		}
		waiting++
	}
	switch {
	case waiting == maxToldWaiting:
		e.Line("%d questions or more wait from before: %s", waiting, e.Named("posthouse inbox"))
	case waiting > 0:
		e.Line("%s from before: %s", term.Count(waiting, "question")+" waiting", e.Named("posthouse inbox"))
	}
	checked, stop := context.WithTimeout(ctx, devCheck)
	defer stop()
	began := h.Ledger.Now()
	report, err := stores.Check(checked, &e.Term, h.Ledger.Store(), dir.Key()+sign.PublicSuffix)
	note := func(why string) { h.Server.NoteVerification(ctx, "the start of the server", began, report, why) }
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		report = nil
		note("the store is larger than what is checked at a start: verify it now")
		e.Line("the store is larger than what is checked at a start; to check it: %s", e.Named("posthouse verify"))
	case err != nil:
		e.Line("warning: the store cannot be checked: %s", err.Error())
	default:
		note("")
		if !report.OK() {
			e.Line("warning: the store is damaged, faults %d; what they are: %s", len(report.Faults), e.Named("posthouse verify"))
		}
	}
}
