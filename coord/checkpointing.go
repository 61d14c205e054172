package coord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A CheckpointingJournal turns selected events into checkpoints of their
// threads, on top of another journal.
//
// An event of a coordinator's own run becomes a checkpoint in the entry that also holds
// what follows it; see the package comment. Any other event becomes one at once, after
// the newest checkpoint of its thread in the store. So a chain goes on after a restart,
// and concurrent events follow one another. A save that fails is an error.
type CheckpointingJournal struct {
	journal Journal
	ledger  *ledger.Ledger
	filter  Filter
	extract Extractor
}

// Checkpointing returns a journal that records in j and makes checkpoints of events. The
// filter selects the events, and the extractor makes their states. All four are required:
// [posthouse.ErrInvalid] names one that is nil.
func Checkpointing(j Journal, l *ledger.Ledger, filter Filter, extract Extractor) (*CheckpointingJournal, error) {
	switch {
	case j == nil:
		return nil, posthouse.Invalid("journal", "is required; use Discard{} to keep no events")
	case l == nil:
		return nil, posthouse.Invalid("ledger", "is required")
	case filter == nil:
		return nil, posthouse.Invalid("filter", "is required; use OnAgentBoundaries or EveryEvent")
	case extract == nil:
		return nil, posthouse.Invalid("extractor", "is required; use WholeEvent, EventSummary or ResultText")
	}
	return &CheckpointingJournal{j, l, filter, extract}, nil
}

// Record records the event, then makes a checkpoint of it if the filter selects
// it. An event without id or time gets them from the ledger. A ForkCreated is
// never selected: the fork has its first checkpoint already.
//
// Outside of a run it fails with [posthouse.ErrConflict] if the thread waits for a
// decision or can run: a checkpoint in between would skip its gates.
func (j *CheckpointingJournal) Record(ctx context.Context, e Event) error {
	if e.thread() == "" {
		return posthouse.Invalid("event", "names neither a coordination nor a thread")
	}
	if e.ID == "" {
		e.ID = j.ledger.Core().NewID()
	}
	if e.At.IsZero() {
		e.At = j.ledger.Now().UTC()
	}
	if err := j.journal.Record(ctx, e); err != nil {
		return err
	}
	if e.Kind == ForkCreated || !j.filter(e) {
		return nil
	}
	ch, err := j.change(ctx, e)
	if err != nil {
		return err
	}
	if f := frameFrom(ctx); f != nil && f.run.owns(j.ledger, &e) {
		return f.run.holdChange(ctx, ch)
	}
	return j.append(ctx, &e, ch)
}

func (r *run) owns(l *ledger.Ledger, e *Event) bool {
	return l == r.c.ledger && e.thread() == r.sess.Thread() && cmp.Or(e.Branch, posthouse.MainBranch) == r.sess.Branch()
}

// change returns the checkpoint that the event becomes. Its label "event" is the event's
// id.
func (j *CheckpointingJournal) change(ctx context.Context, e Event) (*posthouse.Change, error) {
	state, err := j.extract(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("coord: the state of event %s (%s) could not be extracted: %w", e.ID, e.Kind, err)
	}
	if state == nil {
		state = posthouse.State{}
	}
	ch := &posthouse.Change{
		Kind: posthouse.KindEvent, Coordination: e.Coordination, Run: e.Run, Agent: e.Agent, Error: e.Error,
		State: state, CreatedAt: e.At, Labels: map[string]string{labelEvent: string(e.ID)},
	}
	if e.ElapsedMS > 0 {
		ch.Story = posthouse.Story{Took: time.Duration(e.ElapsedMS) * time.Millisecond, Attempts: 1}
	}
	if e.Kind == AgentFailed {
		ch.Kind = posthouse.KindFail
	}
	return ch, nil
}

// append commits a checkpoint after the newest head. It tries again only if the head has
// moved: any other conflict would stay.
func (j *CheckpointingJournal) append(ctx context.Context, e *Event, ch *posthouse.Change) error {
	head, err := j.head(ctx, e)
	for err == nil {
		_, err = j.ledger.Commit(ctx, &ledger.Draft{Thread: e.thread(), Branch: e.Branch, Head: &head, Checkpoint: ch})
		if err == nil || !errors.Is(err, posthouse.ErrConflict) {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		now, failed := j.head(ctx, e)
		if failed == nil && now == head {
			return err
		}
		head, err = now, failed
	}
	return err
}

// head returns the head to append to, "" for a new thread.
func (j *CheckpointingJournal) head(ctx context.Context, e *Event) (posthouse.ID, error) {
	info, err := j.ledger.Thread(ctx, e.thread())
	if errors.Is(err, posthouse.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	b, ok := info.Branch(e.Branch)
	if ok && (b.Status == posthouse.StatusWaiting || b.Status.Runnable()) {
		return "", &posthouse.Error{
			Code: posthouse.CodeConflict, Head: b.Head,
			Message: fmt.Sprintf("thread %s is %s: an event recorded from outside would pass its request over", e.thread(), b.Status),
			Hint:    "emit it from the handler (coord.Emit), or record it in a thread of its own",
		}
	}
	return b.Head, nil
}

// Events yields the events of the journal below.
func (j *CheckpointingJournal) Events(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	return j.journal.Events(ctx, q)
}

// LastCheckpoint returns the newest checkpoint of a coordination in the store, over all its
// threads. [posthouse.ErrNotFound].
func (j *CheckpointingJournal) LastCheckpoint(ctx context.Context, coordination string) (*posthouse.Checkpoint, error) {
	return j.ledger.Latest(ctx, ledger.LatestQuery{Coordination: coordination})
}
