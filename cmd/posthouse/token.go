package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/tree"
	"github.com/posthouse/posthouse/server"
)

func (a *app) tokenCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke access tokens",
		Long: `Create, list and revoke access tokens of a data directory.

A token speaks for its name: what is done with it is recorded as theirs. Roles:
viewer reads, approver decides as well, operator does everything and may act
for others. A running server notices changes at once. Secrets are shown once;
the data directory keeps their hashes.`,
		Example: `  posthouse token create --name alice --role approver --out alice.token
  posthouse token list`,
		Args: args(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tokenCreate(), a.tokenList(), a.tokenRevoke())
	return cmd
}

// tokens opens the list of the data directory.
func (a *app) tokens() (*server.Tokens, error) {
	dir, err := a.dir()
	if err != nil {
		return nil, err
	}
	if err := dir.Create(); err != nil {
		return nil, err
	}
	return server.OpenTokens(string(dir), nil)
}

func (a *app) tokenCreate() *cobra.Command {
	var name, role, out string
	cmd := &cobra.Command{
		Use: "create", Short: "Make a token and print its secret, once",
		Example: `  posthouse token create --name alice --role approver
  posthouse token create --name ci --role viewer --out ci.token`,
		Args: args(0),
		RunE: func(*cobra.Command, []string) error {
			ts, err := a.tokens()
			if err != nil {
				return err
			}
			secret, err := a.createToken(ts, name, server.Role(role), out)
			switch {
			case err != nil:
				return err
			case a.JSON && out != "":
				return a.Encode(map[string]string{"name": name, "role": role, "file": out})
			case a.JSON:
				return a.Encode(map[string]string{"name": name, "role": role, "token": secret})
			case out != "":
				a.Line("the token of %s, %s, is in %s", name, role, out)
			default:
				a.Line("%s", secret)
				a.Note("this is the only time it is shown; keep it in a file of mode 0600 and use --token-file")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "whom it speaks for (required)")
	cmd.Flags().StringVar(&role, "role", string(server.Approver), "viewer, approver or operator")
	cmd.Flags().StringVar(&out, "out", "", "write the secret to this new file, mode 0600, instead of printing it")
	return cmd
}

// createToken makes the file first: a secret that cannot be handed over is
// revoked again.
func (a *app) createToken(ts *server.Tokens, name string, role server.Role, out string) (string, error) {
	if out == "" {
		return ts.Create(name, role)
	}
	f, err := os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", &posthouse.Error{Code: posthouse.CodeInvalid, Field: "out", Message: "cannot be written", Err: err}
	}
	secret, err := ts.Create(name, role)
	if err != nil {
		return "", errors.Join(err, f.Close(), os.Remove(out))
	}
	if _, err = f.WriteString(secret + "\n"); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(&posthouse.Error{Code: posthouse.CodeInvalid, Field: "out", Message: "cannot be written", Err: err}, ts.Revoke(name))
	}
	return secret, nil
}

func (a *app) tokenList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tokens, without their secrets",
		Example: `  posthouse token list`,
		Args:    args(0),
		RunE: func(*cobra.Command, []string) error {
			ts, err := a.tokens()
			if err != nil {
				return err
			}
			list, err := ts.List()
			if err != nil {
				return err
			}
			type shown struct {
				Name    string      `json:"name"`
				Role    server.Role `json:"role"`
				Created string      `json:"createdAt"`
			}
			all, rows := []shown{}, [][]string{}
			for _, t := range list {
				all = append(all, shown{t.Name, t.Role, t.CreatedAt.Format("2006-01-02T15:04:05Z07:00")})
				rows = append(rows, []string{t.Name, string(t.Role), tree.Time(t.CreatedAt)})
			}
			if a.JSON {
				return a.Encode(all)
			}
			if len(rows) == 0 {
				a.Line("no tokens; posthouse serve makes the first")
				return nil
			}
			a.Table([]string{"NAME", "ROLE", "CREATED"}, rows)
			return nil
		},
	}
}

func (a *app) tokenRevoke() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "revoke NAME", Short: "Take a token away, also from running servers",
		Example: `  posthouse token revoke alice`,
		Args:    args(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ts, err := a.tokens()
			if err != nil {
				return err
			}
			if ok, err := a.Confirm(yes, "revoke the token of %s?", args[0]); err != nil || !ok {
				return err
			}
			if err := ts.Revoke(args[0]); err != nil {
				return err
			}
			if a.JSON {
				return a.Encode(map[string]string{"revoked": args[0]})
			}
			a.Line("revoked: %s", args[0])
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
