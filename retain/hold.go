package retain

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/ledger"
)

// HoldOptions say who holds a thread, or lifts the hold, and why.
type HoldOptions struct {
	By     string // required; at most 200 bytes
	Reason string // at most 4,000 bytes
}

func (o *HoldOptions) check() error {
	switch {
	case o.By == "":
		return posthouse.Invalid("by", "must say who asks for it")
	case len(o.Reason) > posthouse.MaxText || !text.IsUTF8(o.Reason):
		return posthouse.Invalid("reason", "must be at most %d bytes of text", posthouse.MaxText)
	}
	return posthouse.CheckPerson("by", o.By)
}

// Hold puts a thread under legal hold: nothing of it can be removed until [Unhold].
// Deleting fails with [posthouse.ErrForbidden]; retention and compaction skip the thread.
// Runs go on as before. The hold is a signed record of the log. If the thread is held
// already, Hold returns that hold and changes nothing. It fails with
// [posthouse.ErrNotFound] for an unknown thread.
func Hold(ctx context.Context, led *ledger.Ledger, thread string, o HoldOptions) (*posthouse.Hold, error) {
	l := led.Core()
	info, err := hold(ctx, l.Core, thread, posthouse.SignalHold, o)
	if err != nil {
		return nil, err
	}
	return &info.Hold, nil
}

// Unhold lifts a thread's legal hold. The records of who held it and who lifted it stay.
// It returns nil if the thread is not held, [posthouse.ErrNotFound] if there is no such
// thread.
func Unhold(ctx context.Context, led *ledger.Ledger, thread string, o HoldOptions) error {
	l := led.Core()
	_, err := hold(ctx, l.Core, thread, posthouse.SignalUnhold, o)
	return err
}

func hold(ctx context.Context, c *core.Core, thread, name string, o HoldOptions) (*posthouse.ThreadInfo, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	body, err := json.Marshal(core.HoldReason{Reason: o.Reason})
	if err != nil {
		return nil, posthouse.Invalid("reason", "does not encode: %v", err)
	}
	t, err := c.Lock(thread)
	if err != nil {
		return nil, err
	}
	defer c.Unlock(t)
	t.Invalidate() // another process may have changed the hold
	err = c.Append(ctx, t, func(tx *core.Tx) error {
		if t.Info.Gone() && t.Info.Releases == 0 {
			return posthouse.NotFound("thread", thread)
		}
		if held := t.Info.Hold.Seq != 0; held == (name == posthouse.SignalHold) {
			return core.ErrNothing
		}
		commit.AddSignal(tx, &posthouse.SignalInfo{ID: c.IDs.New(tx.At), Name: name, By: o.By}, body)
		tx.Sign = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	info := *t.Info
	return &info, nil
}
