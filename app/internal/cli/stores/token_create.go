package stores

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/server/tokens"
)

func tokenCreate(e *env.Env) *cobra.Command {
	var name, role, out string
	var groups, tasks []string
	var until expiry
	cmd := &cobra.Command{
		Use: "create", Short: "Make a token and print its secret, once",
		Long: `Make a token and print its secret, once.

With --expires it is good for as long as that says; then requests, logins and open
streams are refused, and a token of that name may be made again. A token that has
no expiry is good until it is revoked.`,
		Example: `  posthouse token create --name alice --role approver
  posthouse token create --name ci --role viewer --out ci.token --expires 30d
  posthouse token create --name audit --role viewer --expires 2027-01-31T00:00:00Z`,
		RunE: func(*cobra.Command, []string) error {
			ts, err := openTokens(e)
			if err != nil {
				return err
			}
			expires := until.at(time.Now())
			secret, err := createToken(ts, name, tokens.Role(role), &tokens.CreateOptions{ExpiresAt: expires, Groups: groups, Tasks: tasks}, out)
			made := map[string]string{"name": name, "role": role}
			if !expires.IsZero() {
				made["expiresAt"] = expires.Format(time.RFC3339)
			}
			switch {
			case err != nil:
				return err
			case e.Structured() && out != "":
				made["file"] = out
				return e.Encode(made)
			case e.Structured():
				made["token"] = secret
				return e.Encode(made)
			case out != "" && !expires.IsZero():
				e.Line("the token of %s, %s until %s, is in %s", name, role, tree.Time(expires), out)
			case out != "":
				e.Line("the token of %s, %s, is in %s", name, role, out)
			default:
				e.Line("%s", secret)
				e.Note("this is the only time it is shown; keep it in a file of mode 0600 and use --token-file")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "whom it speaks for (required)")
	cmd.Flags().StringVar(&role, "role", string(tokens.Approver), "viewer, approver, operator or worker")
	limitFlags(cmd, &groups, &tasks)
	cmd.Flags().StringVar(&out, "out", "", "write the secret to this new file, mode 0600, instead of printing it")
	cmd.Flags().Var(&until, "expires", "how long it is good, as in 30d, 2w or 12h, or until when, as in 2027-01-31T00:00:00Z (default: for ever)")
	return cmd
}

func createToken(ts *tokens.List, name string, role tokens.Role, o *tokens.CreateOptions, out string) (secret string, err error) {
	err = writeSecret(out, func() (string, error) {
		secret, err = ts.Create(name, role, o)
		return secret, err
	}, func() error { return ts.Revoke(name, &tokens.RevokeOptions{LastOperator: true}) })
	return secret, err
}
