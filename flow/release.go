package flow

import (
	"context"
	"errors"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/transfer"
)

// An AutoRelease says when a run releases its thread by itself. A run that waits never
// does, nor does any while another branch of the thread is not over. If the process dies
// between the end and the release, [App.Resume] releases the thread. Ids of runs and
// [Previous] do not reach beyond a release.
type AutoRelease struct {
	Done   bool     // when the function is done
	Failed bool     // when it fails; the release says so. Without this the thread can be resumed
	Tags   []string // of the release
}

// A Version is a released thread: its [posthouse.Release] and, as State, its last snapshot,
// the head of main or of its first branch.
type Version[In, Out any] struct {
	posthouse.Release
	State *Snapshot[In, Out]
}

func versionOf[In, Out any](v *front.Version[Snapshot[In, Out]], err error) (*Version[In, Out], error) {
	if v == nil {
		return nil, err
	}
	return &Version[In, Out]{v.Release, v.State}, err
}

// Release closes what the thread has on record as a version that can still be read, and
// frees its name: the next run starts over. Errors are those of [ledger.Ledger.Release].
// An error with a version comes after the thread was released.
func (a *App[In, Out]) Release(ctx context.Context, thread string, o *ledger.ReleaseOptions) (*Version[In, Out], error) {
	return versionOf(a.front.Release(ctx, thread, o))
}

// Versions yields a thread's releases, newest first. An error is the last
// element.
func (a *App[In, Out]) Versions(ctx context.Context, thread string) iter.Seq2[*posthouse.Release, error] {
	return a.front.Versions(ctx, thread)
}

// Version returns a released version by its number in decimal or by a tag, the last one for
// "". HistoryOptions and StateOptions read the rest of it. [posthouse.ErrNotFound].
func (a *App[In, Out]) Version(ctx context.Context, thread, versionOrTag string) (*Version[In, Out], error) {
	return versionOf(a.front.Version(ctx, thread, versionOrTag))
}

// Release releases the thread of the ended run, if its options say so.
func (r *run[In, Out]) Release(ctx context.Context, res *Result[Out], err error) error {
	auto := r.app.release
	if r.opt.Release != nil {
		auto = *r.opt.Release
	}
	o := &ledger.ReleaseOptions{Tags: auto.Tags, By: r.opt.By}
	h := r.sess.Head()
	var failed *Error
	switch {
	case r.sess.Err() != nil || h == nil:
		return nil
	case err == nil && auto.Done && res.Status == posthouse.StatusDone && res.Checkpoint == h.ID:
	case auto.Failed && errors.As(err, &failed) && failed.Checkpoint == h.ID:
		o.Failed, o.Reason = true, h.Error
	default:
		return nil
	}
	released, err := r.sess.Release(ctx, o)
	if res != nil {
		res.Release = released
	}
	return err
}

// Branches returns a thread's branches with their heads, main first.
// [posthouse.ErrNotFound].
func (a *App[In, Out]) Branches(ctx context.Context, thread string) ([]posthouse.BranchHead, error) {
	return a.front.Branches(ctx, thread)
}

// Copy makes a new thread with the whole history of another and returns the head of its
// main branch. It does not run until it is resumed. See [transfer.CopyThread].
func (a *App[In, Out]) Copy(ctx context.Context, from, to string, o *transfer.CopyOptions) (*Snapshot[In, Out], error) {
	return a.front.Copy(ctx, from, to, o)
}

// A Comparison says how two checkpoints differ, in their headers, inputs and outputs.
type Comparison[In, Out any] struct {
	diff.Comparison
	From, To *Snapshot[In, Out]
}

// Compare compares two checkpoints, of one thread or of two. The parts in it,
// "input" and "output", say what changed within, by JSON pointer.
func (a *App[In, Out]) Compare(ctx context.Context, from, to posthouse.ID) (*Comparison[In, Out], error) {
	c, err := a.front.Compare(ctx, from, to)
	if c == nil {
		return nil, err
	}
	return &Comparison[In, Out]{c.Comparison, c.From, c.To}, err
}
