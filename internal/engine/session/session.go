package session

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// Options name what a session runs.
type Options struct {
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
	StartAt  time.Time      // the first checkpoint waits until then; zero or past: it does not wait

	contention contention
}

// A Session is one run over one branch of a thread under a lease. It is safe
// for concurrent use.
type Session struct {
	ledger *ledger.Ledger
	thread string
	opt    Options // as they were given; with the run's id
	claim  *ledger.Claim
	before posthouse.Lease // the lease as the session began

	uses   sync.Mutex // held while a use of a grant is counted and recorded; before mu
	behind writeBehind
	lapsed atomic.Pointer[error] // why what ran was stopped, once the lease may have lapsed

	mu        sync.Mutex
	branch    string                           // only a fork, before the session has done anything, changes it
	birth     uint64                           // of the branch
	persisted bool                             // the claim is on record, or no other process could run the thread
	head      atomic.Pointer[posthouse.Header] // written under mu
	want      posthouse.ID                     // the head that a commit requires
	fail      atomic.Pointer[error]            // the first failed commit
	step      stepRecord
	signals   signalQueues
	hooks     hooks
	state     state
}

// A state says whether a session has ended.
type state int

const (
	running state = iota
	ended
	released // it released its thread: the name is free for another
)

// hooks are the model's own, called under the session's lock.
type hooks struct {
	onDraft  func(*ledger.Draft)
	onCommit func(*ledger.Draft, *posthouse.Committed, time.Time)
}

// Begin takes the thread's lease and finds the branch's head. While a live process runs
// the thread it fails with [posthouse.ErrBusy], which names the holder, unless OnBusy says
// otherwise. For a thread or branch that does not exist yet Head is nil.
func Begin(ctx context.Context, l *ledger.Ledger, o Options) (*Session, error) {
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
	s := &Session{ledger: l, thread: o.Thread, opt: o, claim: claim, branch: o.Branch}
	if found := claim.Found(); found != nil {
		s.before = found.Lease
	}
	head, birth, err := findHead(ctx, l, claim, o.Branch)
	s.birth = birth
	if err != nil {
		return nil, errors.Join(err, s.End(ctx))
	}
	s.head.Store(head)
	if err := s.askLost(ctx); err != nil {
		return nil, errors.Join(err, s.End(ctx))
	}
	if o.NewInput && hasPendingCancel(claim, o.Branch) {
		_, err := s.Cancellation().Finish(ctx)
		if err := errors.Join(err, s.End(ctx)); err != nil {
			return nil, err
		}
		o.Place = l.NewTicket(o.Thread, true)
		again, err := Begin(ctx, l, o)
		if err == nil {
			again.before.Held = s.before.Held
		}
		return again, err
	}
	if s.Head() == nil {
		s.step.begin()
	}
	return s, nil
}

// askLost asks people about effects that an earlier run left with an unknown outcome, before this
// one does anything else.
func (s *Session) askLost(ctx context.Context) error {
	found := s.claim.Found()
	if found == nil || len(found.Begun) == 0 {
		return nil
	}
	asked, _, err := commit.AskLost(context.WithoutCancel(ctx), s.ledger.Core(), s.thread, commit.Taking{Run: s.opt.Run})
	s.persisted = s.persisted || asked > 0
	return err
}

// findHead finds what the branch had when the thread was claimed.
func findHead(ctx context.Context, l *ledger.Ledger, claim *ledger.Claim, branch string) (h *posthouse.Header, birth uint64, err error) {
	info := claim.Found()
	if info == nil {
		return nil, claim.Birth(), nil
	}
	b, ok := info.Branch(branch)
	if !ok {
		return nil, claim.Birth(), nil
	}
	h, err = ledger.HeadOf(ctx, l, info, b)
	return h, info.Birth(branch), err
}

// Ledger returns the ledger the session writes to.
func (s *Session) Ledger() *ledger.Ledger { return s.ledger }

// Thread returns the thread's id.
func (s *Session) Thread() string { return s.thread }

// Branch returns the branch's name.
func (s *Session) Branch() string { return s.branch }

// Birth returns the entry of the newest removal before the session's branch began that ended a
// branch of the thread, 0 if there was no such removal. It tells the branch apart from a
// deleted one of its name.
func (s *Session) Birth() uint64 { return s.birth }

