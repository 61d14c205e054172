package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// A ResumePlan says what runs and acts once a branch goes on from its head, as far as the record
// shows: a program may do more once it is there. Each list has at most 1,000 elements.
type ResumePlan struct {
	Thread   string           `json:"thread"`
	Branch   string           `json:"branch"`
	Head     posthouse.ID     `json:"head"`               // the checkpoint that it goes on from
	Status   posthouse.Status `json:"status"`             // of the branch as it is
	Next     []string         `json:"next"`               // the nodes that run
	Error    string           `json:"error,omitempty"`    // why the branch failed
	Attempts int              `json:"attempts,omitempty"` // of the node that failed, as its checkpoint says

	Kept  []ForkStep  `json:"kept"`  // results on record of the nodes that run: they are not computed again
	Tried []TriedStep `json:"tried"` // steps of these nodes that failed before, and are tried again

	// Stands are the calls that failed and are not made again: the program did something because of
	// that, and it is on record in Behind. If one of them has Ended, a resume ends with its error again.
	Stands []StandingFailure `json:"stands"`

	Acts []ResumeAct `json:"acts"`           // effects that may run under decisions that stand: people are asked again only if Asks says so
	Asks []ForkGate  `json:"asks"`           // questions and other waits that are open on the branch
	More int         `json:"more,omitempty"` // elements beyond the first 1,000 of each list
	Fork *ForkPlan   `json:"fork,omitempty"` // of a fork that has not run yet: what its source did after the place of the fork
}

// A ResumeAct is what a decision on the branch still licenses: an effect that began and has no result,
// or a number of effects that did not begin.
type ResumeAct struct {
	Gate     posthouse.ID        `json:"gate"`
	Question string              `json:"question"`           // its text, or its name
	Decision *posthouse.Decision `json:"decision"`           // who decided, when and why
	Content  json.RawMessage     `json:"content,omitempty"`  // what was approved: as it was shown, or as it was edited
	Approval grants.Approval     `json:"approval,omitempty"` // usable, or lapsed
	Licenses int                 `json:"licenses,omitempty"` // where no effect has begun: how many may

	Task       string            `json:"task,omitempty"` // the execution that the effect began in
	Name       string            `json:"name,omitempty"` // of the effect that began
	Occurrence uint32            `json:"occurrence,omitempty"`
	Effect     string            `json:"effect,omitempty"`  // its class
	Status     grants.Status     `json:"status,omitempty"`  // decided: it is known not to have acted; released: it goes on; unknown
	Attempt    int               `json:"attempt"`           // the number of the next attempt, from 1
	Error      string            `json:"error,omitempty"`   // why the newest attempt did not act
	Outcome    posthouse.Verdict `json:"outcome,omitempty"` // how people answered what became of the newest attempt
	Asks       bool              `json:"asks,omitempty"`    // people are asked before it acts: the approval lapsed, or it is not known what became of the newest attempt, unless the program finds that out or may repeat it

	seq uint64 // of the newest record about the effect
	at  int    // its place in the entry
}

// PlanResume returns what would run and act if a branch went on from its head; "" is main. It writes
// nothing. [posthouse.ErrNotFound] for an unknown thread or branch, [posthouse.ErrConflict] for a branch
// that waits or has ended. It reads the headers of the current generation, and the questions of its decisions.
func PlanResume(ctx context.Context, l *Ledger, thread, branch string) (*ResumePlan, error) {
	info, err := l.core.Logs.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	b, ok := info.Branch(branch)
	if !ok {
		return nil, posthouse.NotFound("branch "+cmp.Or(branch, posthouse.MainBranch)+" of thread", thread)
	}
	h, err := l.core.Logs.Reader(ctx, thread).Header(b.Seq)
	if err != nil {
		return nil, err
	}
	if b.Status == posthouse.StatusWaiting || b.Status == posthouse.StatusDone || b.Status == posthouse.StatusCancelled || len(h.Next) == 0 {
		return nil, &posthouse.Error{Code: posthouse.CodeConflict, Head: b.Head, Message: "branch " + b.Branch + " of thread " + thread + " has nothing to resume", Hint: "it waits or has ended: decide its gate, or replay from an earlier checkpoint"}
	}
	p := &ResumePlan{
		Thread: thread, Branch: b.Branch, Head: b.Head, Status: b.Status, Next: slices.Clone(h.Next), Error: h.Error, Attempts: h.Attempts,
		Kept: []ForkStep{}, Tried: []TriedStep{}, Stands: []StandingFailure{}, Acts: []ResumeAct{}, Asks: []ForkGate{},
	}
	outcomes, err := p.walk(ctx, l, h)
	if err != nil {
		return nil, err
	}
	if err := p.act(ctx, l, info, outcomes); err != nil {
		return nil, err
	}
	if err := p.readErrors(ctx, l); err != nil {
		return nil, err
	}
	return p, p.fork(ctx, l, h)
}

