package threads

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/grants"
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
		if g.Waits {
			when += ", and stays open on the branch that is there: approve both, and it is done twice"
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
	if len(p.Next) > 0 {
		e.Line("\nwhat %s does that was not done before is not on record: it may ask or act", term.Visible(strings.Join(p.Next, ", ")))
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

// wouldResume says what a resume would run and do.
func wouldResume(ctx context.Context, e *env.Env, c *client.Client, id string) error {
	var answer server.Checkpoint
	if err := c.Do(ctx, http.MethodPost, startPath(id, "resume"), env.Params("dryRun", "true"), nil, &answer); err != nil {
		return err
	}
	return e.Answer(answer.Resumes, func() { showResume(e, &answer) })
}

func showResume(e *env.Env, c *server.Checkpoint) {
	p := c.Resumes
	e.Line("would go on: branch %s of thread %s, %s", term.Visible(p.Branch), term.Visible(p.Thread), p.Status)
	e.Fields("next", term.Visible(strings.Join(p.Next, ", ")), "failed with", term.Clip(term.Visible(p.Error), 200))
	for _, a := range p.Acts {
		what := term.Count(a.Licenses, "effect") + " that did not begin"
		if a.Name != "" {
			what = term.Visible(a.Name) + ", attempt " + strconv.Itoa(a.Attempt)
		}
		e.Line("\n→ %s: %s", what, willAsk(a.Approval, a.Outcome, a.Asks))
		e.Fields("approved", term.Clip(term.Visible(a.Question), 200), "decision", tree.Decision(a.Decision), "gate", string(a.Gate), "last attempt", term.Clip(term.Visible(a.Error), 200))
		e.QuoteJSON(shownOf(a.Content))
	}
	var kept, tried, asks []string
	for _, s := range p.Kept {
		kept = append(kept, planned(s.Task, s.Name, s.Effect, ""))
	}
	for _, s := range p.Tried {
		line := planned(s.Task, s.Name, "", "attempt "+strconv.Itoa(s.Attempts+1))
		if s.Error != "" {
			line += ": the last one failed with " + term.Clip(term.Visible(s.Error), 100)
		}
		tried = append(tried, line)
	}
	for _, g := range p.Asks {
		asks = append(asks, planned(g.Task, g.Name, g.Kind, "still open"))
	}
	for _, list := range []struct {
		title string
		lines []string
	}{{"tried again", tried}, {"asks or waits", asks}, {"kept, and not computed again", kept}} {
		if len(list.lines) == 0 {
			continue
		}
		e.Line("\n%s", list.title)
		for _, line := range list.lines {
			e.Line("  %s", line)
		}
	}
	if p.Fork != nil {
		e.Line("\nit is a fork that has not run; as far as its source shows it keeps %d results, runs %d again, acts %d times and asks %d times: posthouse checkpoint fork --dry-run lists them",
			len(p.Fork.Kept), len(p.Fork.Again), len(p.Fork.Acts), len(p.Fork.Asks))
	}
	if p.More > 0 {
		e.Line("\nand %d more", p.More)
	}
	e.Line("\nwhat the program does after that is not on record\nnothing was resumed: leave --dry-run out")
}

// willAsk says whether people are asked before an effect that a decision licenses.
func willAsk(approval grants.Approval, outcome posthouse.Verdict, asks bool) string {
	switch {
	case approval == grants.ApprovalLapsed:
		return "people are asked again first, the approval has lapsed"
	case outcome == posthouse.Reject:
		return "does not act, it was given up"
	case outcome == posthouse.Respond:
		return "does not act, its result was given"
	case asks:
		return "it is not known what became of the last attempt; people are asked first, unless the program may repeat it"
	}
	return "may act, and people are not asked again"
}
