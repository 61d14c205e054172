package people

import (
	"context"
	"net/http"
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
	cmd.AddCommand(rebind(e), logins(e), logout(e))
	return cmd
}

func rebind(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "rebind NAME", Short: "Free a name for another account, for operators",
		Long: `Free a name for another account.

The first login with an account elsewhere (--oidc-issuer) binds that account to a name. From
then on no other account gets the name. If a person has another account now, or the first one
was of somebody else, this frees the name: the next account that comes with it gets it.`,
		Example: `  posthouse people rebind ann@example.com`,
		Args:    cobra.ExactArgs(1),
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			var freed struct {
				Name string `json:"name"`
			}
			if err := c.Do(ctx, http.MethodPost, "/api/people/rebind", nil, map[string]string{"name": args[0]}, &freed); err != nil {
				return err
			}
			return e.Answer(&freed, func() {
				e.Line("%s is free: the next account that logs in with this name gets it", term.Visible(freed.Name))
			})
		}),
	}
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
		name := term.Visible(p.Name)
		if p.Mixed {
			name += " (mixes alphabets)"
		}
		rows = append(rows, []string{name, p.Decides, strings.Join(p.Known, ", "), term.Clip(term.Visible(why), 100)})
	}
	e.Table([]string{"NAME", "DECIDES", "KNOWN FROM", "WHY NOT"}, rows)
	env.More(&e.Term, more)
}
