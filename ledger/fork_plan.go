package ledger

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// A ForkPlan says what [Ledger.Fork] would do with the same options, and what its program would do
// again after the checkpoint, as far as the source's branch shows: with another state it may go
// another way. Where the source failed or stopped, nothing shows what Next would ask or do.
type ForkPlan struct {
	Thread string           `json:"thread"` // of the fork
	Branch string           `json:"branch"` // of the fork; another one if it is taken by then
	Status posthouse.Status `json:"status"` // that it begins with; interrupted: it goes on once it is resumed
	Next   []string         `json:"next"`   // the nodes that run once it goes on

	Kept  []ForkStep `json:"kept"`           // results on record that count in the fork, and are not computed again
	Again []ForkStep `json:"again"`          // results that the source recorded after the checkpoint, and the fork would record again
	Acts  []ForkStep `json:"acts"`           // those of Again that act on the world: of class write or external
	Asks  []ForkGate `json:"asks"`           // questions that the fork asks at once, or again
	More  int        `json:"more,omitempty"` // results and questions beyond the first 1,000 of each list
}

// A ForkStep is a result on record, without its value.
type ForkStep struct {
	Task       string       `json:"task"`
	Name       string       `json:"name"`             // of a node that completed beside others: the node's
	Occurrence uint32       `json:"occurrence"`       // counts results of one name in one execution, from 0
	Effect     string       `json:"effect,omitempty"` // pure, read, write, external or human
	Grant      posthouse.ID `json:"grant,omitempty"`  // the gate with the decision that licensed it: the fork asks again before it acts
	Seq        uint64       `json:"seq"`              // of the entry that has it
}

// A ForkGate is a question of the source.
type ForkGate struct {
	Gate posthouse.ID `json:"gate"`           // of the source
	Task string       `json:"task,omitempty"` // the execution that asked
	Name string       `json:"name"`
	Kind string       `json:"kind"`
	Seq  uint64       `json:"seq"`  // of the entry that opened it
	Open bool         `json:"open"` // it opens with the fork; otherwise the program asks once it comes there

	// Waits says that people are asked on the source's branch now, by the gate or one in its place. That
	// stays open: an approval of both has its effect done twice.
	Waits bool `json:"waits,omitempty"`
}

// maxPlanned bounds each list of a [ForkPlan].
const maxPlanned = 1000

// PlanFork returns what a fork would keep, run again, and ask or do again. It writes nothing, and
// fails as [Ledger.Fork] would.
func PlanFork(ctx context.Context, l *Ledger, id posthouse.ID, o *ForkOptions) (*ForkPlan, error) {
	if o == nil {
		o = &ForkOptions{}
	}
	c, err := l.core.ReadCheckpoint(ctx, id)
	if err != nil {
		return nil, err
	}
	info, err := l.core.Logs.Summary(ctx, c.Thread)
	if err != nil {
		return nil, err
	}
	released := c.Seq < info.First
	draft, err := forkDraft(ctx, l.core.Core, c, o, released)
	if err != nil {
		return nil, err
	}
	if err := l.freePlace(ctx, draft, info); err != nil {
		return nil, err
	}
	p := &ForkPlan{Thread: draft.Thread, Branch: draft.Branch, Status: draft.Checkpoint.Status, Next: slices.Clone(c.Next), Kept: []ForkStep{}, Again: []ForkStep{}, Acts: []ForkStep{}, Asks: []ForkGate{}}
	if p.Next == nil {
		p.Next = []string{}
	}
	line, err := l.core.Logs.Reader(ctx, c.Thread).Lineage(&c.Header)
	if err != nil {
		return nil, err
	}
	line[0].To = c.Seq
	w := newForkWalk(p, line, &c.Header, c.Seq, opensNow(draft))
	for e, err := range l.core.Logs.InOrder(ctx, c.Thread, posthouse.Range{From: line[len(line)-1].From, Headers: true}) {
		if err != nil {
			return nil, err
		}
		recs, err := e.CheckRecords()
		if err != nil {
			return nil, err
		}
		if !w.entry(e, recs) {
			break
		}
	}
	w.end()
	return p, nil
}

