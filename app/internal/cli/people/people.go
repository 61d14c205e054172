package people

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
)

// People returns the command people.
func People(e *env.Env) *cobra.Command {
	var gate, by, name, prefix string
	var limit int
	cmd := &cobra.Command{
		Use: "people", Short: "List people who decide, or could",
		Long: `List people who decide, or could.

Their names are those of access tokens, of logins, and of those who decided, are asked,
or were named as delegates or substitutes. Where people log in with accounts elsewhere,
there are others. With a gate it says whom you cannot hand that, and why.`,
		Example: `  posthouse people
  posthouse people --gate gate-019a...`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			q := env.Params("gate", gate, "by", by, "name", name, "prefix", prefix)
			all, more, err := env.UpTo[*client.Person](ctx, c, "/api/people", q, limit)
			if err != nil {
				return err
			}
			return e.Answer(all, func() { showPeople(e, all, more) })
		}),
	}
	f := cmd.Flags()
	f.StringVar(&gate, "gate", "", "say of each why you cannot hand them this gate")
	f.StringVar(&by, "by", "", "with --gate: whose right it is, if not the token's owner's (needs the role operator)")
	f.StringVar(&name, "name", "", "this name alone, also if it is not known")
	f.StringVar(&prefix, "prefix", "", "names that start so")
	e.LimitFlag(cmd, &limit)
	return cmd
}

func showPeople(e *env.Env, all []*client.Person, more bool) {
	if len(all) == 0 {
		e.Line("no name is known")
		return
	}
	var rows [][]string
	for _, p := range all {
		why := p.Why
		if p.Barred != "" {
			why = p.Barred
		}
		rows = append(rows, []string{term.Visible(p.Name), p.Decides, strings.Join(p.Known, ", "), term.Clip(term.Visible(why), 100)})
	}
	e.Table([]string{"NAME", "DECIDES", "KNOWN FROM", "WHY NOT"}, rows)
	env.More(&e.Term, more)
}
