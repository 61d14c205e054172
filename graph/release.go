package graph

import (
	"context"
	"errors"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/transfer"
)

// An AutoRelease says when a run releases its thread by itself. A run that
// waits or was interrupted never does, and none while another branch of the
// thread is not over. A process that dies between the end and the release leaves
// the thread done: then [App.Resume] releases it.
type AutoRelease struct {
	Done   bool     // when its branch reaches the end
	Failed bool     // when it fails; the release says so. Without this the thread can be resumed
	Tags   []string // of the release
}

// A Version is a released thread: its [posthouse.Release] and, as State, the
// snapshot that it ended in, the head of main or of the first branch there was.
type Version[S any] = engine.Version[Snapshot[S]]

// Release closes what the thread has on record as a version that can still be
// read, and frees its name: what runs under it next begins anew. Errors are
// those of [ledger.Ledger.Release].
func (a *App[S]) Release(ctx context.Context, thread string, o *ledger.ReleaseOptions) (*Version[S], error) {
	return a.front.Release(ctx, thread, o)
}

// Versions yields a thread's releases, newest first. An error is the last
// element.
func (a *App[S]) Versions(ctx context.Context, thread string) iter.Seq2[*posthouse.Release, error] {
	return a.front.Versions(ctx, thread)
}

// Version returns a released version by its number in decimal or a tag, or the
// last if neither is given, with the state that it ended in. HistoryOptions and
// StateOptions read the rest of it. [posthouse.ErrNotFound].
func (a *App[S]) Version(ctx context.Context, thread, versionOrTag string) (*Version[S], error) {
	return a.front.Version(ctx, thread, versionOrTag)
}

// autoRelease returns what the run was told of releases.
func (r *run[S]) autoRelease() AutoRelease {
	if r.opt.Release != nil {
		return *r.opt.Release
	}
	return r.app.release
}

// releaseDone releases the thread of a run that reached its end.
func (r *run[S]) releaseDone(ctx context.Context) error {
	if r.subrun != nil || !r.autoRelease().Done || r.sess.Head().Status != posthouse.StatusDone {
		return nil
	}
	return r.releaseAs(ctx, &ledger.ReleaseOptions{})
}

// Release releases the thread of a run that failed on record.
func (r *run[S]) Release(ctx context.Context, _ *Result[S], failed error) error {
	var n *NodeError
	var over *RecursionError
	if !r.autoRelease().Failed || r.sess.Err() != nil || !errors.As(failed, &n) && !errors.As(failed, &over) || n != nil && n.Checkpoint == "" {
		return nil
	}
	return r.releaseAs(ctx, &ledger.ReleaseOptions{Failed: true, Reason: r.sess.Head().Error})
}

func (r *run[S]) releaseAs(ctx context.Context, o *ledger.ReleaseOptions) (err error) {
	o.Tags, o.By = r.autoRelease().Tags, r.opt.By
	r.version, err = r.sess.Release(ctx, o)
	return err
}

// Branches returns a thread's branches with their heads, main first.
// [posthouse.ErrNotFound].
func (a *App[S]) Branches(ctx context.Context, thread string) ([]posthouse.BranchHead, error) {
	return a.front.Branches(ctx, thread)
}

// Copy makes a new thread with the whole history of another and returns the
// head of its main branch. Nothing of it runs until it is resumed. See
// [ledger.Ledger.CopyThread].
func (a *App[S]) Copy(ctx context.Context, from, to string, o *transfer.CopyOptions) (*Snapshot[S], error) {
	return a.front.Copy(ctx, from, to, o)
}

// A Comparison says how two checkpoints differ.
type Comparison[S any] struct {
	diff.Comparison
	From, To *Snapshot[S]
	Fields   []string // Go names of the fields of S that differ
}

// Compare compares two checkpoints, of one thread or of two, field by field.
// The parts in it say what changed within a field, by JSON pointer.
func (a *App[S]) Compare(ctx context.Context, from, to posthouse.ID) (*Comparison[S], error) {
	c, err := a.front.Compare(ctx, from, to)
	if err != nil {
		return nil, err
	}
	return &Comparison[S]{c.Comparison, c.From, c.To, a.schema.Diff(&c.From.State, &c.To.State)}, nil
}
