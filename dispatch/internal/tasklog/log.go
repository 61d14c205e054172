package tasklog

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/internal/requesters"
	"github.com/posthouse/posthouse/internal/senders"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// A Log reads what a Ledger has of tasks.
type Log struct {
	ledger *ledger.Ledger
	core   *commit.Committer
}

// New returns a reader of a Ledger's tasks.
func New(l *ledger.Ledger) *Log { return &Log{ledger: l, core: l.Core()} }

// Within returns the beginning of the names of what a task's handler records.
func Within(g *posthouse.Gate) string {
	return handler.Within(g.Name, g.Occurrence, g.Call.Iteration)
}

// Execution returns the unfinished execution that handed a task out, nil if nothing of it is on
// record.
func (l *Log) Execution(ctx context.Context, g *posthouse.Gate) (*threadlog.Execution, error) {
	head, err := l.head(ctx, g)
	if head == nil || err != nil {
		return nil, err
	}
	all, err := l.core.Executions(ctx, head)
	return all[g.Task], err
}

// head returns the head of the branch that handed a task out, nil if it is gone.
func (l *Log) head(ctx context.Context, g *posthouse.Gate) (*posthouse.Header, error) {
	info, err := l.ledger.Thread(ctx, g.Thread)
	if err != nil {
		return nil, err
	}
	branch, ok := info.Branch(g.Branch)
	if !ok {
		return nil, nil
	}
	return l.ledger.GetHeader(ctx, branch.Head)
}

// OnBehalf returns a context for changes that a worker makes. They are on behalf of all who made
// the requests of the run that handed the task out.
func (l *Log) OnBehalf(ctx context.Context, g *posthouse.Gate) (context.Context, error) {
	head, err := l.head(ctx, g)
	if head == nil || err != nil {
		return ctx, err
	}
	c, err := ledger.GetOf(ctx, l.ledger, head)
	if err != nil {
		return ctx, err
	}
	list, err := requesters.Read(c.Program)
	if err != nil {
		return ctx, err
	}
	all, err := l.core.Executions(ctx, head)
	if err != nil {
		return ctx, err
	}
	sent, err := senders.Of(all)
	return commit.OnBehalf(ctx, senders.Join(list, sent)), err
}

// Steps returns where the results of a task's handlers are counted and recorded.
func (l *Log) Steps(g *posthouse.Gate) *commit.TaskSteps {
	return &commit.TaskSteps{
		Within: Within(g) + handler.Nested, Limit: task.MaxSteps,
		Earlier: func(ctx context.Context) (*threadlog.Execution, error) { return l.Execution(ctx, g) },
	}
}

// Licensed returns what decides which effects a task's handler may begin.
func (l *Log) Licensed(ctx context.Context, g *posthouse.Gate) (license.Task, error) {
	t := license.Task{Core: l.core, Thread: g.Thread, Branch: g.Branch, Within: Within(g)}
	x, err := l.Execution(ctx, g)
	if x != nil {
		t.Steps, t.Gates = x.Steps, x.Gates
	}
	return t, err
}

// WasClaimed reports whether the log has a claim of a task's gate: if not, no worker has begun,
// whatever a slot says.
func (l *Log) WasClaimed(ctx context.Context, g *posthouse.Gate) (bool, error) {
	x, err := l.Execution(ctx, g)
	if x == nil || err != nil {
		return err == nil, err // a task that cannot be found may have been claimed
	}
	for i := range x.Steps {
		var u commit.UseRecord
		s := &x.Steps[i]
		if s.Name == g.Call.Use+handler.Nested+effect.RecordClaimed && json.Unmarshal(s.Value.Data, &u) == nil && u.Gate == g.ID {
			return true, nil
		}
	}
	return false, nil
}

// WithGrant returns a task with the grant that it acts under. An earlier version handed tasks out
// under a grant without naming it, and recorded that the use did not act once it waited for the
// worker. Such a task is under the grant of the use that its name is within.
func (l *Log) WithGrant(ctx context.Context, g *posthouse.Gate) (*posthouse.Gate, error) {
	if g.Call == nil || g.Call.Grant != "" || !strings.Contains(g.Name, handler.Nested) {
		return g, nil
	}
	x, err := l.Execution(ctx, g)
	if x == nil || err != nil {
		return g, err
	}
	var of *posthouse.StepRecord
	use := ""
	for i := range x.Steps {
		s := &x.Steps[i]
		call, is := strings.CutSuffix(s.Name, handler.Nested+effect.RecordBegins)
		if is && s.Grant != "" && strings.HasPrefix(g.Name, call+handler.Nested) && (of == nil || s.Seq > of.Seq) {
			of, use = s, call
		}
	}
	if of == nil {
		return g, nil
	}
	named, c := g.Clone(), *g.Call
	c.Grant, c.Use, c.Effect = of.Grant, use, of.Effect
	named.Call = &c
	return named, nil
}