// An outcome is what people said became of an attempt.
type outcome struct {
	verdict posthouse.Verdict
	seq     uint64
	at      time.Time // when a person had it done again, zero for other answers
}

// outcomeOf returns what a decision says of an attempt that a gate asks about.
func outcomeOf(g *posthouse.GateInfo, d *posthouse.DecideInfo, e *posthouse.Entry) outcome {
	o := outcome{verdict: g.Said(d.Verdict), seq: e.Seq}
	if d.Verdict == posthouse.Redo && d.By != effect.ReconcileActor {
		o.at = e.Time()
	}
	return o
}

// walk reads what the unfinished executions of the branch have on record.
func (p *ResumePlan) walk(ctx context.Context, l *Ledger, h *posthouse.Header) (map[string]outcome, error) {
	line, err := l.core.Logs.Reader(ctx, h.Thread).Lineage(h)
	if err != nil {
		return nil, err
	}
	scratch := &ForkPlan{}
	w := newForkWalk(scratch, line, h, ^uint64(0), map[string]int{})
	outcomes, asked := map[string]outcome{}, map[posthouse.ID]*posthouse.GateInfo{}
	for e, err := range l.core.Logs.InOrder(ctx, h.Thread, posthouse.Range{From: line[len(line)-1].From, Headers: true}) {
		if err != nil {
			return nil, err
		}
		recs, err := e.CheckRecords()
		if err != nil {
			return nil, err
		}
		w.entry(e, recs)
		for i := range recs {
			switch r := &recs[i]; {
			case r.Gate != nil && r.Gate.Kind == posthouse.GateOutcome && line.Sees(r.Gate.Branch, e.Seq):
				if strings.Contains(r.Gate.Name, handler.Nested) {
					asked[r.Gate.ID] = r.Gate
				}
			case r.Decision != nil && asked[r.Decision.Gate] != nil:
				g := asked[r.Decision.Gate]
				outcomes[effectKey(g.Task, g.Name[:strings.LastIndex(g.Name, handler.Nested)])] = outcomeOf(g, r.Decision, e)
			}
		}
	}
	w.end()
	p.Kept, p.Asks, p.More = append(p.Kept, scratch.Kept...), append(p.Asks, scratch.Asks...), scratch.More
	for i := range p.Asks {
		p.Asks[i].Open = true
	}
	p.Stands = w.found.standing(func(f *threadlog.Failure) bool { return true })
	for i := range p.Stands {
		f := &p.Stands[i]
		f.Ended = h.Status == posthouse.StatusFailed && f.ended == h.Seq
	}
	for _, t := range w.tries.list {
		if t.Status == "" { // an effect under a grant is among those that act
			p.Tried = append(p.Tried, *t)
		}
	}
	return outcomes, nil
}

func effectKey(task, call string) string { return task + "\x00" + call }

// act lists what the decisions on the branch still license.
func (p *ResumePlan) act(ctx context.Context, l *Ledger, info *posthouse.ThreadInfo, outcomes map[string]outcome) error {
	all, _, err := l.core.Logs.Approvals(ctx, info)
	if err != nil {
		return err
	}
	for _, a := range all {
		how := a.Approval(info, l.core.Now())
		if !how.Kept() || a.Gate.Branch != p.Branch {
			continue
		}
		if a.Gate.PastValidity(l.core.Now()) {
			how = grants.ApprovalLapsed // also for an effect that is known not to have acted: it is a new attempt
		}
		for _, act := range actsUnder(a, how, outcomes, l.core.Now()) {
			if len(p.Acts) == maxPlanned {
				p.More++
				continue
			}
			p.Acts = append(p.Acts, act)
		}
	}
	return nil
}

