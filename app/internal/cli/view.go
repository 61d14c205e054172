package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/server"
)

func (a *app) showCheckpoint(c *server.Checkpoint) {
	a.showHeader(&c.Header)
	if c.Decision != nil {
		a.Fields("decision", tree.Decision(c.Decision))
	}
	for _, k := range slices.Sorted(maps.Keys(c.Metadata)) {
		a.Fields("meta", k+" = "+c.Metadata[k])
	}
	if len(c.State) > 0 {
		a.Line("")
		a.showJSON(c.State)
	}
}

func (a *app) showHeader(h *posthouse.Header) {
	status := string(h.Status)
	if h.Status == posthouse.StatusSaved {
		status = "saved"
	}
	from := ""
	if h.Source != nil {
		from = string(h.Source.ID) + " of thread " + h.Source.Thread
	}
	var gates []string
	for _, g := range h.Gates {
		gates = append(gates, string(g))
	}
	a.Fields(
		"checkpoint", string(h.ID), "parent", string(h.Parent), "thread", h.Thread, "branch", h.Branch,
		"coordination", h.Coordination, "kind", h.Kind, "agent", h.Agent, "node", h.Node, "next", strings.Join(h.Next, ", "),
		"status", status, "error", h.Error, "gates", strings.Join(gates, ", "), "forked from", from, "by", h.By,
		"made", tree.Time(h.CreatedAt), "size", size(int64(h.Size)), "hash", h.Hash.String(),
	)
}

func (a *app) showJSON(raw json.RawMessage) {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		a.Line("%s", string(raw))
		return
	}
	fmt.Fprintf(a.Out, "%s\n", term.EscapeJSON(b.Bytes()))
}

func badAnswer(err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Message: "the server's answer does not fit together", Err: err,
		Hint: "is it a posthouse server of this version?",
	}
}

// problemOf returns the error that an answer has beside its result, or nil.
func problemOf(document json.RawMessage) error {
	if document == nil {
		return nil
	}
	return rest.Problem(document)
}

// size formats bytes in a unit that a person can compare.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// params builds a query of names and values, leaving out what is empty.
func params(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// members builds a body as [params] builds a query.
func members(pairs ...string) map[string]any {
	body := map[string]any{}
	for name, values := range params(pairs...) {
		body[name] = values[0]
	}
	return body
}

// ifSet returns the value of a parameter for a flag without a value.
func ifSet(flag bool) string {
	if flag {
		return "true"
	}
	return ""
}

// next tells a person what to type next; programs do not need it.
func (a *app) next(format string, args ...any) {
	if !a.JSON {
		a.Line("\nnext: "+a.named(format)+"%s", append(args, a.where)...)
	}
}

// upTo reads at most limit items of a list, 0 for all, and reports whether it has more.
func upTo[T any](ctx context.Context, c *rest.Client, path string, query url.Values, limit int) (items []T, more bool, err error) {
	ask := limit
	if limit > 0 {
		ask++
	}
	items, err = rest.Collect(rest.List[T](ctx, c, path, query, ask))
	if more = limit > 0 && len(items) > limit; more {
		items = items[:limit]
	}
	return items, more, err
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

func limitFlag(cmd *cobra.Command, n *int) {
	*n = 100
	cmd.Flags().Var((*limit)(n), "limit", "how many; 0 is all")
}

func (a *app) more(more bool) {
	if more {
		a.Line("\nthere are more: --limit 0 shows all")
	}
}

// number writes n with its thousands set off.
func number(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
