package removal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// A slots value names a thread's slots as they were when they were listed.
type slots struct {
	steps     []string
	revisions []uint64
	unread    error // damage hides the others
}

// list lists a thread's slots without those of the Ledger, which have steps that
// begin with "$". It lists nothing in a store that cannot list slots. Damage is
// no error.
func list(ctx context.Context, c *core.Core, thread string) (all slots, err error) {
	l, ok := c.Store.(posthouse.SlotLister)
	if !ok {
		return all, nil
	}
	for item, err := range l.Slots(ctx, thread) {
		switch {
		case errors.Is(err, posthouse.ErrCorrupt):
			all.unread = fmt.Errorf("list the slots of thread %s, of which some are left: %w", thread, err)
		case err != nil:
			return all, err
		case !strings.HasPrefix(item.Key.Step, "$"):
			all.steps = append(all.steps, item.Key.Step)
			all.revisions = append(all.revisions, item.Revision)
		}
	}
	return all, nil
}

// drop deletes the slots that were not written since they were listed.
func (l *slots) drop(ctx context.Context, c *core.Core, thread string) error {
	for i, step := range l.steps {
		key := posthouse.SlotKey{Thread: thread, Step: step}
		_, err := c.Store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: l.revisions[i]})
		if err != nil && !errors.Is(err, posthouse.ErrConflict) && !errors.Is(err, posthouse.ErrNotFound) {
			return err
		}
	}
	return l.unread
}

// SweepSlots deletes the slots that the deletion of a thread left.
func SweepSlots(ctx context.Context, c *core.Core, thread string) error {
	left, err := list(ctx, c, thread)
	if err != nil || len(left.steps) == 0 {
		return err
	}
	info, err := c.Logs.Summary(ctx, thread) // later than the list: a new thread's slots are not in it
	if err != nil || !info.Gone() || info.Releases > 0 {
		return err
	}
	return left.drop(ctx, c, thread)
}