// freePlace names the branch of the fork, or says that its place is taken.
func (l *Ledger) freePlace(ctx context.Context, p *commit.Plan, source *posthouse.ThreadInfo) error {
	if p.Thread != source.Thread {
		t, err := l.core.Logs.Summary(ctx, p.Thread)
		if err == nil && len(t.Branches) > 0 {
			return &posthouse.Error{Code: posthouse.CodeExists, Field: "thread", Message: "thread " + p.Thread + " exists", Hint: "choose another name"}
		}
		return nil
	}
	if p.Branch == "" {
		p.Branch = freeBranch(source)
		return nil
	}
	if b, ok := source.Branch(p.Branch); ok {
		return &posthouse.Error{Code: posthouse.CodeExists, Head: b.Head, Message: "branch " + p.Branch + " of thread " + p.Thread + " exists", Hint: "choose another name"}
	}
	return nil
}

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

	decided map[posthouse.ID]bool         // after the checkpoint
	heirs   map[posthouse.ID]posthouse.ID // gates by those that they replaced
}

// newForkWalk returns a walk to a plan of what follows source, with the entries up to one of them.
func newForkWalk(p *ForkPlan, line threadlog.Lineage, source *posthouse.Header, upTo uint64, opens map[string]int) *forkWalk {
	return &forkWalk{
		plan: p, line: line, source: source, upTo: upTo, opens: opens, open: map[posthouse.ID]*ForkGate{},
		decided: map[posthouse.ID]bool{}, heirs: map[posthouse.ID]posthouse.ID{},
	}
}

// entry reads an entry. It reports whether the source's generation goes on.
func (w *forkWalk) entry(e *posthouse.Entry, recs []posthouse.Record) bool {
	for i := range recs {
		rec := &recs[i]
		switch {
		case rec.Release != nil && e.Seq > w.upTo:
			return false
		case rec.Step != nil:
			w.step(e.Seq, rec.Step)
		case rec.Gate != nil:
			w.gate(e.Seq, rec.Gate)
		case rec.Decision != nil && e.Seq <= w.upTo:
			delete(w.open, rec.Decision.Gate)
		case rec.Decision != nil:
			w.decided[rec.Decision.Gate] = true
		}
	}
	if e.Seq <= w.upTo && w.line.RestartsStep(e, recs) {
		w.plan.Kept = slices.DeleteFunc(w.plan.Kept, func(s ForkStep) bool {
			return s.Effect == "" || s.Effect == posthouse.EffectPure.String() || s.Effect == posthouse.EffectRead.String()
		})
	}
	return true
}

func (w *forkWalk) step(seq uint64, s *posthouse.StepInfo) {
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
	case seq <= w.upTo && w.line.Sees(s.Branch, seq):
		w.plan.Kept = w.add(w.plan.Kept, step)
	case seq > w.upTo && branchName(s.Branch) == w.source.Branch:
		w.plan.Again = w.add(w.plan.Again, step)
		if s.Effect == posthouse.EffectWrite || s.Effect == posthouse.EffectExternal {
			w.plan.Acts = w.add(w.plan.Acts, step)
		}
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
	asked := ForkGate{Gate: g.ID, Task: g.Task, Name: g.Name, Kind: kind, Seq: seq}
	switch {
	case seq <= w.upTo && w.line.Sees(g.Branch, seq):
		w.open[g.ID] = &asked
	case seq > w.upTo && branchName(g.Branch) == w.source.Branch && g.Supersedes == "":
		w.asks(asked)
	}
}

func (w *forkWalk) asks(g ForkGate) {
	if len(w.plan.Asks) == maxPlanned {
		w.plan.More++
		return
	}
	w.plan.Asks = append(w.plan.Asks, g)
}

// end adds the gates that were open at the checkpoint, before those that came after it.
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
}

// waits reports whether a gate, or one in its place, has no decision.
func (w *forkWalk) waits(id posthouse.ID) bool {
	for {
		heir, ok := w.heirs[id]
		if !ok {
			return !w.decided[id]
		}
		id = heir
	}
}
