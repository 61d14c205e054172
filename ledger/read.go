package ledger

import (
	"context"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// Store returns the store below.
func (l *Ledger) Store() posthouse.Store { return l.core.Store }

// Core returns what the Ledger shares with the packages that keep its store: retain,
// transfer, diff and crypt take a Ledger for it. It is no part of the API.
func (l *Ledger) Core() *core.Core { return l.core }

// Now returns the Ledger's time.
func (l *Ledger) Now() time.Time { return l.core.Now() }

// Close makes later commits fail with [posthouse.ErrClosed]. It waits for nothing, since
// nothing is buffered, and leaves the store open.
func (l *Ledger) Close() error { return l.core.Close() }

// Get returns a checkpoint with its state. Every byte was checked against the
// hash it was written with: [posthouse.ErrCorrupt] otherwise. [posthouse.ErrNotFound].
func (l *Ledger) Get(ctx context.Context, id posthouse.ID) (*posthouse.Checkpoint, error) {
	return l.core.Get(ctx, id)
}

// GetHeader returns a checkpoint without its state. [posthouse.ErrNotFound].
func (l *Ledger) GetHeader(ctx context.Context, id posthouse.ID) (*posthouse.Header, error) {
	return l.core.GetHeader(ctx, id)
}

// Thread returns a thread's summary. [posthouse.ErrNotFound], also for one that was
// released and has not begun anew since: [Ledger.Releases] knows it.
func (l *Ledger) Thread(ctx context.Context, thread string) (*posthouse.ThreadInfo, error) {
	return l.core.Thread(ctx, thread)
}

// Gate returns a gate, with its decision if it has one. [posthouse.ErrNotFound].
func (l *Ledger) Gate(ctx context.Context, id posthouse.ID) (*posthouse.Gate, error) {
	return l.core.Gate(ctx, id)
}

// Releases yields a thread's releases, newest first. Those
// that were dropped are among them: their checkpoints are not found.
func (l *Ledger) Releases(ctx context.Context, thread string) iter.Seq2[*posthouse.Release, error] {
	return core.Releases(ctx, l.core, thread)
}

// Claim takes the thread for a run of this process. It writes nothing yet. It
// fails with [posthouse.ErrBusy], Error.Lease saying who holds the thread, while another
// run of this process has it, of this Ledger or another over the same handle of
// the store, or another process whose lease is alive. Until
// the claim is given back, or the Ledger closed, the process keeps its leases
// alive: whoever claims calls [Claim.Release] in the end.
func (l *Ledger) Claim(ctx context.Context, thread, run string) (*Claim, error) {
	return l.core.Claim(ctx, thread, run)
}

// FindRelease returns the release of a thread that has a version, in decimal, or the
// newest that has a tag. [posthouse.ErrNotFound]. It looks at each newer one first.
func FindRelease(ctx context.Context, l core.Ledger, thread, versionOrTag string) (*posthouse.Release, error) {
	return core.ReleaseOf(ctx, l.Core(), thread, versionOrTag)
}

// LastRelease returns a thread's newest release. [posthouse.ErrNotFound] if it has
// none.
func LastRelease(ctx context.Context, l core.Ledger, thread string) (*posthouse.Release, error) {
	for r, err := range core.Releases(ctx, l.Core(), thread) {
		return r, err
	}
	return nil, posthouse.NotFound("release of thread", thread)
}

// NewID returns a new UUIDv7; ids of one Ledger ascend strictly. Whoever names a
// checkpoint before it is saved takes one; an empty id gets one by itself.
func NewID(l *Ledger) posthouse.ID { return l.core.NewID() }

// Executions returns what the unfinished executions at a branch's head have on
// record, by task: results of steps, and questions with their answers.
func Executions(ctx context.Context, l *Ledger, head *posthouse.Header) (map[string]*Execution, error) {
	return l.core.Executions(ctx, head)
}
