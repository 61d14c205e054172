package threads

import (
	"context"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

// mostToPick is how many questions a person may pick from.
const mostToPick = 20

// given returns the gate that a command was given, or the one that a person at a terminal picks from
// the inbox. The only question that waits is picked by itself.
func given(ctx context.Context, e *env.Env, c *client.Client, args []string) (string, error) {
	switch {
	case len(args) > 0:
		return args[0], nil
	case !e.Interactive:
		return "", &posthouse.Error{Code: posthouse.CodeInvalid, Field: "GATE", Message: "is required: which gate is meant", Hint: "posthouse inbox lists them; at a terminal one is picked from it"}
	}
	gates, more, err := env.UpTo[*server.Gate](ctx, c, "/api/gates", nil, mostToPick)
	switch {
	case err != nil:
		return "", err
	case len(gates) == 0:
		return "", &posthouse.Error{Code: posthouse.CodeNotFound, Message: "nothing waits for a decision", Hint: "see what there is: posthouse thread list"}
	case len(gates) == 1 && gates[0].Error == nil:
		return string(gates[0].ID), nil
	}
	onErr := e.Term
	onErr.Out = e.Err
	rows := [][]string{}
	for i, g := range gates {
		rows = append(rows, []string{strconv.Itoa(i + 1), asks(g) + licenses(g), strings.Join(g.RequesterNames(), ", "), g.Thread})
	}
	onErr.Table([]string{"", "QUESTION", "REQUESTED BY", "THREAD"}, rows)
	if more {
		e.Note("these are the newest: posthouse inbox --limit 0 shows all")
	}
	chosen, err := e.Choose(len(gates), "which?")
	if err != nil {
		return "", err
	}
	if chosen == 0 {
		e.Note("nothing was chosen")
		return "", env.Exit(posthouse.ExitUsage)
	}
	return string(gates[chosen-1].ID), nil
}

// asks is a question as a cell of a table has it.
func asks(g *server.Gate) string {
	if g.Error != nil {
		return env.CannotBeRead(g.Error)
	}
	return term.Clip(term.Visible(headline(&g.Gate)), 60)
}
