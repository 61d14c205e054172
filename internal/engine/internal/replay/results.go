package replay

import (
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// Result returns the recorded result of a call, nil if it has no result. It does not count
// as asking.
func (l *Log) Result(name string, n uint32) *posthouse.StepRecord {
	if l == nil {
		return nil
	}
	return l.results[callKey{name, n}]
}

// Count returns how many calls of a name have results, up to the first that has no result.
func (l *Log) Count(name string) (n uint32) {
	for l.Result(name, n) != nil {
		n++
	}
	return n
}

// Remember adds what was recorded since the execution began, for a later attempt of the step that
// it is within: a result, unless the call has one, or a failure, with what is on record after it if
// it stands.
func (l *Log) Remember(s *posthouse.StepRecord, behind string) {
	if s.Value.Codec == threadlog.CodecFailed {
		l.addFailure(s)
		l.stand(s, behind)
		return
	}
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
