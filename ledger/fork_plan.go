package ledger

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
)

// A ForkPlan says what [Ledger.Fork] would do with the same options, and what its program would do
// again after the checkpoint, as far as the source's branch shows: with another state it may go
// another way. Each list has at most 1,000 elements.
type ForkPlan struct {
	Thread string           `json:"thread"` // of the fork
	Branch string           `json:"branch"` // of the fork; another one if it is taken by then
	Status posthouse.Status `json:"status"` // that it begins with; interrupted: it goes on once it is resumed
	Next   []string         `json:"next"`   // the nodes that run once it goes on

	// Routes says how the next nodes of a fork with another state are chosen. If it is "again", Next are
	// those of the source, and routes and maps of a graph choose again from the fork's state when it is
	// resumed. If it is "kept", they stay, by [ForkOptions.KeepNext].
	Routes string `json:"routes,omitempty"`

	Kept    []ForkStep     `json:"kept"`    // results on record that count in the fork, and are not computed again
	Decided []ForkDecision `json:"decided"` // answers on record that count in the fork, where it asks the same: it waits for no other
	Again   []ForkStep     `json:"again"`   // results that the source recorded after the checkpoint, and the fork would record again
	Tried   []TriedStep    `json:"tried"`   // steps that began on the source's branch and have no result there: the fork tries them, too
	Acts    []ForkStep     `json:"acts"`    // those of Again and Tried that act on the world: of class write or external

	// Stands are the calls that failed on the source's branch after the checkpoint. The fork makes them
	// again. The source's work because of the failure is in Behind: it stays done.
	Stands []StandingFailure `json:"stands"`

	Asks []ForkGate `json:"asks"`           // questions that the fork asks at once, or again
	End  ForkEnd    `json:"end"`            // how far the source's branch shows what the fork may do
	More int        `json:"more,omitempty"` // elements beyond the first 1,000 of each list
}

// routesOf returns how the next nodes of a fork are chosen. A flow has no routes: it is its own next node.
func routesOf(source *posthouse.Checkpoint, changed, kept bool) string {
	switch {
	case !changed || source.Graph == "" || len(source.Next) == 0 || len(source.Next) == 1 && source.Next[0] == source.Graph:
		return ""
	case kept:
		return "kept"
	}
	return "again"
}

// A ForkEnd is the newest checkpoint of the source's branch. The nodes in Next decide as they run
// whether they ask or act beyond what is listed: that is not known. Of a branch that is done, all is listed.
type ForkEnd struct {
	Checkpoint posthouse.ID     `json:"checkpoint"`
	Branch     string           `json:"branch"`
	Seq        uint64           `json:"seq"`
	Status     posthouse.Status `json:"status"`
	Next       []string         `json:"next"`               // the nodes that have not ended there
	Error      string           `json:"error,omitempty"`    // why the branch failed
	Attempts   int              `json:"attempts,omitempty"` // of the node that failed, as the checkpoint says
}

// A ForkDecision is an answer that a fork inherits: of a person, a policy or a worker, or a wait that is over.
type ForkDecision struct {
	Gate    posthouse.ID      `json:"gate"`
	Task    string            `json:"task,omitempty"` // the execution that asked
	Name    string            `json:"name"`
	Kind    string            `json:"kind"`
	Verdict posthouse.Verdict `json:"verdict"`
	By      string            `json:"by"`
	Seq     uint64            `json:"seq"` // of the entry that has it
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

	// Failed says of a task that it failed for good on the source's branch, and why. The fork does not
	// inherit that: its program hands the task out again.
	Failed string `json:"failed,omitempty"`
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
	p := &ForkPlan{
		Thread: draft.Thread, Branch: draft.Branch, Status: draft.Checkpoint.Status, Next: append([]string{}, c.Next...),
		Kept: []ForkStep{}, Decided: []ForkDecision{}, Again: []ForkStep{}, Tried: []TriedStep{}, Acts: []ForkStep{}, Stands: []StandingFailure{}, Asks: []ForkGate{}, End: endAt(&c.Header),
	}
	p.Routes = routesOf(c, differs(draft.Checkpoint.State, c.State), o.KeepNext)
	line, err := l.core.Logs.Reader(ctx, c.Thread).Lineage(&c.Header)
	if err != nil {
		return nil, err
	}
	line[0].To = c.Seq
	w := newForkWalk(p, line, &c.Header, c.Seq, opensNow(draft))
	for _, g := range draft.Again {
		w.failed[g.ID] = g
	}
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
	if b, ok := info.Branch(c.Branch); ok && !released && b.Head != p.End.Checkpoint { // its newest checkpoint was deleted
		h, err := l.core.Logs.Reader(ctx, c.Thread).Header(b.Seq)
		if err != nil {
			return nil, err
		}
		p.End = endAt(h)
	}
	return p, w.read(ctx, l, c.Thread)
}

// endAt returns the end of a source's branch, by its newest checkpoint.
func endAt(h *posthouse.Header) ForkEnd {
	return ForkEnd{Checkpoint: h.ID, Branch: branchName(h.Branch), Seq: h.Seq, Status: h.Status, Next: append([]string{}, h.Next...), Error: h.Error, Attempts: h.Attempts}
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
