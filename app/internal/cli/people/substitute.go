package people

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/server"
)

const path = "/api/substitutes"

// Substitute returns the command substitute, with what is below it.
func Substitute(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use: "substitute", Aliases: []string{"substitutes"}, Short: "Say who decides in whose place over a period",
		Example: `  posthouse substitute name bob --for 7d --reason "on leave"
  posthouse substitute list --person me`,
	}, name(e), list(e), withdraw(e))
}

func name(e *env.Env) *cobra.Command {
	var from, until, length, by, reason string
	cmd := &cobra.Command{
		Use: "name PERSON", Short: "Let somebody decide what is assigned to you, over a period",
		Long: `Let somebody decide what is assigned to you, over a period.

It is on record, and so is each decision that they make in your place. You keep your
right; a question that needs several people has one vote of each of you. Nobody decides
their own request so, and the substitute of a substitute has no right.`,
		Example: `  posthouse substitute name bob --for 7d --reason "on leave"
  posthouse substitute name bob --from 2026-12-01T08:00:00Z --until 2026-12-08T08:00:00Z`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			body := map[string]any{"to": args[0], "by": by, "reason": reason}
			end, err := endOf(from, until, length, time.Now())
			if err != nil {
				return err
			}
			body["until"] = end
			if from != "" {
				body["from"] = from
			}
			return env.Ask(ctx, e, c, http.MethodPost, path, nil, body, func(s *named) {
				e.Line("%s decides in the place of %s from %s until %s", s.To, s.By, tree.Time(s.From), tree.Time(s.Until))
				env.Warn(e, s.Warning)
				e.Next("posthouse substitute withdraw %s", s.ID)
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "when it begins, as in 2026-12-01T08:00:00Z; now unless given")
	f.StringVar(&until, "until", "", "when it ends")
	f.StringVar(&length, "for", "", "instead of --until: for how long, as in 7d or 12h")
	f.StringVar(&by, "by", "", "who is away, if not the token's owner (needs the role operator)")
	env.ReasonFlag(cmd, &reason)
	return cmd
}

// A named is how the server answers for a substitution.
type named struct {
	deciders.Substitution
	Warning string `json:"warning,omitempty"`
}

// endOf returns the end of a period as the flags say it.
func endOf(from, until, length string, now time.Time) (string, error) {
	switch {
	case (until == "") == (length == ""):
		return "", &posthouse.Error{Code: posthouse.CodeInvalid, Field: "until", Message: "or for must say when it ends", Hint: "as in --for 7d"}
	case until != "":
		return until, nil
	}
	var d server.Span
	if err := d.UnmarshalText([]byte(length)); err != nil {
		return "", err
	}
	if from != "" {
		begin, err := time.Parse(time.RFC3339, from)
		if err != nil {
			return "", posthouse.Invalid("from", "%.40q must be a time like 2026-12-01T08:00:00Z", from)
		}
		now = begin
	}
	return now.Add(time.Duration(d)).UTC().Format(time.RFC3339), nil
}

// A listed is how the server answers with the list.
type listed struct {
	Items []deciders.Substitution `json:"items"`
}

func list(e *env.Env) *cobra.Command {
	var person string
	cmd := &cobra.Command{
		Use: "list", Short: "List substitutes whose period has not ended",
		Example: `  posthouse substitute list
  posthouse substitute list --person me`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			return env.Get(ctx, e, c, path, url.Values(env.Params("person", person)), func(all *listed) {
				if len(all.Items) == 0 {
					e.Line("nobody stands in for anybody")
					return
				}
				var rows [][]string
				for i := range all.Items {
					s := &all.Items[i]
					rows = append(rows, []string{string(s.ID), s.By, s.To, tree.Time(s.From), tree.Time(s.Until), term.Clip(term.Visible(s.Reason), 60)})
				}
				e.Table([]string{"ID", "FOR", "SUBSTITUTE", "FROM", "UNTIL", "REASON"}, rows)
			})
		}),
	}
	cmd.Flags().StringVar(&person, "person", "", "only who is away or stands in: this person; me is the token's owner")
	return cmd
}

func withdraw(e *env.Env) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "withdraw ID", Short: "End a substitution now; what was decided stands",
		Example: `  posthouse substitute withdraw 019a...`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			err := c.Do(ctx, http.MethodDelete, path+client.Path(args[0]), url.Values(env.Params("reason", reason)), nil, nil)
			if err != nil {
				return err
			}
			return e.Answer(map[string]string{"withdrawn": args[0]}, func() { e.Line("%s has ended", args[0]) })
		}),
	}
	env.ReasonFlag(cmd, &reason)
	return cmd
}