// Instance returns the program's, see [posthouse.Gate.Instance].
func (s *Session) Instance() string { return s.opt.Instance }

// HoldFor returns how long a step waits itself for its next attempt.
func (s *Session) HoldFor() time.Duration { return s.opt.Hold }

// Run returns the run's id.
func (s *Session) Run() string { return s.opt.Run }

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
// session is over: every later Commit returns that error, except one with AfterCancel after
// [posthouse.ErrCancelled].
func (s *Session) Commit(ctx context.Context, d *ledger.Draft) (*posthouse.Committed, error) {
	if err := s.Flush(); err != nil && !(d.AfterCancel && errors.Is(err, posthouse.ErrCancelled)) {
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
	if err != nil && !(d.AfterCancel && errors.Is(err, posthouse.ErrCancelled)) {
		return nil, err
	}
	if s.state != running {
		return nil, &posthouse.Error{Code: posthouse.CodeClosed, Message: "the run of thread " + strconv.Quote(s.thread) + " has ended"}
	}
	if s.hooks.onDraft != nil && d.Checkpoint == nil {
		s.hooks.onDraft(d)
	}
	s.step.nameSenders(d)
	if !s.opt.StartAt.IsZero() && d.Checkpoint != nil {
		s.delayStart(d)
	}
	s.want = ""
	if h := s.Head(); h != nil {
		s.want = h.ID
	}
	d.Thread, d.Branch, d.Claim, d.Head = s.thread, s.branch, s.claim, &s.want
	if d.Checkpoint != nil && d.Checkpoint.Run == "" {
		d.Checkpoint.Run = s.opt.Run
	}
	var began time.Time
	if s.hooks.onCommit != nil {
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
	if s.hooks.onCommit != nil {
		s.hooks.onCommit(d, c, began)
	}
	return c, nil
}

// OnCommit has fn called after each commit, in their order, with the time it began. It is
// called under a lock: of the session it may use only what is fixed, and its head.
func (s *Session) OnCommit(fn func(d *ledger.Draft, c *posthouse.Committed, began time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks.onCommit = fn
}

// OnDraft has fn add to each draft without a checkpoint before it is committed. Models
// make checkpoints of steps there. fn is called under a lock and must not use the session.
// Nil ends that: no call is under way when OnDraft returns.
func (s *Session) OnDraft(fn func(*ledger.Draft)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks.onDraft = fn
}

// applyCommit applies what a commit changed to the head and the tasks on record.
func (s *Session) applyCommit(d *ledger.Draft, c *posthouse.Committed) {
	s.persisted = true
	s.signals.forgetAnswered(c.Gates)
	if len(d.Withdraw) > 0 { // it may have returned some
		s.signals = nil
	}
	if h := c.Checkpoint; h != nil {
		if old := s.Head(); old == nil || h.Step != old.Step {
			s.step.begin()
		}
		s.head.Store(h)
	}
	s.step.add(d.Steps, c, s.ledger)
}

// CountUses locks the uses of grants: of two effects that count the uses of one grant, the
// second one counts the record of the first.
func (s *Session) CountUses() (done func()) {
	s.uses.Lock()
	return s.uses.Unlock
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

// Key returns the name of an execution of a node after the head. The node's name is
// escaped by [posthouse.EscapeName].
func (s *Session) Key(node string) string {
	step := uint64(0)
	if h := s.Head(); h != nil {
		step = h.Step + 1
	}
	return strconv.FormatUint(step, 10) + "/" + posthouse.EscapeName(node)
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
	s.branch, s.birth, s.persisted = c.Branch, s.claim.Birth(), true
	s.step.executions = nil
	s.head.Store(&c.Header)
	return &c.Header, nil
}

// End gives the lease back. Only the first call counts. It ignores cancellation of ctx,
// so it can be deferred.
func (s *Session) End(ctx context.Context) error {
	s.behind.stop()
	s.mu.Lock()
	before := s.state
	s.state = max(s.state, ended)
	s.mu.Unlock()
	if before != running {
		return nil
	}
	return s.claim.Release(context.WithoutCancel(ctx))
}
