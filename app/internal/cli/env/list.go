package env

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server/problem"
)

// A Table says how a person is shown a list.
type Table[T any] struct {
	None string // takes the place of an empty table
	Head []string
	Row  func(T) []string
	ID   func(T) string // all that --quiet prints of an item; default the first cell
}

// Print prints the items of a list, as JSON or as a table; more says that the list has
// others after them.
func (t *Table[T]) Print(e *Env, items []T, more bool) error {
	if e.Quiet {
		return t.printIDs(e, items, more)
	}
	return e.Answer(items, func() {
		rows := make([][]string, 0, len(items))
		for _, item := range items {
			rows = append(rows, t.Row(item))
		}
		if len(rows) == 0 {
			e.Line("%s", t.None)
		}
		e.Table(t.Head, rows)
		More(&e.Term, more)
	})
}

// printIDs prints the ids of items, one a line, or as a list of strings.
func (t *Table[T]) printIDs(e *Env, items []T, more bool) error {
	ids := make([]string, 0, len(items))
	for _, item := range items {
		if t.ID != nil {
			ids = append(ids, t.ID(item))
		} else {
			ids = append(ids, t.Row(item)[0])
		}
	}
	return e.Answer(ids, func() {
		for _, id := range ids {
			e.Line("%s", id)
		}
		if more {
			e.Note("there are more: --limit 0 shows all")
		}
	})
}

// List prints at most limit items of a list, 0 for all, and returns them.
func List[T any](ctx context.Context, e *Env, c *client.Client, path string, query url.Values, limit int, t *Table[T]) ([]T, error) {
	items, more, err := UpTo[T](ctx, c, path, query, limit)
	if err != nil {
		return nil, err
	}
	return items, t.Print(e, items, more)
}

// UpTo reads at most limit items of a list, 0 for all, and reports whether it has more.
func UpTo[T any](ctx context.Context, c *client.Client, path string, query url.Values, limit int) (items []T, more bool, err error) {
	return Cut(client.List[T](ctx, c, path, query, OneMore(limit)), limit)
}

// OneMore returns how many items to ask for, so that [Cut] sees whether a list has more than limit.
func OneMore(limit int) int {
	if limit > 0 {
		return limit + 1
	}
	return 0
}

// Cut reads at most limit items of a list that was asked for [OneMore], 0 for all, and reports whether
// it has more.
func Cut[T any](seq iter.Seq2[T, error], limit int) (items []T, more bool, err error) {
	items, err = client.Collect(seq)
	more = limit > 0 && len(items) > limit
	if more {
		items = items[:limit]
	}
	return items, more, err
}

// More says that a list has more items than were printed.
func More(t *term.Term, more bool) {
	if more {
		t.Line("\nthere are more: --limit 0 shows all")
	}
}

// QuietFlag adds --quiet, for commands that print a [Table].
func (e *Env) QuietFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&e.Quiet, "quiet", "q", false, "print ids only")
}

// LimitFlag adds --limit, and --quiet.
func (e *Env) LimitFlag(cmd *cobra.Command, n *int) {
	e.QuietFlag(cmd)
	*n = 100
	cmd.Flags().Var((*limit)(n), "limit", "how many; 0 is all")
}

// A limit is how many items of a list are shown; 0 is all.
type limit int

func (l *limit) String() string { return strconv.Itoa(int(*l)) }

func (l *limit) Type() string { return "int" }

func (l *limit) Set(v string) error {
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil {
		return errors.New("must be a number, 0 or more; 0 is all")
	}
	*l = limit(n)
	return nil
}

// Unread returns exit code 8, and says where to look, if an item of a list cannot be
// read.
func Unread[T any](t *term.Term, items []T, problem func(T) *problem.Details) error {
	for _, item := range items {
		if p := problem(item); p != nil {
			t.Note("what cannot be read waits on: %s", p.Hint)
			return Exit(posthouse.ExitCorrupt)
		}
	}
	return nil
}

// ProblemOf reads what is wrong with an item of a list, nil for nothing.
func ProblemOf(d client.Document) *problem.Details {
	p := new(problem.Details)
	if len(d) == 0 || json.Unmarshal(d, p) != nil {
		return nil
	}
	return p
}

// CannotBeRead says in a cell of a table why an item cannot be read.
func CannotBeRead(p *problem.Details) string {
	return term.Clip(term.Visible("cannot be read: "+p.Detail), 60)
}
