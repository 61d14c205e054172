package ledger

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// opensNow returns how many gates of each task and name open with the fork.
func opensNow(p *commit.Plan) map[string]int {
	n := map[string]int{}
	for i := range p.Gates {
		n[p.Gates[i].Task+"\x00"+p.Gates[i].Name]++
	}
	return n
}

// A forkWalk reads the log of the source from the begin of its unfinished execution to its end.
type forkWalk struct {
	plan   *ForkPlan
	line   threadlog.Lineage
	source *posthouse.Header
	upTo   uint64 // the newest entry that counts for the execution; those after it are of the source alone
	opens  map[string]int
	open   map[posthouse.ID]*ForkGate // gates before the fork that have no decision there
	before []*decidedGate             // gates before the fork that have one, by the order of decisions
	tries  tries
	found  executions // as the headers have them, for the failures in them

	tasks   map[posthouse.ID]string          // gates of tasks, by what the record is called that hands them out again
	failed  map[posthouse.ID]*posthouse.Gate // tasks that failed before the fork, and that it does not inherit
	decided map[posthouse.ID]uint64          // after the checkpoint, with the entries
	heirs   map[posthouse.ID]posthouse.ID    // gates by those that they replaced
}

// A decidedGate is one that was decided before the fork.
type decidedGate struct {
	asked ForkGate
	by    ForkDecision
}

// newForkWalk returns a walk to a plan of what follows source, with the entries up to one of them.
func newForkWalk(p *ForkPlan, line threadlog.Lineage, source *posthouse.Header, upTo uint64, opens map[string]int) *forkWalk {
	return &forkWalk{
		plan: p, line: line, source: source, upTo: upTo, opens: opens, open: map[posthouse.ID]*ForkGate{},
		tasks: map[posthouse.ID]string{}, failed: map[posthouse.ID]*posthouse.Gate{}, decided: map[posthouse.ID]uint64{}, heirs: map[posthouse.ID]posthouse.ID{},
	}
}

// entry reads an entry. It reports whether the source's generation goes on.
func (w *forkWalk) entry(e *posthouse.Entry, recs []posthouse.Record) bool {
	for i := range recs {
		rec := &recs[i]
		switch {
		case rec.Release != nil && e.Seq > w.upTo:
			return false
		case rec.Step != nil && threadlog.IsTaskAgain(rec.Step):
			if e.Seq <= w.upTo && w.line.Sees(rec.Step.Branch, e.Seq) {
				w.handOutAgain(rec.Step)
			}
		case rec.Step != nil:
			w.step(e.Seq, i, rec.Step, rec.Size == 0)
		case rec.Gate != nil:
			w.gate(e.Seq, rec.Gate)
			w.noteGate(e.Seq, rec.Gate)
		case rec.Decision != nil && e.Seq <= w.upTo:
			w.decide(e.Seq, rec.Decision)
		case rec.Decision != nil:
			w.decided[rec.Decision.Gate] = e.Seq
		case rec.Checkpoint != nil && e.Seq > w.upTo && branchName(rec.Checkpoint.Branch) == branchName(w.source.Branch):
			w.plan.End = endAt(rec.Checkpoint)
		}
	}
	if e.Seq > w.upTo {
		return true
	}
	if w.line.AsksAgain(e, recs) {
		w.before = slices.DeleteFunc(w.before, func(g *decidedGate) bool {
			return posthouse.AsksPeople(g.asked.Kind) && g.by.Verdict == posthouse.Cancel && g.by.By == posthouse.RuntimeActor
		})
	}
	if w.line.RestartsStep(e, recs) {
		w.restart()
	}
	return true
}

// restart removes what a step that begins again does not know.
func (w *forkWalk) restart() {
	forgets := func(effect string) bool {
		return effect == "" || effect == posthouse.EffectPure.String() || effect == posthouse.EffectRead.String()
	}
	w.found.restart()
	w.plan.Kept = slices.DeleteFunc(w.plan.Kept, func(s ForkStep) bool { return forgets(s.Effect) })
	w.tries.list = slices.DeleteFunc(w.tries.list, func(t *TriedStep) bool { return t.Grant == "" && forgets(t.Effect) })
	w.before = slices.DeleteFunc(w.before, func(g *decidedGate) bool {
		return !posthouse.AsksPeople(g.asked.Kind) && g.asked.Kind != posthouse.GateThread
	})
}

