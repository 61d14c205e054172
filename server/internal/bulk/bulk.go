package bulk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// A Resumer runs a branch on from its head.
type Resumer interface {
	Resume(ctx context.Context, thread, branch string) error
}

// A Bulk is the resources. Make it with [New].
type Bulk struct {
	ledger  *ledger.Ledger
	runner  Resumer // nil: this server runs no programs
	timeout *limit.AnswerTimeout
}

// New returns the resources of a Ledger; runner may be nil. A request that takes longer than timeout
// is answered with the threads that it came to.
func New(l *ledger.Ledger, runner Resumer, timeout *limit.AnswerTimeout) *Bulk {
	return &Bulk{l, runner, timeout}
}

const (
	defaultLimit = 100
	maxLimit     = 1000
)

// Routes are the lines of the table.
func (b *Bulk) Routes() []*api.Route {
	const notes = " Of all threads that the filter names, in the order of their names, at most limit in one request: send again with next as after until there is no next. " +
		"With dryRun nothing is done, and the report says what would be, after the same checks. A failure about one thread is in the report and stops no other. " +
		"Each thread is looked at once more before something is done to it: one that the filter does not name any more is left alone. " +
		"A request that takes longer than an answer may ends with the threads that it came to, and next."
	answer := []api.Answer{{Status: http.StatusOK, Help: "what became of each thread", Body: Report{}}}
	return []*api.Route{
		{
			Method: http.MethodPost, Path: "/api/bulk/resume", Role: tokens.Operator, Summary: "Resume many threads", Handle: api.Reply(b.resume), Body: request{}, Answers: answer,
			Notes: "Begins to run the branches that are interrupted or failed, and waits for none of them. A branch that would fail in the same way, since a step failed and something is on record because of that, is passed over: stands says why." + notes,
		},
		{
			Method: http.MethodPost, Path: "/api/bulk/cancel", Role: tokens.Operator, Summary: "Cancel many threads", Handle: api.Reply(b.cancel), Body: request{}, Answers: answer,
			Notes: "Cancels the branches that have not ended, as the cancellation of one thread does." + notes,
		},
		{
			Method: http.MethodPost, Path: "/api/bulk/release", Role: tokens.Operator, Summary: "Release many threads", Handle: api.Reply(b.release), Body: request{}, Answers: answer,
			Notes: "Closes each thread's current generation as a version." + notes,
		},
	}
}

// statuses are those that a thread may have which a program runs.
var statuses = []posthouse.Status{
	posthouse.StatusRunning, posthouse.StatusWaiting, posthouse.StatusReady, posthouse.StatusInterrupted,
	posthouse.StatusDone, posthouse.StatusFailed, posthouse.StatusCancelled,
}

type request struct {
	Threads []string         `json:"threads,omitempty" doc:"these threads, at most 1,000; in the place of the filters below"`
	Status  posthouse.Status `json:"status,omitempty" doc:"threads with this status"`
	Program string           `json:"program,omitempty" doc:"threads of this program"`
	Prefix  string           `json:"prefix,omitempty" doc:"threads with a name that starts so"`
	After   string           `json:"after,omitempty" doc:"go on after this thread: next of the report before"`
	Limit   int              `json:"limit,omitempty" doc:"how many threads, 100 unless given, at most 1,000"`
	Reason  string           `json:"reason,omitempty" doc:"goes on record, where something is cancelled or released"`
	DryRun  bool             `json:"dryRun,omitempty" doc:"do nothing, and say what would be done"`
}

// A Report says what became of the threads of one request.
type Report struct {
	DryRun bool   `json:"dryRun,omitempty" doc:"nothing was done: this is what would be"`
	Done   int    `json:"done" doc:"threads with something done, or to be done"`
	Failed int    `json:"failed" doc:"threads with a problem"`
	Items  []Item `json:"items" doc:"the threads, in the order of their names"`
	Next   string `json:"next,omitempty" doc:"go on after this thread; absent: there are no others"`
}

// An Item is one thread.
type Item struct {
	Thread   string           `json:"thread" doc:"its name"`
	Status   posthouse.Status `json:"status" doc:"when it was looked at, before anything was done"`
	Branches []string         `json:"branches" doc:"the branches that something was done to, or would be; empty: there was nothing to do"`
	Stands   []string         `json:"stands,omitempty" doc:"why branches were passed over by a resume: a step failed, the program did something because of it, and it is not made again"`
	Problem  *problem.Details `json:"problem,omitempty" doc:"what failed, after what was done to the branches before it"`
}

