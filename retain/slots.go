package retain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// A slotList names a thread's slots as they were when they were listed.
type slotList struct {
	steps     []string
	revisions []uint64
	unread    error // damage hides the others
}

// listSlots lists a thread's slots without those of the Ledger, whose steps begin with
// "$". It lists none in a store that cannot list slots. Damage is no error.
func listSlots(ctx context.Context, c *core.Core, thread string) (list slotList, err error) {
	l, ok := c.Store.(posthouse.SlotLister)
	if !ok {
		return list, nil
	}
	for item, err := range l.Slots(ctx, thread) {
		switch {
		case errors.Is(err, posthouse.ErrCorrupt):
			list.unread = fmt.Errorf("list the slots of thread %s, of which some are left: %w", thread, err)
		case err != nil:
			return list, err
		case !strings.HasPrefix(item.Key.Step, "$"):
			list.steps = append(list.steps, item.Key.Step)
			list.revisions = append(list.revisions, item.Revision)
		}
	}
	return list, nil
}

// drop deletes slots that nobody wrote since they were listed.
func (l *slotList) drop(ctx context.Context, c *core.Core, thread string) error {
	for i, step := range l.steps {
		key := posthouse.SlotKey{Thread: thread, Step: step}
		_, err := c.Store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: l.revisions[i]})
		if err != nil && !errors.Is(err, posthouse.ErrConflict) && !errors.Is(err, posthouse.ErrNotFound) {
			return err
		}
	}
	return l.unread
}

// sweepSlots deletes the slots of a thread that is gone, which a deletion left behind.
func sweepSlots(ctx context.Context, c *core.Core, thread string) error {
	list, err := listSlots(ctx, c, thread)
	if err != nil || len(list.steps) == 0 {
		return err
	}
	info, err := c.Summary(ctx, thread) // later than the list, so a new thread's slots are not in it
	if err != nil || !info.Gone() || info.Releases > 0 {
		return err
	}
	return list.drop(ctx, c, thread)
}
