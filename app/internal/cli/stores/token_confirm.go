package stores

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/server/tokens"
)

func tokenConfirm(e *env.Env) *cobra.Command {
	var revoked bool
	cmd := &cobra.Command{
		Use: "confirm [NAME]", Short: "Say that a token is another person's than its maker's",
		Long: `Say that a token is another person's than its maker's.

A token that an operator made over HTTP counts as the same person as that operator,
and as others that they made: who asks for something cannot approve it with it,
and the two have one vote. Confirm it once you know that somebody else has it.
Running servers notice at once, also for questions that are open.

A name whose token was revoked before it was confirmed still counts as its
maker's. It can be confirmed, too, and --revoked confirms all of these.`,
		Example: `  posthouse token confirm alice
  posthouse token confirm --revoked`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ts, err := openTokens(e)
			if err != nil {
				return err
			}
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			if err := ts.Confirm(name, &tokens.ConfirmOptions{Revoked: revoked}); err != nil {
				return err
			}
			return e.Answer(map[string]any{"confirmed": name, "revoked": revoked}, func() {
				if revoked {
					e.Line("confirmed: the names of all revoked tokens")
					return
				}
				e.Line("confirmed: %s", name)
			})
		},
	}
	cmd.Flags().BoolVar(&revoked, "revoked", false, "confirm the names of all tokens that were revoked, in place of one")
	return cmd
}
