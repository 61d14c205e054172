package ledger

import (
	"context"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
)

// AskAgainOptions say who has a question asked again. Nil is the zero value.
type AskAgainOptions struct {
	By string // who asks; recorded in the new checkpoint

	// Reason says why, in at most 1,000 bytes. It is a note on the new checkpoint, and the Note of
	// the question, as "asked again: …". "": the question keeps its Note.
	Reason string
}

// askedAgain begins the Note of a question that a person had asked again for a reason.
const askedAgain = "asked again: "

// story returns what the new checkpoint says of the reason.
func (o *AskAgainOptions) story() (s posthouse.Story) {
	if o.Reason != "" {
		s.Notes = []posthouse.Note{{Line: o.Reason}}
	}
	return s
}

// AskAgain asks people an unanswered question again: its deadline passed, or it was
// withdrawn. The new gate shows the same, under a new id and with as much time as the
// old one had.
//
// If the checkpoint that waited is still its branch's head, a child of it asks the
// question in place, and Supersedes names the old gate. Otherwise, and for a session's
// question, the gate's checkpoint is forked: the new branch waits with the question
// open.
//
// [posthouse.ErrNotFound]; [posthouse.ErrInvalid] for a gate that does not ask people;
// [posthouse.ErrConflict] for one that is open, or that another gate replaced
// (Error.Gate); [posthouse.ErrDecided] for one that a person or a policy decided; and
// the errors of [Ledger.Commit] and [Ledger.Fork].
func (l *Ledger) AskAgain(ctx context.Context, gate posthouse.ID, o *AskAgainOptions) (*posthouse.Gate, error) {
	if o == nil {
		o = &AskAgainOptions{}
	}
	if err := posthouse.CheckPerson("by", o.By); err != nil {
		return nil, err
	}
	if len(o.Reason) > posthouse.MaxLine || !text.IsUTF8(o.Reason) || o.Reason != "" && strings.TrimSpace(o.Reason) == "" {
		return nil, posthouse.Invalid("reason", "must be at most %d bytes of text, and not blank", posthouse.MaxLine)
	}
	g, err := l.Gate(ctx, gate)
	if err != nil {
		return nil, err
	}
	if g.Lapsed(l.Now()) {
		_, err = commit.Expire(ctx, l.core, gate)
		if err != nil && !errors.Is(err, posthouse.ErrDecided) {
			return nil, err
		}
		g, err = l.Gate(ctx, gate)
		if err != nil {
			return nil, err
		}
	}
	if err := deciders.CheckAskAgain(g); err != nil {
		return nil, err
	}
	for other, err := range l.Gates(ctx, GateQuery{Thread: g.Thread}) {
		if other == nil {
			return nil, err // the question may have been asked again
		}
		if err == nil && other.Supersedes == g.ID {
			return nil, g.Replaced(other.ID)
		}
	}
	q := &repeatedQuestion{l: l, gate: g, opt: o}
	for try := 0; ; try++ {
		again, err := q.inPlace(ctx)
		if again != nil || err != nil && (!errors.Is(err, posthouse.ErrConflict) || try == core.MaxRetries) {
			return again, err
		}
		if err == nil {
			return q.onFork(ctx)
		}
	}
}

// A repeatedQuestion is one that people are asked again.
type repeatedQuestion struct {
	l    *Ledger
	gate *posthouse.Gate // as it was asked first
	opt  *AskAgainOptions
}

// inPlace opens the question at its branch's head, if that is still the checkpoint
// that waited with it. It returns nil if the branch has gone on.
func (q *repeatedQuestion) inPlace(ctx context.Context) (*posthouse.Gate, error) {
	l, g := q.l, q.gate
	info, err := l.Thread(ctx, g.Thread)
	if err != nil {
		return nil, err
	}
	head, _ := info.Branch(g.Branch)
	if head.Head != g.Checkpoint || g.Kind == posthouse.GateSession {
		return nil, nil
	}
	c, err := l.core.ReadCheckpoint(ctx, g.Checkpoint)
	if err != nil {
		return nil, err
	}
	again := *g.Clone()
	again.ID, again.Supersedes, again.Decision, again.Origin = "", g.ID, nil, ""
	q.note(&again)
	renewDeadlines(&again, l.Now())
	change := next(c, posthouse.KindWait, posthouse.StatusWaiting, q.opt.By)
	change.Story = q.opt.story()
	done, err := l.Commit(ctx, &Draft{
		Thread: g.Thread, Branch: g.Branch, Head: &head.Head, KeepOpen: true, Gates: []posthouse.Gate{again},
		Checkpoint: change,
	})
	if err != nil {
		return nil, err
	}
	return &done.Gates[0], nil
}

// note says why in the question, for who is asked.
func (q *repeatedQuestion) note(g *posthouse.Gate) {
	if q.opt.Reason != "" {
		g.Note = askedAgain + q.opt.Reason
	}
}

// explain says why in the plan of a fork that asks again.
func (q *repeatedQuestion) explain(p *commit.Plan) {
	p.Checkpoint.Story = q.opt.story()
	for i := range p.Gates {
		if g := &p.Gates[i]; g.Name == q.gate.Name && g.Task == q.gate.Task && g.Occurrence == q.gate.Occurrence {
			q.note(g)
		}
	}
}

// onFork forks the checkpoint that asked, and returns the gate of the fork.
func (q *repeatedQuestion) onFork(ctx context.Context) (*posthouse.Gate, error) {
	g := q.gate
	f, err := q.l.Fork(ctx, g.Checkpoint, &ForkOptions{By: q.opt.By, again: q})
	if err != nil {
		return nil, err
	}
	content := g.Content()
	return reopenedBy(ctx, q.l.core.Core, f, g, func(again *posthouse.Gate) bool { return again.Content() == content })
}

// reopenedBy returns the gate of a fork that stands for g.
func reopenedBy(ctx context.Context, c *core.Core, f *posthouse.Checkpoint, g *posthouse.Gate, same func(*posthouse.Gate) bool) (*posthouse.Gate, error) {
	for _, id := range f.Gates {
		again, err := c.Logs.Gate(ctx, id)
		if err != nil {
			return nil, err
		}
		if again.Name == g.Name && again.Task == g.Task && again.Occurrence == g.Occurrence && same(again) {
			return again, nil
		}
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeConflict, Head: f.ID, Message: "the fork " + string(f.ID) + " of checkpoint " + string(g.Checkpoint) + " does not ask it",
		Hint: "resume the branch " + f.Branch + ", and see what it asks",
	}
}
