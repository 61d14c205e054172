package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
)

func (a *app) devCmd() *cobra.Command {
	s := serveFlags{dev: true}
	short, _, _ := strings.Cut(a.Dev.About, "\n")
	short = strings.TrimSuffix(short, ".")
	cmd := &cobra.Command{
		Use:   "dev",
		Short: short,
		Long:  strings.TrimSpace(a.Dev.About),
		Example: `  posthouse dev
  posthouse dev --ephemeral --addr 127.0.0.1:0
  posthouse dev --data-dir ./data --store sqlite:./data/other.db`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), &s) },
	}
	a.serveFlags(cmd, &s)
	return cmd
}

// devCheck is how long dev looks for damage before it serves.
const devCheck = 3 * time.Second

// maxToldWaiting bounds how many questions dev counts.
const maxToldWaiting = 100

// tellKept says that the data stays, what waits in it from before, and whether it is
// damaged.
func (a *app) tellKept(ctx context.Context, h *host.Host, dir datadir.Dir) {
	if h.StoreURL != "memory:" {
		a.Line("the data stays when this process ends; to begin again without it, delete %s", string(dir))
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
		a.Line("%d questions or more wait from before: %s", waiting, a.named("posthouse inbox"))
	case waiting > 0:
		a.Line("%s from before: %s", count(waiting, "question")+" waiting", a.named("posthouse inbox"))
	}
	checked, stop := context.WithTimeout(ctx, devCheck)
	defer stop()
	report, err := a.runVerify(checked, h.Ledger.Store(), dir.Key()+sign.PublicSuffix, &verifying{allowUnsigned: true})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		a.Line("the store is larger than what is checked at a start; to check it: %s", a.named("posthouse verify"))
	case err != nil:
		a.Line("warning: the store cannot be checked: %s", err.Error())
	case !report.OK():
		a.Line("warning: the store is damaged, faults %d; what they are: %s", len(report.Faults), a.named("posthouse verify"))
	}
}
