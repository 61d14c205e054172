package threads

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/server"
)

// showPlan prints what a fork of a checkpoint would do.
func showPlan(e *env.Env, c *server.Checkpoint) {
	p := c.Plan
	e.Line("would be made: branch %s of thread %s, %s", term.Visible(p.Branch), term.Visible(p.Thread), p.Status)
	e.Fields("next", term.Visible(strings.Join(p.Next, ", ")))
	var kept, again, acts, asks []string
	for _, s := range p.Kept {
		kept = append(kept, planned(s.Task, s.Name, s.Effect, ""))
	}
	acting := map[string]bool{}
	for _, s := range p.Acts {
		note := "without a grant"
		if s.Grant != "" {
			note = "asks again before"
		}
		acts = append(acts, planned(s.Task, s.Name, s.Effect, note))
		acting[fmt.Sprint(s.Task, "\x00", s.Name, s.Occurrence)] = true
	}
	for _, s := range p.Again {
		if !acting[fmt.Sprint(s.Task, "\x00", s.Name, s.Occurrence)] {
			again = append(again, planned(s.Task, s.Name, s.Effect, ""))
		}
	}
	for _, g := range p.Asks {
		when := "once it comes there"
		if g.Open {
			when = "at once"
		}
		asks = append(asks, planned(g.Task, g.Name, g.Kind, when))
	}
	for _, list := range []struct {
		title string
		lines []string
	}{{"kept, and not computed again", kept}, {"run again", again}, {"asked again", asks}, {"acts on the world again", acts}} {
		if len(list.lines) == 0 {
			continue
		}
		e.Line("\n%s", list.title)
		for _, line := range list.lines {
			e.Line("  %s", line)
		}
	}
	if p.More > 0 {
		e.Line("\nand %d more", p.More)
	}
	e.Line("\nnothing was forked: leave --dry-run out")
}

// planned is a line about a step or a question.
func planned(task, name, class, note string) string {
	if task != "" {
		name = task + ": " + name
	}
	var more []string
	for _, s := range []string{class, note} {
		if s != "" {
			more = append(more, s)
		}
	}
	if len(more) == 0 {
		return term.Visible(name)
	}
	return term.Visible(name) + " (" + strings.Join(more, ", ") + ")"
}