// actsUnder lists the effects that began under a decision and have no result, and those that did not begin.
// An effect that people had done again is licensed from then on for as long as the decision was.
func actsUnder(a *threadlog.Approved, how grants.Approval, outcomes map[string]outcome, now time.Time) (acts []ResumeAct) {
	g := a.Gate
	of := ResumeAct{Gate: g.ID, Question: cmp.Or(g.Text, g.Name), Decision: g.Decision, Content: g.Licensed(), Approval: how, Attempt: 1, Asks: how == grants.ApprovalLapsed}
	left := g.Uses
	for i := range a.Uses {
		u := &a.Uses[i]
		if u.Branch != g.Branch {
			continue
		}
		left--
		if u.Status == grants.Executed {
			continue
		}
		act := of
		act.Task, act.Name, act.Occurrence, act.Effect, act.Status, act.Attempt = u.Task, u.Name, u.Occurrence, u.Effect.String(), u.Status, u.Failed+1
		act.seq, act.at = u.Seq, u.Index
		if u.Status != grants.Decided {
			act.Attempt++
			act.Approval, act.Asks = grants.ApprovalUsable, u.Status == grants.Unknown // it began under the decision
		}
		if o := outcomes[effectKey(u.Task, handler.Call(u.Name, u.Occurrence))]; o.seq > u.Seq {
			act.Outcome, act.Asks = o.verdict, false
			if o.verdict == posthouse.Redo && g.ValidFor > 0 {
				act.Approval = how
				if !o.at.IsZero() {
					act.Approval = grants.ApprovalUsable
					if now.After(o.at.Add(g.ValidFor)) {
						act.Approval = grants.ApprovalLapsed
					}
				}
				act.Asks = act.Approval == grants.ApprovalLapsed
			}
		}
		acts = append(acts, act)
	}
	if left > 0 {
		of.Licenses = left
		acts = append(acts, of)
	}
	return acts
}

// readErrors reads why attempts failed. A record that cannot be read gives no reason.
func (p *ResumePlan) readErrors(ctx context.Context, l *Ledger) error {
	b := bodies{}
	for i := range p.Acts {
		if a := &p.Acts[i]; a.Status == grants.Decided {
			b.want(a.seq, func(e *posthouse.Entry, _ []posthouse.Record) error {
				a.Error = errorIn(e.Bodies[a.at])
				return nil
			})
		}
	}
	for i := range p.Tried {
		p.Tried[i].wantError(b)
	}
	wantErrors(b, p.Stands)
	return b.read(ctx, l, p.Thread)
}

// fork adds what the source of a fork did after the fork's place, if nothing ran on the fork yet.
func (p *ResumePlan) fork(ctx context.Context, l *Ledger, h *posthouse.Header) error {
	if h.Kind != posthouse.KindFork || h.Source == nil {
		return nil
	}
	f, err := PlanFork(ctx, l, h.Source.ID, nil)
	if errors.Is(err, posthouse.ErrNotFound) || errors.Is(err, posthouse.ErrSealed) {
		return nil // the source is gone, or cannot be read
	}
	if err != nil {
		return err
	}
	f.Thread, f.Branch, f.Status, f.Next = p.Thread, p.Branch, p.Status, slices.Clone(p.Next)
	p.Fork = f
	if err := f.route(ctx, l, h); err != nil {
		return err
	}
	return f.keepInherited(ctx, l, h)
}

// route says how the next nodes of the fork h are chosen.
func (p *ForkPlan) route(ctx context.Context, l *Ledger, h *posthouse.Header) error {
	source, err := l.core.ReadCheckpoint(ctx, h.Source.ID)
	if err != nil {
		return err
	}
	c, err := l.core.ReadCheckpoint(ctx, h.ID)
	if err != nil {
		return err
	}
	p.Routes = routesOf(source, differs(c.State, source.State), threadlog.KeepsNext(h, c.Program))
	return nil
}

// keepInherited moves failures of tasks that the fork h inherited to the answers that count there:
// a fork that an earlier version made inherited them.
func (p *ForkPlan) keepInherited(ctx context.Context, l *Ledger, h *posthouse.Header) error {
	if !slices.ContainsFunc(p.Asks, func(g ForkGate) bool { return g.Failed != "" }) {
		return nil
	}
	executions, err := l.core.Executions(ctx, h)
	if err != nil {
		return err
	}
	p.Asks = slices.DeleteFunc(p.Asks, func(g ForkGate) bool {
		x := executions[g.Task]
		if g.Failed == "" || x == nil {
			return false
		}
		i := slices.IndexFunc(x.Gates, func(o *posthouse.Gate) bool { return threadlog.HasFailed(o) && (o.ID == g.Gate || o.Origin == g.Gate) })
		if i < 0 {
			return false
		}
		d := x.Gates[i].Decision
		p.Decided = append(p.Decided, ForkDecision{Gate: g.Gate, Task: g.Task, Name: g.Name, Kind: g.Kind, Verdict: d.Verdict, By: d.By, Seq: d.Seq})
		return true
	})
	return nil
}
