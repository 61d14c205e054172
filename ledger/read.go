package ledger

import (
	"context"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/lists"
)

// Store returns the Ledger's store.
func (l *Ledger) Store() posthouse.Store { return l.core.Store }

// Core returns what the Ledger shares with packages retain, transfer, diff and crypt.
// Programs have no use for it.
func (l *Ledger) Core() *commit.Committer { return l.core }

// Now returns the Ledger's time.
func (l *Ledger) Now() time.Time { return l.core.Now() }

// Close makes later commits fail with [posthouse.ErrClosed]. It leaves the store open.
// Nothing is buffered, so it does not wait.
func (l *Ledger) Close() error { return l.core.Close() }

// Get returns a checkpoint with its state. Every byte is checked against the hash of
// its writing: [posthouse.ErrCorrupt]. [posthouse.ErrNotFound].
func (l *Ledger) Get(ctx context.Context, id posthouse.ID) (*posthouse.Checkpoint, error) {
	return l.core.Get(ctx, id)
}

// GetHeader returns a checkpoint without its state. [posthouse.ErrNotFound].
func (l *Ledger) GetHeader(ctx context.Context, id posthouse.ID) (*posthouse.Header, error) {
	return l.core.GetHeader(ctx, id)
}

// HeadOf returns the head of a branch as a thread's summary names it, without its state.
// [Ledger.GetHeader] would look for its id first, which is a call of its own to a server.
func HeadOf(ctx context.Context, l *Ledger, in *posthouse.ThreadInfo, b posthouse.BranchHead) (*posthouse.Header, error) {
	return core.HeadOf(ctx, l.core.Core, in, b)
}

// GetOf returns the checkpoint of a header with its state, as [Ledger.Get] does.
func GetOf(ctx context.Context, l *Ledger, h *posthouse.Header) (*posthouse.Checkpoint, error) {
	return core.GetOf(ctx, l.core.Core, h)
}

// Thread returns a thread's summary. It fails with [posthouse.ErrNotFound] for an
// unknown thread, and for a released one that has not started again: see
// [Ledger.Releases].
func (l *Ledger) Thread(ctx context.Context, thread string) (*posthouse.ThreadInfo, error) {
	t, err := l.core.Logs.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	t.Branches = lists.SortBranches(t.Branches)
	return t, nil
}

// Gate returns a gate, with its decision if it has one. [posthouse.ErrNotFound].
func (l *Ledger) Gate(ctx context.Context, id posthouse.ID) (*posthouse.Gate, error) {
	return l.core.Logs.Gate(ctx, id)
}

// Releases yields a thread's releases, newest first. It includes dropped ones,
// though their checkpoints are not found.
func (l *Ledger) Releases(ctx context.Context, thread string) iter.Seq2[*posthouse.Release, error] {
	return l.core.Logs.Releases(ctx, thread)
}

// FindRelease returns the release of a thread with a version, as a decimal number, or
// the newest with a tag. [posthouse.ErrNotFound]. It reads every newer release first.
func FindRelease(ctx context.Context, l *Ledger, thread, versionOrTag string) (*posthouse.Release, error) {
	return l.core.Logs.ReleaseOf(ctx, thread, versionOrTag)
}

// LastRelease returns a thread's newest release, or [posthouse.ErrNotFound].
func LastRelease(ctx context.Context, l *Ledger, thread string) (*posthouse.Release, error) {
	for r, err := range l.core.Logs.Releases(ctx, thread) {
		return r, err
	}
	return nil, posthouse.NotFound("release of thread", thread)
}

// NewID returns a new UUIDv7; ids of one Ledger ascend strictly. Use it to name a
// checkpoint before it is saved; an empty id is replaced by a new one anyway.
func NewID(l *Ledger) posthouse.ID { return l.core.NewID() }
