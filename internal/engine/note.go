package engine

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/internal/replay"
	"github.com/posthouse/posthouse/internal/story"
)

// Note puts a note on record: with the result of the step that ctx is in, or outside of a step
// with what the execution records next. A note outside of a step that an earlier execution put on
// record is not repeated.
func (t *Task) Note(ctx context.Context, n posthouse.Note) error {
	if sc := t.scopeOf(ctx); sc != nil && sc.notes != nil {
		return sc.notes.Add(&n)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed.Load() {
		return closedError("note", n.Line, t.Key())
	}
	m := t.made()
	if t.replay.Replaying() {
		_, _, err := story.EncodeNote(&n)
		return err
	}
	if m.notes == nil {
		m.notes = &story.Notebook{}
	}
	return m.notes.Add(&n)
}

// holdNotes holds the notes from outside of steps for the next entry. Callers hold t.mu.
func (t *Task) holdNotes() {
	m := t.state.Load()
	if m == nil || m.notes == nil {
		return
	}
	m.held = append(m.held, posthouse.Step{
		Task: t.Key(), Name: replay.Notes, Occurrence: t.replay.Count(replay.Notes) + next(&m.steps, replay.Notes), Story: posthouse.Story{Notes: m.notes.Take()},
	})
	m.notes = nil
}

// Told is [Task.Scope] for a body whose result the model holds. The function that it returns says,
// once the body has returned, how it came to that.
func (t *Task) Told(ctx context.Context, name string, occurrence uint32) (context.Context, func() posthouse.Story) {
	notes, began := &story.Notebook{}, t.session.Ledger().Now()
	return t.inside(ctx, name, occurrence, 1, notes), func() posthouse.Story {
		return posthouse.Story{Took: t.session.Ledger().Now().Sub(began), Attempts: 1, Notes: notes.Take()}
	}
}

// keepNotes holds the notes of a call that failed for what the execution records next.
func (c *Call) keepNotes(err error) {
	s := c.story(err)
	if len(s.Notes) == 0 {
		return
	}
	c.task.Records().Hold(posthouse.Step{Name: c.within(replay.Notes), Occurrence: uint32(max(0, c.told.attempts-1)), Story: s})
}

// story says how the attempt that just ended came to its end. Err is why it failed, nil if it did not.
func (c *Call) story(err error) posthouse.Story {
	s := posthouse.Story{Took: c.task.session.Ledger().Now().Sub(c.told.started), Attempts: c.told.attempts, Error: c.told.lastError}
	if err != nil {
		s.Error = cleanText(err.Error())
	}
	if c.told.notes != nil {
		s.Notes = c.told.notes.Take()
	}
	return s
}
