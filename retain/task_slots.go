package retain

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/taskslot"
)

// A savedSlot is a slot of a task, as it was when it was listed.
type savedSlot struct {
	gate     posthouse.ID // of the attempt that was claimed last
	revision uint64
	size     int
}

// taskSlots removes the slots of a thread's complete tasks, once they have been complete for
// longer than the policy keeps slots. A task that failed may be retried, one that is parked,
// paused or delayed goes on, and one that was cancelled or withdrawn may be asked for again:
// their slots stay. A slot that is written during the pass stays, too.
func (p *pass) taskSlots(ctx context.Context, info *posthouse.ThreadInfo) error {
	if p.Slots == 0 || info.Gone() || info.Hold.Seq != 0 || posthouse.IsRuntimeThread(info.Thread) {
		return nil
	}
	saved, err := p.savedSlots(ctx, info.Thread)
	if len(saved) == 0 {
		return err
	}
	complete, cerr := p.complete(ctx, info.Thread)
	if cerr != nil {
		return errors.Join(err, cerr)
	}
	now := p.l.Now()
	for step, s := range saved {
		end, ok := complete[step]
		if !ok || end.gate != s.gate || now.Sub(end.at) <= p.Slots {
			continue
		}
		if !p.opt.DryRun {
			key := posthouse.SlotKey{Thread: info.Thread, Step: step}
			switch _, err := p.l.Store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: s.revision}); {
			case errors.Is(err, posthouse.ErrConflict), errors.Is(err, posthouse.ErrNotFound):
				continue
			case err != nil:
				return err
			}
		}
		p.done.Slots++
		p.done.Bytes += int64(s.size)
	}
	return err
}

// savedSlots lists the slots of a thread's tasks by their steps. It skips slots of others and
// damaged slots: the error is about the latter.
func (p *pass) savedSlots(ctx context.Context, thread string) (all map[string]savedSlot, failed error) {
	l, ok := p.l.Store.(posthouse.SlotLister)
	if !ok {
		return nil, nil
	}
	all = map[string]savedSlot{}
	for item, err := range l.Slots(ctx, thread) {
		switch {
		case errors.Is(err, posthouse.ErrCorrupt):
			failed = errors.Join(failed, err)
		case err != nil:
			return nil, err
		case strings.HasPrefix(item.Key.Step, "$"):
		default:
			var r taskslot.Record
			if r.Decode(item.Value) == nil && r.Gate != "" {
				all[item.Key.Step] = savedSlot{r.Gate, item.Revision, len(item.Value)}
			}
		}
	}
	return all, failed
}

// A taskEnd says when a task was complete.
type taskEnd struct {
	gate posthouse.ID
	at   time.Time
}

// complete returns the steps of a thread that have a complete newest task.
func (p *pass) complete(ctx context.Context, thread string) (map[string]taskEnd, error) {
	newest, ends := map[string]posthouse.ID{}, map[posthouse.ID]time.Time{}
	for e, err := range p.l.Logs.InOrder(ctx, thread, posthouse.Range{Headers: true}) {
		if err != nil {
			return nil, err
		}
		recs, err := e.CheckRecords()
		if err != nil {
			return nil, err
		}
		for i := range recs {
			switch r := &recs[i]; {
			case r.Gate != nil && r.Gate.Kind == posthouse.GateTask:
				newest[taskslot.StepOf(r.Gate)] = r.Gate.ID
			case r.Decision != nil && r.Decision.Verdict == posthouse.Respond:
				ends[r.Decision.Gate] = e.Time()
			}
		}
	}
	complete := map[string]taskEnd{}
	for step, gate := range newest {
		if at, ok := ends[gate]; ok {
			complete[step] = taskEnd{gate, at}
		}
	}
	return complete, nil
}
