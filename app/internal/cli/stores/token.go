package stores

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/server"
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

Who holds the data directory needs no token for this: if no operator's token is
good any more, make another here.`,
		Example: `  posthouse token create --name alice --role approver --out alice.token
  posthouse token create --name ci --role viewer --expires 30d
  posthouse token create --name gpu-1 --role worker --group gpu --out gpu-1.token
  posthouse token list`,
	}, tokenCreate(e), tokenAllow(e), tokenList(e), tokenRevoke(e), tokenApproval(e))
}

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
		RunE: e.Online(func(ctx context.Context, c *rest.Client, args []string) error {
			body := map[string]any{"for": person, "verdicts": verdicts}
			if at := until.at(time.Now()); !at.IsZero() {
				body["expiresAt"] = at
			}
			var made server.GateToken
			err := writeSecret(out, func() (string, error) {
				err := c.Do(ctx, http.MethodPost, "/api/gates"+rest.Path(args[0], "token"), nil, body, &made)
				return made.Token, err
			}, func() error { return nil }) // it ends by itself
			if err != nil {
				return err
			}
			if out != "" {
				made.Token = ""
			}
			return e.Answer(&made, func() {
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
			case e.JSON && out != "":
				made["file"] = out
				return e.Encode(made)
			case e.JSON:
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

// writeSecret writes what made returns to a new file; with out "" it writes nothing. It
// makes the file first. If the secret cannot be written there, undo ends it.
func writeSecret(out string, made func() (string, error), undo func() error) error {
	if out == "" {
		_, err := made()
		return err
	}
	f, err := os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "out", Message: "cannot be written", Err: err, Hint: "name a file that is not there yet, in a directory that is"}
	}
	secret, err := made()
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(out))
	}
	_, err = f.WriteString(secret + "\n")
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return errors.Join(&posthouse.Error{Code: posthouse.CodeInvalid, Field: "out", Message: "cannot be written", Err: err}, undo())
	}
	return nil
}

func tokenList(e *env.Env) *cobra.Command {
	return &cobra.Command{
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
			type shown struct {
				Name    string      `json:"name"`
				Role    tokens.Role `json:"role"`
				Groups  []string    `json:"groups,omitempty"`
				Tasks   []string    `json:"tasks,omitempty"`
				Created time.Time   `json:"createdAt"`
				Expires time.Time   `json:"expiresAt,omitzero"`
				Expired bool        `json:"expired"`
				Used    time.Time   `json:"lastUsedAt,omitzero"`
			}
			all, rows := []shown{}, [][]string{}
			for _, t := range list {
				x := shown{t.Name, t.Role, t.Groups, t.Tasks, t.CreatedAt, t.ExpiresAt, t.Expired(time.Now()), t.LastUsedAt}
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
				all = append(all, x)
				rows = append(rows, []string{t.Name, string(t.Role), tree.Time(t.CreatedAt), expires, used})
			}
			return e.Answer(all, func() {
				if len(rows) == 0 {
					e.Line("no tokens; posthouse serve makes the first")
				}
				e.Table([]string{"NAME", "ROLE", "CREATED", "EXPIRES", "LAST USED"}, rows)
			})
		},
	}
}

func tokenRevoke(e *env.Env) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "revoke NAME", Short: "Take a token away, also from running servers",
		Long: `Take a token away, also from running servers and what is open there.

The last token of an operator that is good goes with --yes only: make another first.`,
		Example: `  posthouse token revoke alice`,
		RunE: func(_ *cobra.Command, args []string) error {
			ts, err := openTokens(e)
			if err != nil {
				return err
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
	return cmd
}

// An expiry is a flag that takes how long, or until when.
type expiry struct {
	after env.Span
	until time.Time
}

func (*expiry) Type() string { return "duration or time" }

func (e *expiry) String() string {
	if !e.until.IsZero() {
		return e.until.Format(time.RFC3339)
	}
	return e.after.String()
}

func (e *expiry) Set(v string) error {
	*e = expiry{}
	if at, err := time.Parse(time.RFC3339, v); err == nil {
		e.until = at
		return nil
	}
	if err := e.after.Set(v); err != nil || e.after <= 0 {
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Message: strconv.Quote(v) + " is neither how long nor until when",
			Hint: "as in 30d, 2w or 12h, or 2027-01-31T00:00:00Z",
		}
	}
	return nil
}

// at is when the token expires, zero for never.
func (e *expiry) at(now time.Time) time.Time {
	switch {
	case !e.until.IsZero():
		return e.until.UTC().Truncate(time.Second)
	case e.after > 0:
		return now.Add(time.Duration(e.after)).UTC().Truncate(time.Second)
	}
	return time.Time{}
}