// An action does something to one branch, or to a thread as a whole.
type action struct {
	branches func(*posthouse.ThreadInfo) []posthouse.BranchHead
	do       func(ctx context.Context, thread string, branch *posthouse.BranchHead, dry bool) error
}

func (b *Bulk) resume(r *api.Request, q *request) (*Report, error) {
	if b.runner == nil {
		return nil, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this server runs no programs", Hint: "ask one that has the programs"}
	}
	return b.run(r, q, action{with(posthouse.StatusInterrupted, posthouse.StatusFailed), func(ctx context.Context, thread string, branch *posthouse.BranchHead, dry bool) error {
		if err := b.stands(ctx, thread, branch); err != nil || dry {
			return err
		}
		return b.runner.Resume(ctx, thread, branch.Branch)
	}})
}

// A passedOver is a branch that a resume has nothing to do on.
type passedOver struct {
	branch string
	failed ledger.StandingFailure
}

// Error says which step failed, and what is on record because of that.
func (p *passedOver) Error() string {
	behind := p.failed.Behind[0]
	return fmt.Sprintf("%s: step %s failed and is not made again: %s is on record because of it", p.branch, handler.Call(p.failed.Name, p.failed.Occurrence), handler.Call(behind.Name, behind.Occurrence))
}

// stands returns a passedOver for a branch that failed and would fail in the same way.
func (b *Bulk) stands(ctx context.Context, thread string, branch *posthouse.BranchHead) error {
	if branch.Status != posthouse.StatusFailed {
		return nil
	}
	plan, err := ledger.PlanResume(ctx, b.ledger, thread, branch.Branch)
	if err != nil {
		return err
	}
	for _, f := range plan.Stands {
		if f.Ended {
			return &passedOver{branch.Branch, f}
		}
	}
	return nil
}

func (b *Bulk) cancel(r *api.Request, q *request) (*Report, error) {
	open := with(posthouse.StatusRunning, posthouse.StatusWaiting, posthouse.StatusReady, posthouse.StatusInterrupted, posthouse.StatusFailed)
	return b.run(r, q, action{open, func(ctx context.Context, thread string, branch *posthouse.BranchHead, dry bool) error {
		if dry {
			return nil
		}
		o := &ledger.CancelOptions{Branch: branch.Branch, Head: branch.Head, By: r.Actor.Name, Reason: q.Reason}
		if branch.Status == posthouse.StatusRunning {
			o.Head = "" // it moves by itself
		}
		_, err := b.ledger.Cancel(ctx, thread, o)
		return err
	}})
}

func (b *Bulk) release(r *api.Request, q *request) (*Report, error) {
	all := func(t *posthouse.ThreadInfo) []posthouse.BranchHead {
		if len(t.Branches) == 0 {
			return nil
		}
		return []posthouse.BranchHead{{Branch: posthouse.MainBranch}}
	}
	return b.run(r, q, action{all, func(ctx context.Context, thread string, _ *posthouse.BranchHead, dry bool) error {
		_, err := b.ledger.Release(ctx, thread, &ledger.ReleaseOptions{By: r.Actor.Name, Reason: q.Reason, DryRun: dry})
		return err
	}})
}

// with returns the branches of a thread with one of these statuses.
func with(statuses ...posthouse.Status) func(*posthouse.ThreadInfo) []posthouse.BranchHead {
	return func(t *posthouse.ThreadInfo) (found []posthouse.BranchHead) {
		for i := range t.Branches {
			if slices.Contains(statuses, t.Branches[i].Status) {
				found = append(found, t.Branches[i])
			}
		}
		return found
	}
}

