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
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server"
)

// routed says how the next nodes of a fork with another state are chosen.
func routed(p *ledger.ForkPlan) string {
	switch p.Routes {
	case "again":
		return " at the source; routes and maps choose again from the fork's state"
	case "kept":
		return ", kept as the source chose them"
	}
	return ""
}

// showPlan prints what a fork of a checkpoint would do.
func showPlan(e *env.Env, c *server.Checkpoint) {
	p := c.Plan
	e.Line("would be made: branch %s of thread %s, %s", term.Visible(p.Branch), term.Visible(p.Thread), p.Status)
	e.Fields("next", term.Visible(strings.Join(p.Next, ", "))+routed(p))
	var kept, answers, again, acts, asks []string
	for _, s := range p.Kept {
		kept = append(kept, planned(s.Task, s.Name, s.Effect, ""))
	}
	for _, d := range p.Decided {
		answers = append(answers, planned(d.Task, d.Name, d.Kind, string(d.Verdict)+" by "+term.Visible(d.By)))
	}
	tried := map[string]string{}
	for i := range p.Tried {
		s := &p.Tried[i]
		tried[stepKey(s.Task, s.Name, s.Occurrence)] = triedSo(s.Status, s.Attempts, s.Error)
	}
	acting := map[string]bool{}
	for i := range p.Acts {
		s := &p.Acts[i]
		note := "without a grant"
		if s.Grant != "" {
			note = "asks again before, as the decision of " + string(s.Grant) + " does not count there"
		}
		line, key := planned(s.Task, s.Name, s.Effect, note), stepKey(s.Task, s.Name, s.Occurrence)
		if so := tried[key]; so != "" {
			line += ": " + so
		}
		acts, acting[key] = append(acts, line), true
	}
	for i := range p.Again {
		if s := &p.Again[i]; !acting[stepKey(s.Task, s.Name, s.Occurrence)] {
			again = append(again, planned(s.Task, s.Name, s.Effect, ""))
		}
	}
	for i := range p.Tried {
		s := &p.Tried[i]
		if key := stepKey(s.Task, s.Name, s.Occurrence); !acting[key] {
			again = append(again, planned(s.Task, s.Name, s.Effect, "")+": "+tried[key])
		}
	}
	for _, g := range p.Asks {
		line := planned(g.Task, g.Name, g.Kind, whenAsked(g.Open, g.Waits))
		if g.Failed != "" {
			line += ": handed out again, as it failed with " + term.Clip(term.Visible(g.Failed), 200)
		}
		asks = append(asks, line)
	}
	listed(e, "kept, and not computed again", kept)
	listed(e, "answered, and not asked again about the same", answers)
	listed(e, "run again", again)
	listed(e, "failed, and is made again", standing(p.Stands))
	listed(e, "asked again", asks)
	listed(e, "acts on the world again", acts)
	if p.More > 0 {
		e.Line("\nand %d more", p.More)
	}
	if len(p.Next) > 0 {
		e.Line("")
		showEnd(e, c)
	}
	e.Line("\nnothing was forked: leave --dry-run out")
}

func stepKey(task, name string, occurrence uint32) string {
	return fmt.Sprint(task, "\x00", name, "\x00", occurrence)
}

// listed prints a list under its title, if there is something in it.
func listed(e *env.Env, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	e.Line("\n%s", title)
	for _, line := range lines {
		e.Line("  %s", line)
	}
}

// triedSo says how the attempts of a step ended, the last one with an error.
func triedSo(status grants.Status, attempts int, failure string) string {
	so := "failed in " + term.Count(attempts, "attempt")
	switch status {
	case grants.Decided:
		so = "did not act in " + term.Count(attempts, "attempt")
	case grants.Unknown:
		so = "it is not known whether it acted; people are asked first, unless the program may repeat it"
	case grants.Released:
		so = "it began, and waits for something"
	}
	if failure != "" {
		so += ": " + term.Clip(term.Visible(failure), 200)
	}
	return so
}

// whenAsked says when a fork asks a question that its source asked.
func whenAsked(open, waits bool) string {
	when := "once it comes there"
	if open {
		when = "at once"
	}
	if waits {
		when += ", and stays open on the branch that is there: approve both, and it is done twice"
	}
	return when
}

// standing lists calls that failed, with what the program did because of that.
func standing(list []ledger.StandingFailure) (lines []string) {
	for i := range list {
		f := &list[i]
		line := planned(f.Task, callOf(&f.ForkStep), f.Effect, "") + ": " + term.Clip(term.Visible(f.Error), 200)
		if f.Ended {
			line += " (a resume ends with that again)"
		}
		lines = append(lines, line)
		for j := range f.Behind {
			lines = append(lines, "  "+planned("", callOf(&f.Behind[j]), f.Behind[j].Effect, "")+": stays done")
		}
	}
	return lines
}

func callOf(s *ledger.ForkStep) string {
	if s.Occurrence == 0 {
		return s.Name
	}
	return s.Name + "[" + strconv.Itoa(int(s.Occurrence)) + "]"
}

// showEnd says how far the source shows what a fork does, and what is not known.
func showEnd(e *env.Env, c *server.Checkpoint) {
	end := &c.Plan.End
	branch, next := term.Visible(end.Branch), term.Visible(strings.Join(end.Next, ", "))
	switch {
	case len(end.Next) == 0:
		e.Line("that is what %s did up to its end at #%d; with another state or another answer it may go another way", branch, end.Seq)
		return
	case end.Status == posthouse.StatusFailed:
		e.Line("%s failed in %s at #%d: %s", branch, next, end.Seq, term.Clip(term.Visible(end.Error), 200))
	default:
		e.Line("%s has come to %s, %s at #%d", branch, next, end.Status, end.Seq)
	}
	e.Line("what else %s asks or does is not known: its code decides that as it runs", next)
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
	next := term.Visible(strings.Join(p.Next, ", "))
	if p.Fork != nil {
		next += routed(p.Fork)
	}
	e.Fields("next", next, "failed with", term.Clip(term.Visible(p.Error), 200))
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
	listed(e, "failed, and is not made again", standing(p.Stands))
	listed(e, "tried again", tried)
	listed(e, "asks or waits", asks)
	listed(e, "kept, and not computed again", kept)
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
	case outcome == posthouse.GiveUp:
		return "does not act, it was given up"
	case outcome == posthouse.Happened:
		return "does not act, its result was given"
	case asks:
		return "it is not known what became of the last attempt; people are asked first, unless the program may repeat it"
	}
	return "may act, and people are not asked again"
}
