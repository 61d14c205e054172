package engine

import (
	"context"
	"strings"

	"github.com/posthouse/posthouse"
)

// Decided is [Task.Do] for a decision that a package makes for a call or a
// question: it is recorded under group and its number, whose order among the
// program's own steps does not count, so that a program may begin or cease to
// have it made.
func (v Records) Decided(ctx context.Context, group string, number uint32, name string, effect posthouse.Effect, fn func(context.Context) (posthouse.Value, error)) (posthouse.Value, error) {
	t := v.t
	return t.Do(t.Scope(ctx, scoped(ctx, t, group), number), name, effect, fn)
}

// Group returns the number of the group whose records are about the same as the
// n-th call for it: the n-th of those on record of which same says so, or else one
// that is new. It keeps records to what they are about, in whatever order a
// program comes by.
func (v Records) Group(ctx context.Context, group string, n uint32, same func(posthouse.Value) bool) uint32 {
	t := v.t
	group = scoped(ctx, t, group)
	t.mu.Lock()
	defer t.mu.Unlock()
	used := uint32(0)
	if t.replay != nil {
		for ; ; used++ {
			found, is := t.replay.group(callName(group, used)+nested, same)
			if !found {
				break
			}
			if !is {
				continue
			}
			if n == 0 {
				return used
			}
			n--
		}
	}
	return used + next(&t.stateToChange().groups, group)
}

// group reports whether anything is on record under a prefix, and whether same
// says so of some of it.
func (r *replay) group(prefix string, same func(posthouse.Value) bool) (found, is bool) {
	for k, s := range r.results {
		if strings.HasPrefix(k.name, prefix) {
			found, is = true, is || same(s.Value)
		}
	}
	return found, is
}

// Earlier returns what is on record of the decision that the next such call of
// [Records.Decided] would make, and makes none.
func (v Records) Earlier(ctx context.Context, group string, number uint32, name string) (posthouse.Value, bool) {
	t := v.t
	name = callName(scoped(ctx, t, group), number) + nested + name
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.replay == nil {
		return posthouse.Value{}, false
	}
	s := t.replay.results[occurrence{name, t.currentState().steps[name]}]
	if s == nil {
		return posthouse.Value{}, false
	}
	return s.Value, true
}
