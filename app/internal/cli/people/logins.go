package people

import (
	"context"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
)

// A login is one with a browser, as the server lists it.
type login struct {
	Name    string    `json:"name"`
	Role    string    `json:"role"`
	Account bool      `json:"account,omitempty"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
	You     bool      `json:"you,omitempty"`
}

func logins(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "logins", Short: "List who is logged in with a browser, for operators",
		Example: `  posthouse people logins`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			return env.Get(ctx, e, c, "/api/people/logins", nil, func(all *struct {
				Items []login `json:"items"`
			}) {
				if len(all.Items) == 0 {
					e.Line("nobody is logged in with a browser")
					return
				}
				var rows [][]string
				for _, l := range all.Items {
					with := "token"
					if l.Account {
						with = "account"
					}
					rows = append(rows, []string{term.Visible(l.Name), l.Role, with, tree.Time(l.Since), tree.Time(l.Expires)})
				}
				e.Table([]string{"NAME", "ROLE", "WITH", "SINCE", "UNTIL"}, rows)
			})
		}),
	}
}

func logout(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "logout NAME", Short: "End the logins of a person, for operators",
		Long: `End the logins of a person.

Their browsers are logged out, their streams end within seconds, and so do the links that a
login with an account made. It revokes no token: "posthouse token revoke" does.`,
		Example: `  posthouse people logout ann@example.com`,
		Args:    cobra.ExactArgs(1),
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			var ended struct {
				Name   string `json:"name"`
				Logins int    `json:"logins"`
			}
			if err := c.Do(ctx, http.MethodPost, "/api/people/logout", nil, map[string]string{"name": args[0]}, &ended); err != nil {
				return err
			}
			return e.Answer(&ended, func() {
				e.Line("%s was logged out of %s", term.Visible(ended.Name), term.Count(ended.Logins, "browser"))
			})
		}),
	}
}