// check refuses a request without a filter, since it would be about everything.
func (q *request) check() error {
	switch {
	case q.Limit < 0 || q.Limit > maxLimit:
		return posthouse.Invalid("limit", "must be from 1 to %d", maxLimit)
	case len(q.Threads) > maxLimit:
		return posthouse.Invalid("threads", "are %d, and at most %d are taken", len(q.Threads), maxLimit)
	case len(q.Threads) > 0 && (q.Status != "" || q.Program != "" || q.Prefix != ""):
		return posthouse.Invalid("threads", "are named, so that no filter goes with them")
	case q.Status != "" && !slices.Contains(statuses, q.Status):
		return posthouse.Invalid("status", "%.40q is not one of %s", string(q.Status), strings.Trim(strings.ReplaceAll(fmt.Sprint(statuses), " ", ", "), "[]"))
	case len(q.Threads) == 0 && q.Status == "" && q.Program == "" && q.Prefix == "":
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "threads", Message: "are not named, and there is no filter: that would be all threads", Hint: "give threads, status, program or prefix"}
	}
	return nil
}

// run does the action to all threads of a request.
func (b *Bulk) run(r *api.Request, q *request, a action) (*Report, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	threads, next, err := b.threads(r.Context(), q)
	if err != nil {
		return nil, err
	}
	report := &Report{DryRun: q.DryRun, Items: []Item{}, Next: next}
	ctx, cancel := b.timeout.Bound(r.Context())
	defer cancel()
	for i, t := range threads {
		if i > 0 && ctx.Err() != nil { // what is done stays done, and the report says what that is
			report.Next = threads[i-1].name
			break
		}
		report.add(b.one(r, q, t, a))
	}
	return report, nil
}

func (rep *Report) add(item Item) {
	rep.Items = append(rep.Items, item)
	switch {
	case item.Problem != nil:
		rep.Failed++
	case len(item.Branches) > 0:
		rep.Done++
	}
}

// one does the action to one thread.
func (b *Bulk) one(r *api.Request, q *request, t found, a action) Item {
	item := Item{Thread: t.name, Branches: []string{}}
	if t.err != nil {
		item.Problem = problem.Of(t.err, "")
		return item
	}
	ctx := context.WithoutCancel(r.Context())
	for range maxTries {
		// It may have gone on since it was listed.
		info, err := b.ledger.Thread(ctx, t.name)
		if err == nil {
			item.Status, item.Stands = info.Status, nil
			err = b.act(ctx, q, info, a, &item)
		}
		if err == nil {
			return item
		}
		item.Problem = problem.Of(err, "")
		if !errors.Is(err, posthouse.ErrConflict) {
			return item
		}
	}
	return item
}

// maxTries bounds how often a thread is looked at that goes on meanwhile.
const maxTries = 5

// act does the action to the branches of a thread as it is now, if the filter still names it.
func (b *Bulk) act(ctx context.Context, q *request, info *posthouse.ThreadInfo, a action, item *Item) error {
	if q.Status != "" && info.Status != q.Status && len(item.Branches) == 0 || q.Program != "" && info.Graph != q.Program {
		item.Problem = nil
		return nil
	}
	for _, branch := range a.branches(info) {
		if slices.Contains(item.Branches, branch.Branch) {
			continue
		}
		err := a.do(ctx, info.Thread, &branch, q.DryRun)
		var over *passedOver
		if errors.As(err, &over) {
			item.Stands = append(item.Stands, over.Error())
			continue
		}
		if err != nil {
			return err
		}
		item.Branches = append(item.Branches, branch.Branch)
	}
	item.Problem = nil
	return nil
}

// A found is a thread of a request, or why it cannot be read.
type found struct {
	name string
	info *posthouse.ThreadInfo
	err  error
}

// threads returns the threads that a request is about, and where the next one goes on.
func (b *Bulk) threads(ctx context.Context, q *request) (all []found, next string, err error) {
	limit := q.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	if len(q.Threads) > 0 {
		names := slices.Compact(slices.Sorted(slices.Values(q.Threads)))
		for _, name := range names {
			if q.After != "" && name <= q.After {
				continue
			}
			if len(all) == limit {
				return all, all[limit-1].name, nil
			}
			info, err := b.ledger.Thread(ctx, name)
			all = append(all, found{name, info, err})
		}
		return all, "", nil
	}
	for t, err := range b.ledger.Threads(ctx, posthouse.ThreadQuery{Status: q.Status, Graph: q.Program, Prefix: q.Prefix, After: q.After, Limit: limit + 2}) {
		if err != nil {
			return nil, "", err
		}
		if posthouse.IsRuntimeThread(t.Thread) {
			continue
		}
		if len(all) == limit {
			return all, all[limit-1].name, nil
		}
		all = append(all, found{t.Thread, t, nil})
	}
	return all, "", nil
}
