package engine

import (
	"context"

	"github.com/posthouse/posthouse"
)

// Decided is [Task.Do] for a decision that a package makes for a call or a
// question: it is recorded under group and its number, whose order among the
// program's own steps does not count, so that a program may begin or cease to
// have it made.
func (t *Task) Decided(ctx context.Context, group string, number uint32, name string, effect posthouse.Effect, fn func(context.Context) (posthouse.Value, error)) (posthouse.Value, error) {
	return t.Do(t.Scope(ctx, scoped(ctx, t, group), number), name, effect, fn)
}

// Asked returns the number of the next question of a name, and whether it was
// asked before. It does not count as asking.
func (t *Task) Asked(ctx context.Context, name string) (number uint32, before bool) {
	name = scoped(ctx, t, name)
	t.mu.Lock()
	defer t.mu.Unlock()
	number = t.sofar().asks[name]
	return number, t.replay != nil && t.replay.gates[occurrence{name, number}] != nil
}
