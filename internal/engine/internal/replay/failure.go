package replay

import (
	"slices"
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

// keepFailure notes that a failure stands, and that its marks from after it have no place in the
// order: executions that ended because of it left them.
func (l *Log) keepFailure(s *posthouse.StepRecord, first string) {
	l.stand(s, first)
	after := false
	l.order = slices.DeleteFunc(l.order, func(o *posthouse.StepRecord) bool {
		gone := after && o.Value.Codec == threadlog.CodecFailed && o.Name == s.Name && o.Occurrence == s.Occurrence
		after = after || o == s
		return gone
	})
}

// stand notes what is on record after a failure first.
func (l *Log) stand(s *posthouse.StepRecord, behind string) {
	if l.stands == nil {
		l.stands = map[callKey]string{}
	}
	l.stands[callKey{s.Name, s.Occurrence}] = behind
}

// ForgetFailure has a call made again that failed.
func (l *Log) ForgetFailure(name string, n uint32) {
	if l != nil {
		delete(l.failures, callKey{name, n})
	}
}

// TakeFailure returns the recorded failure of a call, and what is on record after it if it stands.
// Its place in the order is taken, too. In order, it returns nil while another record is next.
func (l *Log) TakeFailure(name string, n uint32, inOrder bool) (s *posthouse.StepRecord, behind string) {
	if l == nil || inOrder && l.otherThan(name, n) {
		return nil, ""
	}
	k := callKey{name, n}
	s = l.failures[k]
	if s == nil || l.results[k] != nil {
		return nil, ""
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
	return s, l.stands[k]
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
