package threads

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

// Run returns the command run, with those below it.
func Run(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use:     "run",
		Aliases: []string{"runs"},
		Short:   "Begin runs of programs",
		Example: `  posthouse run start refund '{"Order":"1234","Amount":40}' --id order-1234`,
	}, runStart(e))
}

// A programRun is a run that has begun.
type programRun struct {
	Program    string           `json:"program"`
	Thread     string           `json:"thread"`
	Status     posthouse.Status `json:"status"`
	Checkpoint posthouse.ID     `json:"checkpoint,omitempty"`
	StartAt    time.Time        `json:"startAt,omitzero"`
	Location   string           `json:"location"`
	Events     string           `json:"events"`
}

func runStart(e *env.Env) *cobra.Command {
	var id, at string
	var labels []string
	cmd := &cobra.Command{
		Use: "start PROGRAM [INPUT]", Short: "Begin a run of a program, and leave it to the server",
		Long: `Begin a run of a program, and leave it to the server.

INPUT is JSON, as "posthouse program show" describes it: - reads it from standard input,
@FILE from a file; without it the input is null. A field that the program does not have, or
of another kind, is refused. The run is on record when this command returns, in a thread of
its own: --id names it, and a thread that exists already is refused (exit code 4).

With --at the run starts at a time, or after a duration, at most 366 days ahead. Until then its
thread waits, is listed as waiting, and can be cancelled.`,
		Example: `  posthouse run start refund '{"Order":"1234","Amount":40}' --id order-1234
  posthouse run start report @input.json --label tenant=acme
  posthouse run start report @input.json --at 2026-12-01T08:00:00Z
  posthouse run start dispatch '"please refund order 1234"'`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			body := env.Members("id", id)
			if len(args) == 2 {
				input, err := e.ReadJSON("input", args[1], `text needs quotes of its own: '"like this"'; see: posthouse program show `+env.Quoted(args[0]))
				if err != nil {
					return err
				}
				body["input"] = input
			}
			given, err := labelsOf(labels)
			if err != nil {
				return err
			}
			if len(given) > 0 {
				body["labels"] = given
			}
			if at != "" {
				body["startAt"], err = startAt(at, time.Now())
				if err != nil {
					return err
				}
			}
			return env.Ask(ctx, e, c, http.MethodPost, client.ProgramPath(args[0], "runs"), nil, body, func(r *programRun) {
				e.Fields("program", r.Program, "thread", r.Thread, "status", string(r.Status), "checkpoint", string(r.Checkpoint), "starts", tree.Time(r.StartAt))
				e.Next("posthouse log %s", env.Quoted(r.Thread))
			})
		}),
	}
	cmd.Flags().StringVar(&id, "id", "", "name of the run's thread (default: a new id)")
	cmd.Flags().StringVar(&at, "at", "", "when it starts: a time as in 2026-12-01T08:00:00Z, or a duration from now as in 90m or 2d")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "key=value, by which the run is found; may be repeated")
	return cmd
}

// startAt reads a time, or a duration from now.
func startAt(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	var d server.Span
	if err := d.UnmarshalText([]byte(text)); err != nil {
		return time.Time{}, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "at", Message: fmt.Sprintf("%.40q is neither a time nor a duration", text),
			Hint: "as in --at 2026-12-01T08:00:00Z, or --at 90m",
		}
	}
	return now.Add(time.Duration(d)).UTC(), nil
}

// labelsOf reads the labels of a command line.
func labelsOf(given []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, l := range given {
		name, value, ok := strings.Cut(l, "=")
		_, twice := labels[name]
		switch {
		case !ok || name == "":
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "label", Message: "is not key=value", Hint: "as in --label tenant=acme"}
		case twice:
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "label", Message: "gives " + name + " twice", Hint: "give each key one value"}
		}
		labels[name] = value
	}
	return labels, nil
}
