package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/stores"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
)

func devCmd(e *env.Env, c *Config) *cobra.Command {
	s := serving{env: e, config: c, dev: true}
	short, _, _ := strings.Cut(c.Dev.About, "\n")
	short = strings.TrimSuffix(short, ".")
	cmd := &cobra.Command{
		Use:   "dev",
		Short: short,
		Long:  strings.TrimSpace(c.Dev.About),
		Example: `  posthouse dev
  posthouse dev --ephemeral --addr 127.0.0.1:0
  posthouse dev --data-dir ./data --store sqlite:./data/other.db`,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) },
	}
	s.add(cmd)
	return cmd
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
	report, err := stores.Check(checked, &e.Term, h.Ledger.Store(), dir.Key()+sign.PublicSuffix)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Line("the store is larger than what is checked at a start; to check it: %s", e.Named("posthouse verify"))
	case err != nil:
		e.Line("warning: the store cannot be checked: %s", err.Error())
	case !report.OK():
		e.Line("warning: the store is damaged, faults %d; what they are: %s", len(report.Faults), e.Named("posthouse verify"))
	}
}
