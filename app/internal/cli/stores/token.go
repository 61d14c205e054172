package stores

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/server/tokens"
)

// Token returns the command token, with those below it.
func Token(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke access tokens",
		Long: `Create, list and revoke access tokens of a data directory.

A token speaks for its name: what is done with it is recorded as theirs. Roles:
viewer reads, approver decides as well, operator does everything and may act
for others, worker handles tasks and reads nothing. A running server notices changes at once. Secrets are shown once;
the data directory keeps their hashes, and when each was last used, to the minute.

A token that an operator made over HTTP counts as the same person as its maker,
until it is confirmed (the list says "as" whom); one made here is confirmed.

Who holds the data directory needs no token for this: if no operator's token is
good any more, make another here.`,
		Example: `  posthouse token create --name alice --role approver --out alice.token
  posthouse token create --name ci --role viewer --expires 30d
  posthouse token create --name gpu-1 --role worker --group gpu --out gpu-1.token
  posthouse token list`,
	}, tokenCreate(e), tokenAllow(e), tokenConfirm(e), tokenList(e), tokenRevoke(e), tokenApproval(e))
}

// openTokens opens the list of the data directory, which is made if it is not there.
func openTokens(e *env.Env) (*tokens.List, error) {
	dir, err := e.Dir()
	if err != nil {
		return nil, err
	}
	if err := dir.Create(); err != nil {
		return nil, err
	}
	return tokens.Open(string(dir), nil)
}

func tokenList(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tokens, without their secrets",
		Example: `  posthouse token list`,
		RunE: func(*cobra.Command, []string) error {
			ts, err := openTokens(e)
			if err != nil {
				return err
			}
			list, err := ts.All()
			if err != nil {
				return err
			}
			type shown struct { // a token without its secret
				Name    string      `json:"name"`
				Role    tokens.Role `json:"role"`
				Groups  []string    `json:"groups,omitempty"`
				Tasks   []string    `json:"tasks,omitempty"`
				Created time.Time   `json:"createdAt"`
				Expires time.Time   `json:"expiresAt,omitzero"`
				Expired bool        `json:"expired"`
				Used    time.Time   `json:"lastUsedAt,omitzero"`

				Maker     string `json:"maker,omitempty"`
				Confirmed bool   `json:"confirmed"`
			}
			all := []shown{}
			for _, t := range list {
				all = append(all, shown{t.Name, t.Role, t.Groups, t.Tasks, t.CreatedAt, t.ExpiresAt, t.Expired(time.Now()), t.LastUsedAt, t.Maker.Name, t.IsConfirmed()})
			}
			table := env.Table[shown]{None: "no tokens; posthouse serve makes the first", Head: []string{"NAME", "ROLE", "CREATED", "EXPIRES", "LAST USED"}}
			table.Row = func(x shown) []string {
				expires, used := "never", "never"
				if !x.Expires.IsZero() {
					expires = tree.Time(x.Expires)
				}
				if x.Expired {
					expires = "expired " + expires
				}
				if !x.Used.IsZero() {
					used = tree.Time(x.Used)
				}
				role := string(x.Role)
				if !x.Confirmed {
					role += ", as " + x.Maker // not confirmed
				}
				return []string{x.Name, role, tree.Time(x.Created), expires, used}
			}
			return table.Print(e, all, false)
		},
	}
	e.QuietFlag(cmd)
	return cmd
}

func tokenRevoke(e *env.Env) *cobra.Command {
	var yes, dry bool
	cmd := &cobra.Command{
		Use: "revoke NAME", Short: "Take a token away, also from running servers",
		Long: `Take a token away, also from running servers and what is open there.

The last token of an operator that is good goes with --yes only: make another first.`,
		Example: `  posthouse token revoke alice --dry-run
  posthouse token revoke alice`,
		RunE: func(_ *cobra.Command, args []string) error {
			ts, err := openTokens(e)
			if err != nil {
				return err
			}
			if dry {
				return wouldRevoke(e, ts, args[0], yes)
			}
			if ok, err := e.Confirm(yes, "revoke the token of %s?", args[0]); err != nil || !ok {
				return err
			}
			if err := ts.Revoke(args[0], &tokens.RevokeOptions{LastOperator: yes}); err != nil {
				return err
			}
			return e.Answer(map[string]string{"revoked": args[0]}, func() { e.Line("revoked: %s", args[0]) })
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask, and revoke the last operator's, too")
	env.DryRunFlag(cmd, &dry)
	return cmd
}

// wouldRevoke says which token would go.
func wouldRevoke(e *env.Env, ts *tokens.List, name string, last bool) error {
	if err := ts.Revoke(name, &tokens.RevokeOptions{LastOperator: last, DryRun: true}); err != nil {
		return err
	}
	return e.Answer(map[string]any{"dryRun": true, "revoked": name}, func() {
		e.Line("the token of %s would be revoked, and what is open with it would end", name)
		e.Line("nothing was revoked: leave --dry-run out")
	})
}
