package replay

import (
	"strings"

	"github.com/posthouse/posthouse"
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
	}
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
