package people

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/holders"
	"github.com/posthouse/posthouse/waits"
)

// Waits returns the command waits.
func Waits(e *env.Env) *cobra.Command {
	var from, to, question, program string
	cmd := &cobra.Command{
		Use: "waits", Short: "Report how long questions waited, by question and person",
		Long: `Report how long questions waited, by question and person.

What is open counts as it is now; what was decided, expired or was withdrawn, if that was in
the period. OPEN SINCE and WAIT are the median and the longest; --json has more.`,
		Example: `  posthouse waits
  posthouse waits --from 2026-11-01T00:00:00Z --to 2026-12-01T00:00:00Z --question refund`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			q := url.Values(env.Params("from", from, "to", to, "question", question, "program", program))
			return env.Get(ctx, e, c, "/api/waits", q, func(r *waits.Report) { showWaits(e, r) })
		}),
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "what was decided before does not count; 30 days ago unless given")
	f.StringVar(&to, "to", "", "nor what was decided from then on; now unless given")
	f.StringVar(&question, "question", "", "only questions of this name")
	f.StringVar(&program, "program", "", "only what this program asks")
	return cmd
}

func showWaits(e *env.Env, r *waits.Report) {
	if len(r.Questions) == 0 {
		e.Line("no question waited in the period")
	} else {
		var rows [][]string
		row := func(question, person string, f *waits.Figures) {
			rows = append(rows, []string{
				question, person, strconv.Itoa(f.Open), spread(f.OpenSince), strconv.Itoa(f.Decided), spread(f.Wait), strconv.Itoa(f.Expired),
			})
		}
		for _, q := range r.Questions {
			row(term.Clip(term.Visible(q.Question), 40), "", &q.Figures)
			for _, p := range q.People {
				name := term.Visible(p.Person)
				if name == "" {
					name = "(anyone)"
				}
				row("", name, &p.Figures)
			}
		}
		e.Table([]string{"QUESTION", "PERSON", "OPEN", "OPEN SINCE", "DECIDED", "WAIT", "EXPIRED"}, rows)
	}
	if r.More {
		e.Line("there are more: ask for a shorter period, or for one question")
	}
}

func spread(s *waits.Spread) string {
	if s == nil {
		return "-"
	}
	return rounded(s.Median) + ", " + rounded(s.Longest)
}

func rounded(l waits.Length) string {
	d := time.Duration(l)
	switch {
	case d >= time.Hour:
		d = d.Round(time.Minute)
	case d >= time.Minute:
		d = d.Round(time.Second)
	}
	return d.String()
}

// Processes returns the command processes.
func Processes(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "processes", Short: "List processes with the threads they hold",
		Long: `List processes with the threads they hold.

A process that runs a thread holds its lease. One that is silent for the time of a lease
loses its threads to others. Threads that wait are held by no process.`,
		Example: `  posthouse processes`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			return env.Get(ctx, e, c, "/api/processes", nil, func(r *holders.Report) {
				var rows [][]string
				for _, p := range r.Processes {
					state := "alive"
					if p.Silent {
						state = "silent"
					}
					first := ""
					if len(p.Some) > 0 {
						first = p.Some[0].Thread
					}
					rows = append(rows, []string{p.Process, strconv.Itoa(p.Threads), state, first})
				}
				if len(rows) > 0 {
					e.Table([]string{"PROCESS", "THREADS", "STATE", "ONE OF THEM"}, rows)
				} else {
					e.Line("no process holds a thread")
				}
				if r.Free > 0 {
					e.Line("%s can go on and wait for a process", term.Count(r.Free, "thread"))
				}
				if r.More {
					e.Line("there are more, which were not looked at")
				}
			})
		}),
	}
}
