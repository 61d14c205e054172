package replay

import (
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
)

// Result returns the recorded result of a call, nil if it has no result. It does not count
// as asking.
func (l *Log) Result(name string, n uint32) *posthouse.StepRecord {
	if l == nil {
		return nil
	}
	return l.results[callKey{name, n}]
}

// Results returns all results with a name, in no order.
func (l *Log) Results(name string) (all []*posthouse.StepRecord) {
	if l == nil {
		return nil
	}
	for k, s := range l.results {
		if k.name == name {
			all = append(all, s)
		}
	}
	return all
}

// Count returns how many calls of a name have results, up to the first that has no result.
func (l *Log) Count(name string) (n uint32) {
	for l.Result(name, n) != nil {
		n++
	}
	return n
}

// Remember adds a result that was recorded since the execution began, unless the call has one.
func (l *Log) Remember(s *posthouse.StepRecord) {
	k := callKey{s.Name, s.Occurrence}
	if l.results[k] == nil {
		l.results[k] = s
		l.addWithin(s)
	}
}

// addWithin notes a result for the calls that it is within.
func (l *Log) addWithin(s *posthouse.StepRecord) {
	for i := range s.Name {
		if s.Name[i] != Nested[0] {
			continue
		}
		if l.within == nil {
			l.within = map[string][]*posthouse.StepRecord{}
		}
		l.within[s.Name[:i]] = append(l.within[s.Name[:i]], s)
	}
}

// Effect returns what is on record of the effect of a call, as [CallName] spells it.
func (l *Log) Effect(call string) *effect.Use {
	if l == nil {
		return &effect.Use{}
	}
	return effect.Read(call, l.within[call], l.Within(call+Nested))
}

// Acted reports whether calls with names that begin with prefix have results that say more than
// what was read. It leaves out the runtime's.
func (l *Log) Acted(prefix string) bool {
	if l == nil {
		return false
	}
	for k, s := range l.results {
		if rest, ok := strings.CutPrefix(k.name, prefix); ok && !isReserved(rest) && s.Effect != posthouse.EffectPure && s.Effect != posthouse.EffectRead {
			return true
		}
	}
	return false
}

// Group reports whether anything is on record under a prefix, and whether same holds for some
// of it.
func (l *Log) Group(prefix string, same func(posthouse.Value) bool) (found, is bool) {
	if l == nil {
		return false, false
	}
	for k, s := range l.results {
		if strings.HasPrefix(k.name, prefix) {
			found, is = true, is || same(s.Value)
		}
	}
	return found, is
}
