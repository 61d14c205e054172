package graph

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/transfer"
)

// An AutoRelease says when a run releases its thread by itself. A run that waits or was
// interrupted does not release it, and neither does a run while another branch of the
// thread is open. If the process dies between the end and the release the thread is
// left done, and [App.Resume] releases it.
type AutoRelease struct {
	Done   bool     // when its branch reaches the end
	Failed bool     // when it fails; the release says so. Otherwise a failed thread can be resumed
	Tags   []string // of the release
}

// A Version is a released thread: its [posthouse.Release] and, as State, the last snapshot:
// the head of main, or of the first branch if there was no main.
type Version[S any] struct {
	posthouse.Release
	State *Snapshot[S]
}

// Release closes what the thread has on record as a version that can still be read.
// The next run under the thread's name starts over. Errors are those of
// [ledger.Ledger.Release].
func (a *App[S]) Release(ctx context.Context, thread string, o *ledger.ReleaseOptions) (*Version[S], error) {
	v, err := a.core.front.Release(ctx, thread, o)
	return typedVersion[S](v), err
}

// Versions yields a thread's releases, newest first. An error is the last
// element.
func (a *App[S]) Versions(ctx context.Context, thread string) iter.Seq2[*posthouse.Release, error] {
	return a.core.front.Versions(ctx, thread)
}

// Version returns a released version with the state that it ended in. versionOrTag is
// its number in decimal or a tag; "" is the last version. HistoryOptions and
// StateOptions read the rest of it. [posthouse.ErrNotFound].
func (a *App[S]) Version(ctx context.Context, thread, versionOrTag string) (*Version[S], error) {
	v, err := a.core.front.Version(ctx, thread, versionOrTag)
	return typedVersion[S](v), err
}

func (r *run) autoRelease() AutoRelease {
	if r.opt.Release != nil {
		return *r.opt.Release
	}
	return r.app.release
}

// releaseDone releases the thread of a run that reached its end.
func (r *run) releaseDone(ctx context.Context) error {
	if r.subrun != nil || !r.autoRelease().Done || r.sess.Head().Status != posthouse.StatusDone {
		return nil
	}
	return r.releaseAs(ctx, &ledger.ReleaseOptions{})
}

// Release releases the thread of a run that failed on record.
func (r *run) Release(ctx context.Context, _ *result, failed error) error {
	if failed == nil || !r.autoRelease().Failed {
		return nil
	}
	var n *NodeError
	var over *RecursionError
	if r.sess.Err() != nil || !errors.As(failed, &n) && !errors.As(failed, &over) || n != nil && n.Checkpoint == "" {
		return nil
	}
	return r.releaseAs(ctx, &ledger.ReleaseOptions{Failed: true, Reason: r.sess.Head().Error})
}

func (r *run) releaseAs(ctx context.Context, o *ledger.ReleaseOptions) (err error) {
	o.Tags, o.By = r.autoRelease().Tags, r.opt.By
	r.version, err = r.sess.Release(ctx, o)
	return err
}

// Branches returns a thread's branches with their heads, main first.
// [posthouse.ErrNotFound].
func (a *App[S]) Branches(ctx context.Context, thread string) ([]posthouse.BranchHead, error) {
	return a.core.front.Branches(ctx, thread)
}

// Copy makes a new thread with the whole history of another, and returns the head of
// its main branch. Nothing runs until it is resumed. See [transfer.CopyThread].
func (a *App[S]) Copy(ctx context.Context, from, to string, o *transfer.CopyOptions) (*Snapshot[S], error) {
	s, err := a.core.front.Copy(ctx, from, to, o)
	return typedSnapshot[S](s), err
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
	c, err := a.core.front.Compare(ctx, from, to)
	if err != nil {
		return nil, err
	}
	return &Comparison[S]{c.Comparison, typedSnapshot[S](c.From), typedSnapshot[S](c.To), a.core.Schema.Diff(c.From.State, c.To.State)}, nil
}

// StateOptions say which state is wanted. The zero value is the head of main.
type StateOptions struct {
	Branch     string       // default main; with Node: any
	Checkpoint posthouse.ID // this one
	Node       string       // the newest checkpoint of this node, alone or beside others, also if it failed or waits
	Version    uint32       // of this released version; 0: of the current generation
}

// State returns a checkpoint of the thread with its state.
// [posthouse.ErrNotFound].
func (a *App[S]) State(ctx context.Context, thread string, o ...StateOptions) (*Snapshot[S], error) {
	opt, err := engine.Optional(o)
	if err != nil {
		return nil, err
	}
	s, err := a.core.front.State(ctx, thread, front.StateOptions(opt))
	return typedSnapshot[S](s), err
}

// HistoryOptions narrow a history. The zero value is all of it.
type HistoryOptions struct {
	Branch  string           // only this branch; default all
	Node    string           // only this node's checkpoints, alone or beside others
	Kind    string           // only this kind, such as posthouse.KindNode
	Status  posthouse.Status // only those of this status
	Run     string           // only what this run made
	Label   string           // only those with this label, of this value
	Value   string
	Since   time.Time // of CreatedAt, both inclusive; zero: open
	Until   time.Time
	Version uint32 // of this released version; 0: of the current generation
	Oldest  bool   // oldest first
	After   string // go on after the snapshot with this Cursor
	Limit   int    // 0: no limit
}

// History yields the thread's checkpoints with their states, by default newest first.
// An unknown thread has no checkpoints. A checkpoint that does not fit S is an error that
// names it, and the history goes on after it. Any other error is the last element.
func (a *App[S]) History(ctx context.Context, thread string, o ...HistoryOptions) iter.Seq2[*Snapshot[S], error] {
	opt, err := engine.Optional(o)
	all := a.core.front.History(ctx, thread, front.HistoryOptions(opt), err)
	return func(yield func(*Snapshot[S], error) bool) {
		all(func(s *snapshot, err error) bool { return yield(typedSnapshot[S](s), err) })
	}
}

// WaitOptions refine [App.Wait]. The zero value is useful.
type WaitOptions struct {
	Branch string // default main
}

// Wait waits until the thread's run has ended, failed, stopped, or waits for a person, and returns
// the head. It needs no handle: the run may have begun anywhere, and go on in any process. A run
// that waits for a time, a signal or a worker goes on by itself, so Wait goes on as well. Something
// must run the thread, as package runner does. Wait returns ctx's error if that ends first, and
// [posthouse.ErrNotFound] for an unknown thread or branch.
func (a *App[S]) Wait(ctx context.Context, thread string, o ...WaitOptions) (*Snapshot[S], error) {
	opt, err := engine.Optional(o)
	if err != nil {
		return nil, err
	}
	s, err := a.core.front.Wait(ctx, thread, opt.Branch)
	return typedSnapshot[S](s), err
}
