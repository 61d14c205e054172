package stores

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
)

// tokenApproval is the one command below token that asks the server.
func tokenApproval(e *env.Env) *cobra.Command {
	var person, out string
	var verdicts []string
	var until expiry
	cmd := &cobra.Command{
		Use: "approval GATE", Short: "Make a token that decides one gate, once, and opens nothing else",
		Long: `Make a token that decides one gate, once, and opens nothing else: 64 hexadecimal
digits, for a person without access. The decision is recorded as theirs, with the
hash of the token and who made it. It is good until the gate's deadline, at most 7
days, and while the access token is that made it. Another one for the same person
ends the first.

They decide with it in the place of an access token: posthouse approve GATE
--token-file FILE, or POST /api/gates/GATE/decide-by-token.`,
		Example: `  posthouse token approval gate-019a... --for alice
  posthouse token approval gate-019a... --for alice --verdict approve --expires 12h --out alice.token`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			o := &client.ApprovalTokenOptions{For: person, ExpiresAt: until.at(time.Now())}
			for _, v := range verdicts {
				o.Verdicts = append(o.Verdicts, posthouse.Verdict(v))
			}
			var made *client.ApprovalToken
			err := writeSecret(out, func() (_ string, err error) {
				made, err = client.CreateApprovalToken(ctx, c, posthouse.ID(args[0]), o)
				return made.Token, err
			}, func() error { return nil }) // it ends by itself
			if err != nil {
				return err
			}
			if out != "" {
				made.Token = ""
			}
			return e.Answer(made, func() {
				if out == "" {
					e.Line("%s", made.Token)
					e.Note("this is the only time it is shown")
				} else {
					e.Line("the approval token is in %s", out)
				}
				e.Note("it decides %s for %s until %s", made.Gate, made.For, tree.Time(made.ExpiresAt))
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&person, "for", "", "whose decision it carries, if not the token's owner's (needs the role operator)")
	f.StringSliceVar(&verdicts, "verdict", nil, "which it may give: "+posthouse.JoinVerdicts(posthouse.GateVerdicts(), ", ")+" (default approve and reject)")
	f.Var(&until, "expires", "how long it is good, as in 12h, or until when, as in 2027-01-31T00:00:00Z (default: the gate's deadline, at most 7 days)")
	f.StringVar(&out, "out", "", "write it to this new file, mode 0600, instead of printing it")
	return cmd
}