func (w *forkWalk) step(seq uint64, at int, s *posthouse.StepInfo, empty bool) {
	before := seq <= w.upTo && w.line.Sees(s.Branch, seq)
	after := seq > w.upTo && branchName(s.Branch) == branchName(w.source.Branch)
	if before || after {
		w.found.step(seq, s, empty)
	}
	if s.Codec == threadlog.CodecFailed {
		return // no result
	}
	if before || after {
		w.plan.More += w.tries.add(seq, at, s)
	}
	if strings.Contains(s.Name, handler.Nested) {
		return // of the runtime, about a step that is listed itself
	}
	name := s.Name
	if strings.HasPrefix(name, "$") {
		if name != nodeDone {
			return // of the runtime, about an execution
		}
		name = nodeOf(s.Task)
	}
	step := ForkStep{s.Task, name, s.Occurrence, s.Effect.String(), s.Grant, seq}
	switch {
	case before:
		w.plan.Kept = w.add(w.plan.Kept, step)
	case after:
		w.plan.Again = w.add(w.plan.Again, step)
		w.act(&step)
	}
}

// act adds a step to those that act on the world, if it does.
func (w *forkWalk) act(s *ForkStep) {
	if s.Effect == posthouse.EffectWrite.String() || s.Effect == posthouse.EffectExternal.String() {
		w.plan.Acts = w.add(w.plan.Acts, *s)
	}
}

// nodeDone is the name of the result that a graph records of a node which completed beside others.
const nodeDone = "$done"

// nodeOf returns the node of an execution, as of "3/fetch#2>1/get".
func nodeOf(task string) string {
	escaped, _, _ := strings.Cut(task[strings.LastIndexByte(task, '/')+1:], "#")
	name, err := posthouse.UnescapeName(escaped)
	if err != nil {
		return escaped
	}
	return name
}

// branchName returns a branch by its name on record, which is empty for main.
func branchName(name string) string {
	if name == "" {
		return posthouse.MainBranch
	}
	return name
}

func (w *forkWalk) add(list []ForkStep, s ForkStep) []ForkStep {
	if len(list) == maxPlanned {
		w.plan.More++
		return list
	}
	return append(list, s)
}

func (w *forkWalk) gate(seq uint64, g *posthouse.GateInfo) {
	kind := g.Kind
	if kind == "" {
		kind = posthouse.GateApproval
	}
	if g.Supersedes != "" {
		w.heirs[g.Supersedes] = g.ID
	}
	if isRetry(g.Name) {
		return
	}
	asked := ForkGate{Gate: g.ID, Task: g.Task, Name: g.Name, Kind: kind, Seq: seq}
	if kind == posthouse.GateTask {
		w.tasks[g.ID] = threadlog.TaskAgain(g.Name, g.Occurrence)
	}
	switch {
	case seq <= w.upTo && w.line.Sees(g.Branch, seq):
		w.open[g.ID] = &asked
	case seq > w.upTo && branchName(g.Branch) == branchName(w.source.Branch) && g.Supersedes == "" && kind != posthouse.GateOutcome:
		w.asks(asked) // one about an outcome comes of an attempt, which is among those that were tried
	}
}

// isRetry reports whether a wait is that for another attempt.
func isRetry(gate string) bool {
	return strings.HasPrefix(gate[strings.LastIndex(gate, handler.Nested)+1:], "$")
}

// decide notes a decision that the fork inherits.
func (w *forkWalk) decide(seq uint64, d *posthouse.DecideInfo) {
	g, ok := w.open[d.Gate]
	if !ok {
		return
	}
	delete(w.open, d.Gate)
	by := ForkDecision{Gate: g.Gate, Task: g.Task, Name: g.Name, Kind: g.Kind, Verdict: d.Verdict, By: d.By, Seq: seq}
	w.before = append(w.before, &decidedGate{asked: *g, by: by})
}

// handOutAgain drops the answers to a task that a fork did not inherit.
func (w *forkWalk) handOutAgain(s *posthouse.StepInfo) {
	w.before = slices.DeleteFunc(w.before, func(g *decidedGate) bool {
		return g.asked.Task == s.Task && w.tasks[g.asked.Gate] == s.Name
	})
}

func (w *forkWalk) asks(g ForkGate) {
	if len(w.plan.Asks) == maxPlanned {
		w.plan.More++
		return
	}
	w.plan.Asks = append(w.plan.Asks, g)
}

// end adds the gates that were open at the checkpoint, before those that came after it, and the steps
// that were tried.
func (w *forkWalk) end() {
	later := w.plan.Asks
	w.plan.Asks = []ForkGate{}
	for _, id := range slices.Sorted(maps.Keys(w.open)) {
		g := *w.open[id]
		if key := g.Task + "\x00" + g.Name; w.opens[key] > 0 {
			w.opens[key]--
			g.Open = true
		}
		w.asks(g)
	}
	w.plan.Asks = append(w.plan.Asks, later...)
	for i := range w.plan.Asks {
		a := &w.plan.Asks[i]
		a.Waits = posthouse.AsksPeople(a.Kind) && w.waits(a.Gate)
	}
	for _, t := range w.tries.list {
		w.act(&t.ForkStep)
	}
	w.plan.Stands = w.found.standing(func(f *threadlog.Failure) bool { return f.Step.Seq > w.upTo })
}

