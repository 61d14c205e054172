// Package child appends checkpoints that were made by hand. They go to the branch of
// their parent if that is its head, and otherwise to a new branch.
package child

import (
	"context"
	"errors"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
)

// Commit appends a child to its parent's branch if the parent is the head. Otherwise
// it begins a branch with the child. left are open gates of called threads that the
// branch no longer waits for.
func Commit(ctx context.Context, l *ledger.Ledger, base *posthouse.Checkpoint, c *posthouse.Change, left []posthouse.ID, branch string) (*posthouse.Header, error) {
	info, err := ThreadOf(ctx, l, &base.Header)
	if err != nil {
		return nil, err
	}
	if OnHead(info, base, branch) {
		done, err := l.Commit(ctx, &ledger.Draft{Thread: base.Thread, Branch: base.Branch, Head: &base.ID, Left: left, Checkpoint: c})
		if err != nil {
			return nil, err
		}
		return done.Checkpoint, nil
	}
	c.Source = &posthouse.Source{Thread: base.Thread, ID: base.ID}
	none := posthouse.ID("")
	for {
		name := freeBranch(info, branch)
		done, err := l.Commit(ctx, &ledger.Draft{Thread: base.Thread, Branch: name, Head: &none, Checkpoint: c})
		if err == nil {
			return done.Checkpoint, nil
		}
		if !errors.Is(err, posthouse.ErrConflict) {
			return nil, err
		}
		info, _ = ThreadOf(ctx, l, &base.Header)
		if info == nil {
			return nil, err
		}
		switch _, taken := info.Branch(name); { // unless somebody took the name, the conflict will not go away
		case !taken:
			return nil, err
		case branch != "":
			return nil, branchExists(base.Thread, name, err)
		}
	}
}

// ThreadOf returns the summary of a checkpoint's thread. A checkpoint of a released
// version is [posthouse.ErrConflict].
func ThreadOf(ctx context.Context, l *ledger.Ledger, h *posthouse.Header) (*posthouse.ThreadInfo, error) {
	info, err := l.Thread(ctx, h.Thread)
	released := err == nil && h.Seq < info.First
	if errors.Is(err, posthouse.ErrNotFound) { // it may have been released and not started again
		last, e := ledger.LastRelease(ctx, l, h.Thread)
		released = e == nil && h.Seq <= last.Seq
	}
	if released {
		return nil, &posthouse.Error{
			Code:    posthouse.CodeConflict,
			Message: "checkpoint " + string(h.ID) + " belongs to a released version of thread " + strconv.Quote(h.Thread),
			Hint:    "fork it, which takes a change too: App.Fork",
		}
	}
	return info, err
}

// OnHead reports whether an update of base continues its branch.
func OnHead(info *posthouse.ThreadInfo, base *posthouse.Checkpoint, newBranch string) bool {
	head, _ := info.Branch(base.Branch)
	return head.Head == base.ID && newBranch == ""
}

// freeBranch returns the name, or by default the first of update-1, update-2, ... that
// no branch has.
func freeBranch(info *posthouse.ThreadInfo, name string) string {
	for n := 1; name == ""; n++ {
		next := "update-" + strconv.Itoa(n)
		if _, taken := info.Branch(next); !taken {
			name = next
		}
	}
	return name
}

func branchExists(thread, branch string, err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeExists, Message: "branch " + branch + " of thread " + thread + " exists", Hint: "choose another name", Err: err,
	}
}

// CommitAll appends changes one after the other, under a lease. left are open gates of
// called threads that the branch no longer waits for.
func CommitAll(ctx context.Context, l *ledger.Ledger, base *posthouse.Checkpoint, changes []*posthouse.Change, left []posthouse.ID, newBranch string) (id posthouse.ID, err error) {
	info, err := ThreadOf(ctx, l, &base.Header)
	if err != nil {
		return "", err
	}
	branch := base.Branch
	onward := OnHead(info, base, newBranch)
	if !onward {
		branch = freeBranch(info, newBranch)
		changes[0].Source = &posthouse.Source{Thread: base.Thread, ID: base.ID}
	}
	s, err := session.Begin(ctx, l, session.Options{Thread: base.Thread, Branch: branch})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.End(ctx)) }()
	switch h := s.Head(); {
	case onward && h.ID != base.ID:
		return "", &posthouse.Error{
			Code: posthouse.CodeConflict, Head: h.ID,
			Message: "branch " + branch + " of thread " + strconv.Quote(base.Thread) + " moved on from checkpoint " + string(base.ID),
			Hint:    "read its state and update that",
		}
	case !onward && h != nil:
		return "", branchExists(base.Thread, branch, nil)
	}
	for i, c := range changes {
		if i > 0 {
			c.Parent = ""
		}
		done, err := s.Commit(ctx, &ledger.Draft{Left: left, Checkpoint: c})
		if err != nil {
			return "", err
		}
		id = done.Checkpoint.ID
	}
	return id, nil
}
