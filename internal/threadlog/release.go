package threadlog

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
)

// Releases yields a thread's releases, newest first.
func (l *Logs) Releases(ctx context.Context, thread string) iter.Seq2[*posthouse.Release, error] {
	return func(yield func(*posthouse.Release, error) bool) {
		info, err := l.Summary(ctx, thread)
		if errors.Is(err, posthouse.ErrNotFound) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		seq := info.First - 1
		for range info.Releases {
			r, err := l.releaseAt(ctx, thread, seq)
			if err == nil {
				seq = r.First - 1 // before r is the caller's
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func (l *Logs) releaseAt(ctx context.Context, thread string, seq uint64) (*posthouse.Release, error) {
	e, err := l.Reader(ctx, thread).Entry(seq, false)
	if err != nil {
		return nil, err
	}
	if n := len(e.Recs); n > 0 && e.Recs[n-1].Release != nil {
		return &posthouse.Release{Thread: thread, ReleaseInfo: *e.Recs[n-1].Release, Seq: seq, Hash: e.Hash, At: e.Time()}, nil
	}
	return nil, posthouse.Corrupt("entry %d of thread %q is no release", seq, thread)
}

// ReleaseOf returns the release with a version, as a decimal number, or the newest with
// a tag. [posthouse.ErrNotFound]. It reads every newer release first.
func (l *Logs) ReleaseOf(ctx context.Context, thread, versionOrTag string) (*posthouse.Release, error) {
	version, notNumber := strconv.ParseUint(versionOrTag, 10, 32)
	for r, err := range l.Releases(ctx, thread) {
		if err != nil {
			return nil, err
		}
		if notNumber == nil && uint64(r.Version) == version || slices.Contains(r.Tags, versionOrTag) {
			return r, nil
		}
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: "thread " + thread + " has no release " + strconv.Quote(versionOrTag),
		Hint: "list them: posthouse thread versions " + thread,
	}
}
