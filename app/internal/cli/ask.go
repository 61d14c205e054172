package cli

import (
	"context"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/rest"
)

// online returns a RunE that calls fn with a client of the server.
func (a *app) online(fn func(ctx context.Context, c *rest.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		return fn(cmd.Context(), c, args)
	}
}

// parent adds the commands below cmd, which prints its help.
func parent(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
}

// ask sends a request and answers with what comes back: as JSON, or as show
// prints it for a person.
func ask[T any](ctx context.Context, a *app, c *rest.Client, method, path string, query url.Values, body any, show func(*T)) error {
	answer := new(T)
	if err := c.Do(ctx, method, path, query, body, answer); err != nil {
		return err
	}
	return a.answer(answer, func() { show(answer) })
}

// get is [ask] with a GET.
func get[T any](ctx context.Context, a *app, c *rest.Client, path string, query url.Values, show func(*T)) error {
	return ask(ctx, a, c, http.MethodGet, path, query, nil, show)
}

// start sends a request that starts work, and prints what it led to.
func (a *app) start(ctx context.Context, c *rest.Client, path string, body any) error {
	var led followed
	if err := c.Do(ctx, http.MethodPost, path, nil, body, &led); err != nil {
		return err
	}
	return a.printOutcome(ctx, c, &led)
}

// answer prints v as JSON, or by show for a person.
func (a *app) answer(v any, show func()) error {
	if a.JSON {
		return a.Encode(v)
	}
	show()
	return nil
}

// list prints at most limit items of a list and returns them. They are printed as JSON,
// or as rows below head; the text none takes the place of an empty table.
func list[T any](ctx context.Context, a *app, c *rest.Client, path string, query url.Values, limit int, none string, head []string, row func(T) []string) ([]T, error) {
	items, more, err := upTo[T](ctx, c, path, query, limit)
	if err != nil {
		return nil, err
	}
	return items, show(a, items, more, none, head, row)
}

// show prints the items of a list, as JSON or as rows below head.
func show[T any](a *app, items []T, more bool, none string, head []string, row func(T) []string) error {
	return a.answer(items, func() {
		rows := make([][]string, 0, len(items))
		for _, item := range items {
			rows = append(rows, row(item))
		}
		if len(rows) == 0 {
			a.Line("%s", none)
		}
		a.Table(head, rows)
		a.more(more)
	})
}

func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "why; goes on record")
}

func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

func branchFlag(cmd *cobra.Command, branch *string) {
	cmd.Flags().StringVar(branch, "branch", "", "branch of the thread (default main)")
}