// noteGate notes a wait or a question for the failures before it.
func (w *forkWalk) noteGate(seq uint64, g *posthouse.GateInfo) {
	before := seq <= w.upTo && w.line.Sees(g.Branch, seq)
	if before || seq > w.upTo && branchName(g.Branch) == branchName(w.source.Branch) {
		w.found.gate(seq, g)
	}
}

// read completes the plan by what only bodies say: which of the earlier decisions answer in the fork,
// and why attempts failed.
func (w *forkWalk) read(ctx context.Context, l *Ledger, thread string) error {
	b := bodies{}
	proposals := map[posthouse.ID]bool{}
	for i := range w.plan.Asks {
		w.wantFailure(b, &w.plan.Asks[i])
	}
	for _, g := range w.before {
		if posthouse.AsksPeople(g.asked.Kind) {
			b.want(g.asked.Seq, func(e *posthouse.Entry, recs []posthouse.Record) error {
				return noteProposal(e, recs, g.asked.Gate, proposals)
			})
		}
	}
	for _, t := range w.tries.list {
		t.wantError(b)
	}
	wantErrors(b, w.plan.Stands)
	if err := b.read(ctx, l, thread); err != nil {
		return err
	}
	again := []ForkGate{}
	for _, g := range w.before {
		if failed := w.failed[g.asked.Gate]; failed != nil {
			g.asked.Failed, proposals[g.asked.Gate] = whyFailed(failed.Decision), true
		}
		switch {
		case w.heirs[g.asked.Gate] != "":
		case !proposals[g.asked.Gate] && len(w.plan.Decided) == maxPlanned:
			w.plan.More++
		case !proposals[g.asked.Gate]:
			w.plan.Decided = append(w.plan.Decided, g.by)
		case len(again) < maxPlanned:
			again = append(again, g.asked)
		default:
			w.plan.More++
		}
	}
	w.plan.Asks = append(again, w.plan.Asks...)
	for _, t := range w.tries.list {
		w.plan.Tried = append(w.plan.Tried, *t)
	}
	return nil
}

// wantFailure has read why a task failed for good after the checkpoint, if it did.
func (w *forkWalk) wantFailure(b bodies, asked *ForkGate) {
	last := w.last(asked.Gate)
	if asked.Kind != posthouse.GateTask || w.decided[last] == 0 {
		return
	}
	b.want(w.decided[last], func(e *posthouse.Entry, recs []posthouse.Record) error {
		for i := range recs {
			d := recs[i].Decision
			if d == nil || d.Gate != last || d.Verdict != posthouse.Reject && d.Verdict != posthouse.Expire || len(e.Bodies[i]) == 0 {
				continue
			}
			decision, err := threadlog.ReadDecisionBody(e, &recs[i], e.Bodies[i])
			if err != nil {
				return err
			}
			if !decision.Unknown {
				asked.Failed = whyFailed(decision)
			}
		}
		return nil
	})
}

// whyFailed says why a task failed for good.
func whyFailed(d *posthouse.Decision) string {
	if d.Verdict == posthouse.Expire {
		return cmp.Or(d.Reason, "its deadline passed")
	}
	return cmp.Or(d.Reason, "its worker gave it up")
}

// noteProposal notes a gate with a decision that licenses effects on its own branch: a fork asks it again.
func noteProposal(e *posthouse.Entry, recs []posthouse.Record, id posthouse.ID, proposals map[posthouse.ID]bool) error {
	for i := range recs {
		if r := &recs[i]; r.Gate == nil || r.Gate.ID != id || len(e.Bodies[i]) == 0 {
			continue
		}
		g, err := posthouse.ReadGateBody(e, &recs[i], e.Bodies[i])
		if err != nil {
			return err
		}
		proposals[id] = g.Uses > 0
	}
	return nil
}

// waits reports whether a gate, or one in its place, has no decision.
func (w *forkWalk) waits(id posthouse.ID) bool { return w.decided[w.last(id)] == 0 }

// last returns the newest of a gate and those in its place.
func (w *forkWalk) last(id posthouse.ID) posthouse.ID {
	for {
		heir, ok := w.heirs[id]
		if !ok {
			return id
		}
		id = heir
	}
}
