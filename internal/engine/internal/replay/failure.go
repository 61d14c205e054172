package replay

import (
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
)

func (l *Log) addFailure(s *posthouse.StepRecord) {
	if l.failures == nil {
		l.failures = map[callKey]*posthouse.StepRecord{}
	}
	l.failures[callKey{s.Name, s.Occurrence}] = s
}

// RememberFailure lets a later attempt of a step find a failure that was recorded within it.
func (l *Log) RememberFailure(s *posthouse.Step) { l.addFailure(&posthouse.StepRecord{Step: *s}) }

// ForgetFailure has a call made again that failed.
func (l *Log) ForgetFailure(name string, n uint32) {
	if l != nil {
		delete(l.failures, callKey{name, n})
	}
}

// TakeFailure returns the recorded failure of a call. Its place in the order is taken, too. In
// order, it returns nil while another record is next.
func (l *Log) TakeFailure(name string, n uint32, inOrder bool) *posthouse.StepRecord {
	if l == nil || inOrder && l.otherThan(name, n) {
		return nil
	}
	k := callKey{name, n}
	s := l.failures[k]
	if s == nil || l.results[k] != nil {
		return nil
	}
	for i, o := range l.order {
		if o.Name == name && o.Occurrence == n && o.Value.Codec == threadlog.CodecFailed {
			l.order = append(l.order[:i:i], l.order[i+1:]...)
			if o != s {
				l.order = nil // it was tried again in between: anything may follow
			}
			break
		}
	}
	return s
}

// DecidedAfter returns what was decided after the recorded failure of a call, for code with calls
// that have names which begin with within, and was not asked for by this execution. It is "" for
// nothing.
func (l *Log) DecidedAfter(name string, n uint32, within string) string {
	if l == nil || l.failures[callKey{name, n}] == nil {
		return ""
	}
	seq := l.failures[callKey{name, n}].Seq
	for _, q := range l.questions {
		last := q.Last()
		if !q.asked && strings.HasPrefix(q.name, within) && last.Seq >= seq && last.Seq > l.edited && last.Decision != nil && !last.Withdrawn() &&
			last.Decision.Verdict != posthouse.Cancel && !l.isSuperseded(last) {
			return "question " + strconv.Quote(q.name)
		}
	}
	return ""
}
