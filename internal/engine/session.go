package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// SessionOptions names what a session runs.
type SessionOptions struct {
	Thread string // required
	Branch string // default [posthouse.MainBranch]
	Run    string // the run's id, a label on what it writes; default a new id

	// Hold is how long a step waits itself for its next attempt. A later attempt parks the
	// thread.
	Hold time.Duration

	OnBusy   runs.OnBusy    // default Reject
	Wait     time.Duration  // with Reject how long to wait for the thread, else at most so long; 0: not, or without end
	Place    *ledger.Ticket // in the thread's line, if one was taken before; Begin gives it up
	Join     bool           // wait for the end of this very run, if this process runs it already
	NewInput bool           // finish a pending cancellation of the previous run before starting
	By       string         // who cancels another run
	Instance string         // the program's, see [posthouse.Gate.Instance]

	contention contention
}

// A Session is one run over one branch of a thread under a lease. It is safe
// for concurrent use.
type Session struct {
	identity
	tenure
	knowledge
	hooks

	grants   sync.Mutex                       // held while a use of a grant is counted and recorded; before mu
	mu       sync.Mutex                       // of all that is not fixed
	head     atomic.Pointer[posthouse.Header] // written under mu
	fail     atomic.Pointer[error]            // the first failed commit; written under mu
	want     posthouse.ID                     // the head that the next commit requires
	behind   *writeBehind                     // what is written behind the run; nil: nothing was
	lapsed   atomic.Pointer[error]            // why what ran was stopped, once the lease may have lapsed
	ended    bool
	released bool // it released its thread, whose name is free for another
}

// An identity is what a session runs, and where. Only a fork, before the session has done
// anything, changes the branch.
type identity struct {
	ledger              *ledger.Ledger
	thread, branch, run string
	birth               uint64 // of the branch
	instance            string
	hold                time.Duration
}

// A tenure is how a session came to its thread.
type tenure struct {
	claim          *ledger.Claim
	claimPersisted bool            // the claim is on record, or nobody else could run the thread
	leaseBefore    posthouse.Lease // the lease as the session began
	contention     contention
}

// A knowledge is what a session has read of the log behind its head.
type knowledge struct {
	nothingRecorded atomic.Bool                    // nothing is on record since head's step began; written under mu
	executions      map[string]*core.Execution     // all that tasks have on record since then; nil: not read yet
	pending         map[string][]*posthouse.Signal // next signals of the branch, by name
	senders         []posthouse.Requester          // of signals that the step follows
}

// hooks are the model's own, called under the session's lock.
type hooks struct {
	onDraft  func(*ledger.Draft)
	onCommit func(*ledger.Draft, *posthouse.Committed, time.Time)
}

// Begin takes the thread's lease and finds the branch's head. While a live process runs
// the thread it fails with [posthouse.ErrBusy], which names the holder, unless OnBusy says
// otherwise. For a thread or branch that does not exist yet Head is nil.
func Begin(ctx context.Context, l *ledger.Ledger, o SessionOptions) (*Session, error) {
	if o.Branch == "" {
		o.Branch = posthouse.MainBranch
	}
	if o.Run == "" {
		o.Run = string(l.Core().NewID())
	}
	claim, err := o.claimThread(ctx, l)
	if err != nil {
		return nil, err
	}
	s := &Session{
		identity: identity{ledger: l, thread: o.Thread, branch: o.Branch, birth: claim.Birth(), run: o.Run, instance: o.Instance, hold: o.Hold},
		tenure:   tenure{claim: claim, contention: o.contention},
	}
	if err := s.findHead(ctx); err != nil {
		return nil, errors.Join(err, s.End(ctx))
	}
	if o.NewInput && s.hasPendingCancel() {
		_, err := s.FinishCancelled(ctx)
		if err := errors.Join(err, s.End(ctx)); err != nil {
			return nil, err
		}
		o.Place = l.Core().NewTicket(o.Thread, true)
		again, err := Begin(ctx, l, o)
		if err == nil {
			again.leaseBefore.Held = s.leaseBefore.Held
		}
		return again, err
	}
	if s.Head() == nil {
		s.beginStep()
	}
	return s, nil
}

func (s *Session) findHead(ctx context.Context) error {
	info := s.claim.Found()
	if info == nil {
		return nil
	}
	s.leaseBefore = info.Lease
	b, ok := info.Branch(s.branch)
	if !ok {
		return nil
	}
	s.birth = info.Birth(s.branch)
	h, err := ledger.HeadOf(ctx, s.ledger, info, b)
	s.head.Store(h)
	return err
}

// Ledger returns the ledger the session writes to.
func (s *Session) Ledger() *ledger.Ledger { return s.ledger }

// Thread returns the thread's id.
func (s *Session) Thread() string { return s.thread }

// Branch returns the branch's name.
func (s *Session) Branch() string { return s.branch }

// BirthOf returns the entry of the newest removal before a session's branch began that ended a branch
// of the thread, 0 for none. It tells the branch apart from a deleted one of its name.
func BirthOf(s *Session) uint64 { return s.birth }

