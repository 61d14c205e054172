package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/strictjson"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
)

// Signal appends s to a thread's log, even while a run has the thread. The same commit
// answers the gates that wait for its name and have not expired, and makes their
// branches runnable. It answers all gates that latch, and on each branch the oldest
// other one, or all others if s latches.
//
// A signal that a program sends (below a node, flow or handler, with its context) without a
// By is sent by whoever sent the program its input. Whatever its By, it names all requesters of
// the program in [posthouse.Signal.Requesters].
//
// It fails with [posthouse.ErrNotFound] for an unknown thread unless s.Early is set, and for one
// that was deleted,
// with [posthouse.ErrExists] if s.ID is on record with another name or value, with
// [posthouse.ErrTooLarge] beyond [posthouse.MaxSignal] or 1,000 names in the thread. A
// thread that has ended takes signals, too: a later run may wait for them.
func (l *Ledger) Signal(ctx context.Context, thread string, s posthouse.Signal) (*posthouse.Signal, error) {
	if err := commit.CheckSignal(&s); err != nil {
		return nil, err
	}
	if err := commit.SentBy(ctx, &s); err != nil {
		return nil, err
	}
	t, err := l.core.Lock(thread)
	if err != nil {
		return nil, err
	}
	defer l.core.Unlock(t)
	own := s.ID == ""
	if own {
		s.ID = l.core.NewID()
	} else if old, err := l.findSent(ctx, thread, &s); old != nil || err != nil {
		return old, err
	}
	var answered []*posthouse.Gate
	err = l.core.Append(ctx, t, func(tx *core.Tx) error {
		if t.Info.Gone() && !s.Early && t.Claim == nil {
			return t.Info.Absent()
		}
		if s.Early && t.Claim == nil && wasDeleted(t.Info) {
			return &posthouse.Error{
				Code: posthouse.CodeNotFound, Message: "thread " + thread + " was deleted: a signal does not begin it again",
				Hint: "start the thread, and send the signal then",
			}
		}
		answered, err = commit.Send(tx, &s)
		return err
	})
	if errors.Is(err, posthouse.ErrExists) && !own {
		if old, e := l.findSent(ctx, thread, &s); old != nil {
			return old, e // another process was first
		}
	}
	if err != nil {
		return nil, err
	}
	coordination := t.Info.CoordinationName()
	l.core.Observe.Signalled(&s, coordination)
	for _, g := range answered {
		l.core.Observe.Decided(g, coordination)
	}
	return &s, nil
}

// findSent returns the signal that is on record under the id of s, or nil.
func (l *Ledger) findSent(ctx context.Context, thread string, s *posthouse.Signal) (*posthouse.Signal, error) {
	ref, err := l.core.Store.Find(ctx, s.ID)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if ref.Thread == thread {
		old, err := l.core.Logs.Reader(ctx, thread).Signal(ref.Seq)
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return nil, err
		}
		if old != nil && old.ID == s.ID && old.Name == s.Name && sameJSON(old.Value, s.Value) {
			return old, nil
		}
	}
	return nil, &posthouse.Error{Code: posthouse.CodeExists, Message: "id " + string(s.ID) + " is taken", Hint: "send the signal under another id, or none"}
}

// sameJSON reports whether two texts are the same value: providers that send an event again may
// write its spaces, the order of its members or an escape differently.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := canonical(a)
	y, errY := canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func canonical(data []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return strictjson.AppendCanonical(nil, d)
}

// wasDeleted reports whether a thread is gone that was deleted, not released: an event that a
// provider sends again must not bring it back.
func wasDeleted(info *posthouse.ThreadInfo) bool {
	return info.Gone() && info.Generation > 1 && info.Releases == 0
}
