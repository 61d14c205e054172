package front

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/transfer"
)

// Owns refuses a thread that another program runs: [posthouse.ErrInvalid].
func (f *Front[O, In, R, C]) Owns(h *posthouse.Header) error {
	if h.Graph == "" || h.Graph == f.Name {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "thread",
		Message: fmt.Sprintf("%q belongs to %q and is not run by %s %q", h.Thread, h.Graph, f.Kind, f.Name),
		Hint:    "use another thread, or the program that the thread names",
	}
}

// State returns the checkpoint that o asks for. [posthouse.ErrNotFound].
func (f *Front[O, In, R, C]) State(ctx context.Context, thread string, o StateOptions) (*C, error) {
	c, err := StateOf(ctx, f.Ledger, thread, o)
	if err != nil {
		return nil, err
	}
	return f.Snapshot(c)
}

// At returns a checkpoint by its id. [posthouse.ErrNotFound].
func (f *Front[O, In, R, C]) At(ctx context.Context, id posthouse.ID) (*C, error) {
	c, err := f.Ledger.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return f.Snapshot(c)
}

// History yields the thread's checkpoints, newest first unless told otherwise. wrong, if
// not nil, is why the options cannot be used. It goes on after a checkpoint that does not fit
// the type of today: the error names it. Any other error is the last element.
func (f *Front[O, In, R, C]) History(ctx context.Context, thread string, o HistoryOptions, wrong error) iter.Seq2[*C, error] {
	return func(yield func(*C, error) bool) {
		if wrong != nil {
			yield(nil, wrong)
			return
		}
		for c, err := range f.Ledger.ListStates(ctx, o.query(thread)) {
			if err != nil {
				yield(nil, err)
				return
			}
			s, unfit := f.Snapshot(c)
			if unfit != nil { // this one does not fit the type of today; others may
				s, unfit = nil, fmt.Errorf("checkpoint %s: %w", c.ID, unfit)
			}
			if !yield(s, unfit) {
				return
			}
		}
	}
}

// A Version is a released thread with what it ended in.
type Version[C any] struct {
	posthouse.Release
	State *C // the head of main, or of the first branch there was
}

// Release closes what the thread has on record as a version: see
// [ledger.Ledger.Release]. With an error the version stands if it is not nil.
func (f *Front[O, In, R, C]) Release(ctx context.Context, thread string, o *ledger.ReleaseOptions) (*Version[C], error) {
	thread = cmp.Or(thread, posthouse.DefaultThread)
	info, err := f.Ledger.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	if err := f.Owns(&posthouse.Header{Thread: thread, Graph: info.Graph}); err != nil {
		return nil, err
	}
	r, failed := f.Ledger.Release(ctx, thread, o)
	if r == nil {
		return nil, failed
	}
	v, err := f.version(ctx, r)
	return v, errors.Join(failed, err)
}

// Versions yields a thread's releases, newest first. An error is the last element.
func (f *Front[O, In, R, C]) Versions(ctx context.Context, thread string) iter.Seq2[*posthouse.Release, error] {
	return f.Ledger.Releases(ctx, cmp.Or(thread, posthouse.DefaultThread))
}

// Version returns a released version by its number in decimal or a tag, or the
// last if neither is given. [posthouse.ErrNotFound].
func (f *Front[O, In, R, C]) Version(ctx context.Context, thread, versionOrTag string) (*Version[C], error) {
	thread = cmp.Or(thread, posthouse.DefaultThread)
	var r *posthouse.Release
	var err error
	if versionOrTag == "" {
		r, err = ledger.LastRelease(ctx, f.Ledger, thread)
	} else {
		r, err = ledger.FindRelease(ctx, f.Ledger, thread, versionOrTag)
	}
	if err != nil {
		return nil, err
	}
	return f.version(ctx, r)
}

// version adds what a release ended in.
func (f *Front[O, In, R, C]) version(ctx context.Context, r *posthouse.Release) (*Version[C], error) {
	h, ok := r.Head("")
	if !ok && len(r.Heads) > 0 {
		h = r.Heads[0]
	}
	c, err := f.Ledger.Get(ctx, h.Head)
	if err != nil {
		return nil, err
	}
	s, err := f.Snapshot(c)
	return &Version[C]{*r, s}, err
}

// Branches returns a thread's branches with their heads, main first.
// [posthouse.ErrNotFound].
func (f *Front[O, In, R, C]) Branches(ctx context.Context, thread string) ([]posthouse.BranchHead, error) {
	info, err := f.Ledger.Thread(ctx, cmp.Or(thread, posthouse.DefaultThread))
	if err != nil {
		return nil, err
	}
	return info.Branches, nil
}

// Copy makes a new thread with the whole history of another and returns the head of
// its main branch: see [transfer.CopyThread].
func (f *Front[O, In, R, C]) Copy(ctx context.Context, from, to string, o *transfer.CopyOptions) (*C, error) {
	info, err := transfer.CopyThread(ctx, f.Ledger, cmp.Or(from, posthouse.DefaultThread), to, o)
	if err != nil {
		return nil, err
	}
	return f.State(ctx, info.Thread, StateOptions{})
}

// A Comparison says how two checkpoints differ.
type Comparison[C any] struct {
	diff.Comparison
	From, To *C
}

// Compare compares two checkpoints, of one thread or of two.
func (f *Front[O, In, R, C]) Compare(ctx context.Context, from, to posthouse.ID) (*Comparison[C], error) {
	c, err := diff.Compare(ctx, f.Ledger, from, to)
	if err != nil {
		return nil, err
	}
	d := &Comparison[C]{Comparison: *c}
	d.From, err = f.At(ctx, from)
	if err != nil {
		return nil, err
	}
	d.To, err = f.At(ctx, to)
	return d, err
}
