package engine

import (
	"context"
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/internal/replay"
	"slices"
)

// Records are the results of an execution: those on record, and those held back
// for the commit that follows them.
type Records struct{ t *Task }

// Replaying reports whether a call or question of an earlier execution has yet
// to be asked for again. It is false from the first one that is not on record.
func (v Records) Replaying() bool {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replay.Replaying()
}

// Recorded counts one call of name and returns its recorded result. Without a result, the
// record it returns still names the call (Task, Name, Occurrence): give it an Effect and
// a Value and pass its Step to [Records.Hold]. Order is not checked.
func (v Records) Recorded(name string) (posthouse.StepRecord, bool) {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	occ := next(&t.made().steps, name)
	if r := t.replay.TakeRecord(name, occ); r != nil {
		return *r, true
	}
	return posthouse.StepRecord{Step: posthouse.Step{Task: t.Key(), Name: name, Occurrence: occ}}, false
}

// Hold keeps a result that is to be committed together with what follows it. The next Do
// of this task commits it, or the caller of [Records.Held]. Task is filled in.
func (v Records) Hold(s posthouse.Step) {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Task = t.Key()
	t.made().held = append(t.made().held, s)
}

// Held takes what is held, for the Steps of the next draft. Where the task waits, that
// includes the failures of steps before the wait. Those that a question follows are on record
// with their errors; after others the code may do otherwise the next time.
func (v Records) Held() []posthouse.Step {
	t := v.t
	m := t.state.Load()
	if m == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.notes != nil {
		t.holdNotes()
	}
	h := m.held
	m.held = nil
	if len(m.questions)+len(m.open) > 0 {
		asked := func(f *failedCall) bool { return m.acted[f] }
		_, marks := m.takeFailures(asked, func(f *failedCall) bool { return f.ordered && !f.waits })
		h, m.failures = append(h, marks...), nil
	}
	for _, in := range m.inner {
		h = append(h, in.Records().Held()...)
	}
	return h
}

// Survived takes the failures of steps that the code of the execution went on from, for a
// result that is committed without [Task.Do].
func (v Records) Survived() []posthouse.Step {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.state.Load()
	if m == nil {
		return nil
	}
	known := m.receivedBy("")
	actsAfter("an agent's result", known)
	actsAfter("an agent's result", m.known)
	_, marks := m.takeFailures(func(f *failedCall) bool { return slices.Contains(known, f) }, func(f *failedCall) bool { return false })
	return marks
}

// ReturnHeld gives back what Held took, of this task or of those beside it, after the
// draft was refused.
func (v Records) ReturnHeld(held []posthouse.Step) {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made().held = slices.Concat(held, t.made().held)
}

// Completed returns the name of the outermost step with the result that ends the steps of a
// draft, "" for another end.
func (v Records) Completed(steps []posthouse.Step) string {
	if n := len(steps); n > 0 && isResult(v.t.Key(), &steps[n-1]) {
		return steps[n-1].Name
	}
	return ""
}

// Disorder returns the [OrderError] of the execution, also one that its code swallowed.
// Of code that returned, it also refuses a recorded step that was not asked for.
func (v Records) Disorder(returned bool) error {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.made().disorder; d != nil || !returned {
		return d
	}
	if s := t.replay.Unasked(); s != nil {
		return &OrderError{Thread: t.session.Thread(), Task: t.Key(), Asked: "(the end)", Recorded: replay.StepName(s)}
	}
	return nil
}

// Decided is [Task.Do] for a decision that a package makes for a call or a question. It
// is recorded under group and its number, outside of the order of the program's steps: a
// program may begin or cease to have it made.
func (v Records) Decided(ctx context.Context, group string, number uint32, name string, effect posthouse.Effect, fn func(context.Context) (posthouse.Value, error)) (posthouse.Value, error) {
	t := v.t
	return t.Do(t.Scope(ctx, t.Scoped(ctx, group), number), name, effect, fn)
}

// Group returns the number of the group for the n-th call about one subject. Same
// reports whether a record is about it. A recorded group is used again; a new call gets
// a new group, in whatever order the program comes to it.
func (v Records) Group(ctx context.Context, group string, n uint32, same func(posthouse.Value) bool) uint32 {
	t := v.t
	group = t.Scoped(ctx, group)
	t.mu.Lock()
	defer t.mu.Unlock()
	used := uint32(0)
	for {
		found, is := t.replay.Group(replay.CallName(group, used)+replay.Nested, same)
		if !found {
			break
		}
		if is && n == 0 {
			return used
		}
		if is {
			n--
		}
		used++
	}
	return used + next(&t.made().groups, group)
}

// Earlier returns what is on record of the decision that the next call of
// [Records.Decided] would make. It makes no decision.
func (v Records) Earlier(ctx context.Context, group string, number uint32, name string) (posthouse.Value, bool) {
	t := v.t
	name = replay.CallName(t.Scoped(ctx, group), number) + replay.Nested + name
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.replay.Result(name, t.made().steps[name])
	if s == nil {
		return posthouse.Value{}, false
	}
	return s.Value, true
}

// next counts one use of name and returns how many were before it.
func next(counts *map[string]uint32, name string) uint32 {
	if *counts == nil {
		*counts = map[string]uint32{}
	}
	n := (*counts)[name]
	(*counts)[name] = n + 1
	return n
}
