package env

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
)

// Parent adds the commands below cmd, which prints its help.
func Parent(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
}

// An OnlineFunc does what a command does, with a client of the server.
type OnlineFunc func(ctx context.Context, c *client.Client, args []string) error

// Online returns a RunE that calls fn with a client of the server. Where the usage line has
// an id, the argument may be part of one, a thread's name or THREAD#N: fn gets the id. In a
// script, part of a thread's name is taken by [Env.Look] only: a thread that is gone is not
// mistaken for another.
func (e *Env) Online(fn OnlineFunc) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return e.online(cmd, args, &finder{guess: e.Interactive}, fn)
	}
}

// Look is [Env.Online] for a command that changes nothing.
func (e *Env) Look(fn OnlineFunc) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error { return e.online(cmd, args, &finder{guess: true}, fn) }
}

// ByID is [Env.Online] for a command that means something else by a thread's name.
func (e *Env) ByID(fn OnlineFunc) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return e.online(cmd, args, &finder{guess: e.Interactive, onlyIDs: true}, fn)
	}
}

// AsWritten is [Env.Online] for a thread that may not be there yet: its name is taken as it is.
func (e *Env) AsWritten(fn OnlineFunc) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := e.Client()
		if err != nil {
			return err
		}
		return fn(cmd.Context(), c, args)
	}
}

func (e *Env) online(cmd *cobra.Command, args []string, f *finder, fn OnlineFunc) error {
	c, err := e.Client()
	if err != nil {
		return err
	}
	f.env, f.client = e, c
	args, err = f.args(cmd.Context(), strings.Fields(cmd.Use)[1:], args)
	if err != nil {
		return err
	}
	return fn(cmd.Context(), c, args)
}

// Answer prints v as JSON, or by show for a person.
func (e *Env) Answer(v any, show func()) error {
	if e.Structured() {
		return e.Encode(v)
	}
	show()
	return nil
}

// Next tells a person what to type next; programs do not need it.
func (e *Env) Next(format string, args ...any) {
	if !e.Structured() && !e.Quiet {
		e.Line("\nnext: "+e.Named(format)+"%s", append(args, e.repeated)...)
	}
}

// Show answers with what a call returned: as JSON, or as show prints it for a person.
func Show[T any](e *Env, v T, err error, show func(T)) error {
	if err != nil {
		return err
	}
	return e.Answer(v, func() { show(v) })
}

// Ask sends a request and answers with what comes back: as JSON, or as show
// prints it for a person.
func Ask[T any](ctx context.Context, e *Env, c *client.Client, method, path string, query url.Values, body any, show func(*T)) error {
	answer := new(T)
	if err := c.Do(ctx, method, path, query, body, answer); err != nil {
		return err
	}
	return e.Answer(answer, func() { show(answer) })
}

// Get is [Ask] with a GET.
func Get[T any](ctx context.Context, e *Env, c *client.Client, path string, query url.Values, show func(*T)) error {
	return Ask(ctx, e, c, http.MethodGet, path, query, nil, show)
}

// Params builds a query of names and values, leaving out what is empty.
func Params(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// Members builds a body as [Params] builds a query.
func Members(pairs ...string) map[string]any {
	body := map[string]any{}
	for name, values := range Params(pairs...) {
		body[name] = values[0]
	}
	return body
}

// IfSet returns the value of a parameter for a flag without a value.
func IfSet(flag bool) string {
	if flag {
		return "true"
	}
	return ""
}

// Warn prints what an answer warns of, if it does.
func Warn(e *Env, warning string) {
	if warning != "" {
		e.Note("warning: %s", warning)
	}
}
