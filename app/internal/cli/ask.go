package cli

import (
	"context"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/rest"
)

// A runner is what a command does.
type runner func(cmd *cobra.Command, args []string) error

// online returns a runner that hands fn the way to the server.
func (a *app) online(fn func(ctx context.Context, c *rest.Client, args []string) error) runner {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		return fn(cmd.Context(), c, args)
	}
}

// parent makes cmd a command that has others below it and prints its help.
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

// start sends a request that sets a program going, and prints what it led to.
func (a *app) start(ctx context.Context, c *rest.Client, path string, body any) error {
	var led followed
	if err := c.Do(ctx, http.MethodPost, path, nil, body, &led); err != nil {
		return err
	}
	return a.follow(&led)
}

// answer prints v as JSON, or by show for a person.
func (a *app) answer(v any, show func()) error {
	if a.JSON {
		return a.Encode(v)
	}
	show()
	return nil
}

// list prints at most limit items of a list: as JSON, or as a row each below
// head. Without items it prints none. It returns the items.
func list[T any](ctx context.Context, a *app, c *rest.Client, path string, query url.Values, limit int, none string, head []string, row func(T) []string) ([]T, error) {
	items, more, err := upTo[T](ctx, c, path, query, limit)
	if err != nil {
		return nil, err
	}
	return items, a.answer(items, func() {
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

// reasonFlag adds --reason.
func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "why; goes on record")
}

// yesFlag adds --yes.
func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

// branchFlag adds --branch.
func branchFlag(cmd *cobra.Command, branch *string) {
	cmd.Flags().StringVar(branch, "branch", "", "branch of the thread (default main)")
}