// Run returns the run's id.
func (s *Session) Run() string { return s.run }

// PreviousRunLost reports whether the run before this one did not come to its end. It may
// have acted further than is on record.
func (s *Session) PreviousRunLost() bool { return s.leaseBefore.Held }

// Head returns the branch's newest checkpoint as this session knows it, nil
// for a new thread or branch. The caller must not change it.
func (s *Session) Head() *posthouse.Header { return s.head.Load() }

// Commit appends one entry under the lease and moves the session's head along. The
// branch's head must be the one that the session knows. Commit fills in the draft's
// Thread, Branch, Claim and Head, and the checkpoint's Run. It ignores cancellation of
// ctx.
//
// [posthouse.ErrInvalid], [posthouse.ErrTooLarge], [posthouse.ErrExists] and
// [posthouse.ErrUnsupported] say that the draft is at fault. After any other error the
// session is over: every later Commit returns that error, except a Late one after
// [posthouse.ErrCancelled].
func (s *Session) Commit(ctx context.Context, d *ledger.Draft) (*posthouse.Committed, error) {
	if err := s.Flush(); err != nil && !(d.Late && errors.Is(err, posthouse.ErrCancelled)) {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commitLocked(ctx, d)
}

// commitLocked is Commit for callers that hold s.mu.
func (s *Session) commitLocked(ctx context.Context, d *ledger.Draft) (*posthouse.Committed, error) {
	err := s.Err()
	if s.fail.Load() == nil && d.Checkpoint == nil {
		err = nil // results that came in spite of a lapse count, if the claim holds
	}
	if err != nil && !(d.Late && errors.Is(err, posthouse.ErrCancelled)) {
		return nil, err
	}
	if s.ended {
		return nil, &posthouse.Error{Code: posthouse.CodeClosed, Message: "the run of thread " + strconv.Quote(s.thread) + " has ended"}
	}
	if s.onDraft != nil && d.Checkpoint == nil {
		s.onDraft(d)
	}
	s.nameSenders(d)
	s.want = ""
	if h := s.Head(); h != nil {
		s.want = h.ID
	}
	d.Thread, d.Branch, d.Claim, d.Head = s.thread, s.branch, s.claim, &s.want
	if d.Checkpoint != nil && d.Checkpoint.Run == "" {
		d.Checkpoint.Run = s.run
	}
	var began time.Time
	if s.onCommit != nil {
		began = s.ledger.Now()
	}
	c, err := s.ledger.Commit(context.WithoutCancel(ctx), d)
	if err != nil {
		if !isDraftError(err) {
			s.markFailed(err)
		}
		return nil, err
	}
	s.applyCommit(d, c)
	if s.onCommit != nil {
		s.onCommit(d, c, began)
	}
	return c, nil
}

// OnCommit has fn called after each commit, in their order, with the time it began. It is
// called under a lock: of the session it may use only what is fixed, and its head.
func (s *Session) OnCommit(fn func(d *ledger.Draft, c *posthouse.Committed, began time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onCommit = fn
}

// OnDraft has fn add to each draft without a checkpoint before it is committed. Models
// make checkpoints of steps there. fn is called under a lock and must not use the session.
// Nil ends that: no call is under way when OnDraft returns.
func (s *Session) OnDraft(fn func(*ledger.Draft)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onDraft = fn
}

// checkUnmoved fails if another claim came first, or the head has moved.
func (s *Session) checkUnmoved(ctx context.Context) error {
	info, err := s.ledger.Thread(context.WithoutCancel(ctx), s.thread)
	if err != nil {
		return err
	}
	b, _ := info.Branch(s.branch)
	if h := s.Head(); b.Head == h.ID && b.Seq == h.Seq && info.Lease.Fence == s.leaseBefore.Fence+1 {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Head: b.Head, Tail: &info.Tail,
		Message: "somebody went on with branch " + s.branch + " of thread " + s.thread + " before this run acted", Hint: "begin again from its head",
	}
}

// applyCommit applies what a commit changed to the head and the tasks on record.
func (s *Session) applyCommit(d *ledger.Draft, c *posthouse.Committed) {
	s.claimPersisted = true
	s.forgetAnswered(c.Gates)
	if h := c.Checkpoint; h != nil {
		if old := s.Head(); old == nil || h.Step != old.Step {
			s.beginStep()
		}
		s.head.Store(h)
	}
	if s.executions == nil {
		return // to be read, with what there was before
	}
	for i := range d.Steps {
		s.nothingRecorded.Store(false)
		x := s.execution(d.Steps[i].Task)
		x.Steps = append(x.Steps, posthouse.StepRecord{Step: d.Steps[i], Seq: c.Seq, At: s.ledger.Now()})
	}
	for _, g := range c.Decided {
		s.nothingRecorded.Store(false)
		x := s.execution(g.Task)
		x.Gates = append(x.Gates, &g)
	}
}

func (s *Session) execution(task string) *core.Execution {
	x := s.executions[task]
	if x == nil {
		x = &core.Execution{}
		s.executions[task] = x
	}
	return x
}

// beginStep starts a step: nothing is on record for what follows the head.
func (s *Session) beginStep() {
	if s.executions == nil {
		s.executions = map[string]*core.Execution{}
	}
	clear(s.executions)
	s.senders = nil
	s.nothingRecorded.Store(true)
}

// replayOf returns what a task has on record since the head's step began, nil for nothing.
// It reads the log at most once a step, and not behind a checkpoint of this session.
func (s *Session) replayOf(ctx context.Context, key *TaskKey) (*replay, error) {
	if s.nothingRecorded.Load() {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readExecutions(ctx); err != nil {
		return nil, err
	}
	return newReplay(s.executions[key.String()], s.branch), nil
}

// StepsAhead returns how many steps behind the head have no checkpoint, but something on
// record. A run that a crash lost came that far.
func (s *Session) StepsAhead(ctx context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.Head()
	if h == nil {
		return 0, nil
	}
	if err := s.readExecutions(ctx); err != nil {
		return 0, err
	}
	most := h.Step + 1
	for key := range s.executions {
		digits, _, _ := strings.Cut(key, "/")
		digits, _, _ = strings.Cut(digits, "+")
		if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
			most = max(most, n)
		}
	}
	return int(most - h.Step - 1), nil
}

// readExecutions reads what is on record since the head's step began. Callers hold s.mu.
func (s *Session) readExecutions(ctx context.Context) error {
	if s.executions != nil {
		return nil
	}
	known, err := s.ledger.Core().Executions(ctx, s.Head())
	if err != nil {
		return s.Unanswered(err)
	}
	s.executions = known
	return s.findSenders()
}

// Refresh drops what was read of the step's executions, since somebody else may have
// decided a gate.
func (s *Session) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Head() != nil {
		s.nothingRecorded.Store(false)
		s.executions = nil
	}
}

// markFailed ends the session. Callers hold s.mu.
func (s *Session) markFailed(err error) { s.fail.Store(&err) }

// Unanswered stops the session if the store did not answer a call on which the way of the
// program depends, and returns the error. Such an error is no failure of the program: nothing is
// recorded, and another run goes on from the record.
func (s *Session) Unanswered(err error) error {
	if errors.Is(err, posthouse.ErrUnavailable) || errors.Is(err, posthouse.ErrUnknown) {
		s.fail.CompareAndSwap(nil, &err)
	}
	return err
}

func isDraftError(err error) bool {
	for _, e := range []error{posthouse.ErrInvalid, posthouse.ErrTooLarge, posthouse.ErrExists, posthouse.ErrUnsupported} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Err returns why the session ended: a failed commit, a store that did not answer, or a lease
// that may have lapsed. It is nil while the session is good.
func (s *Session) Err() error {
	if err := s.fail.Load(); err != nil {
		return *err
	}
	if err := s.lapsed.Load(); err != nil {
		return *err
	}
	return nil
}

// Key returns the name of an execution of a node behind the head. The node's name is
// escaped by [posthouse.EscapeName].
func (s *Session) Key(node string) string {
	step := uint64(0)
	if h := s.Head(); h != nil {
		step = h.Step + 1
	}
	return strconv.FormatUint(step, 10) + "/" + posthouse.EscapeName(node)
}

// TaskWithKey starts an execution under a name. [Session.Key] stays the same while the
// node waits, fails and runs again. A model uses a name of its own where an execution
// spans checkpoints, or a node runs more than once in a step. The name must be unique in
// the thread, except among executions that continue each other. Fresh promises that
// nothing is on record under it, and saves a read.
func (s *Session) TaskWithKey(ctx context.Context, key string, fresh bool) (*Task, error) {
	k := TaskKey{Label: key}
	if fresh {
		return &Task{session: s, key: k}, nil
	}
	return s.TaskFor(ctx, k)
}

// TaskFor is TaskWithKey for an execution that may have something on record.
func (s *Session) TaskFor(ctx context.Context, key TaskKey) (t *Task, err error) {
	t = &Task{session: s, key: key}
	t.replay, err = s.replayOf(ctx, &t.key)
	return t, err
}

// Fork begins a branch at a checkpoint, as [ledger.Ledger.Fork] does, and
// moves the session there before it has done anything.
func (s *Session) Fork(ctx context.Context, id posthouse.ID, o *ledger.ForkOptions) (*posthouse.Header, error) {
	own := *o
	own.Claim = s.claim
	c, err := s.ledger.Fork(ctx, id, &own)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.branch, s.birth, s.claimPersisted, s.executions = c.Branch, s.claim.Birth(), true, nil
	s.head.Store(&c.Header)
	return &c.Header, nil
}

// End gives the lease back. Only the first call counts. It ignores cancellation of ctx,
// so it can be deferred.
func (s *Session) End(ctx context.Context) error {
	s.stopWriteBehind()
	s.mu.Lock()
	ended := s.ended
	s.ended = true
	s.mu.Unlock()
	if ended {
		return nil
	}
	return s.claim.Release(context.WithoutCancel(ctx))
}
