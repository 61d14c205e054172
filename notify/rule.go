package notify

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// A Rule says which events an endpoint gets: those that meet all conditions that are set. The zero
// value lets every event through. A condition on gates lets events about gates through only.
type Rule struct {
	Gates     []string          `yaml:"gates" json:"gates,omitempty" doc:"names of questions, one of which it has; * stands for any text"`
	Programs  []string          `yaml:"programs" json:"programs,omitempty" doc:"names of programs, one of which it is of; * stands for any text"`
	Assignees []string          `yaml:"assignees" json:"assignees,omitempty" doc:"people, one of whom the gate is assigned to"`
	Labels    map[string]string `yaml:"labels" json:"labels,omitempty" doc:"labels of the gate, or of the checkpoint that ended the run; * stands for any text"`
	Content   []Condition       `yaml:"content" json:"content,omitempty" doc:"conditions on the gate's payload, all of which must hold"`
	Within    time.Duration     `yaml:"within" json:"within,omitempty" doc:"the gate's deadline was so near, in nanoseconds, when the event happened"`
}

// maxConditions bounds each list of a rule.
const maxConditions = 100

// Validate checks a rule. [posthouse.ErrInvalid] names the condition at fault.
func (r *Rule) Validate() error {
	if max(len(r.Gates), len(r.Programs), len(r.Assignees), len(r.Labels), len(r.Content)) > maxConditions {
		return posthouse.Invalid("when", "has a list of more than %d", maxConditions)
	}
	for name, list := range map[string][]string{"gates": r.Gates, "programs": r.Programs, "assignees": r.Assignees} {
		if slices.Contains(list, "") {
			return posthouse.Invalid("when."+name, "has an empty text")
		}
	}
	if r.Within < 0 {
		return posthouse.Invalid("when.within", "is negative")
	}
	for i := range r.Content {
		if err := r.Content[i].validate("when.content[" + strconv.Itoa(i) + "]"); err != nil {
			return err
		}
	}
	return nil
}

// onGates reports whether the rule lets only events about gates through.
func (r *Rule) onGates() bool {
	return len(r.Gates) > 0 || len(r.Assignees) > 0 || len(r.Content) > 0 || r.Within > 0
}

// admits reports whether an event meets the rule. gate is the one that it is about, nil if there is
// no gate.
func (r *Rule) admits(e *Event, gate *posthouse.Gate) bool {
	if len(r.Programs) > 0 && !matchesAny(r.Programs, e.Data.Program) {
		return false
	}
	if gate == nil {
		return !r.onGates() && (len(r.Labels) == 0 || e.Data.Run != nil && hasLabels(e.Data.Run.Labels, r.Labels))
	}
	switch {
	case len(r.Gates) > 0 && !matchesAny(r.Gates, gate.Name),
		len(r.Assignees) > 0 && !r.assigned(e, gate),
		!hasLabels(gate.Labels, r.Labels),
		r.Within > 0 && (gate.ExpiresAt.IsZero() || gate.ExpiresAt.Sub(e.At) > r.Within):
		return false
	}
	for i := range r.Content {
		if !r.Content[i].holds(gate.Payload) {
			return false
		}
	}
	return true
}

// assigned reports whether one of the assignees may decide the gate, or may now.
func (r *Rule) assigned(e *Event, gate *posthouse.Gate) bool {
	may := func(name string) bool {
		return slices.ContainsFunc(r.Assignees, func(n string) bool { return posthouse.SameName(n, name) })
	}
	return slices.ContainsFunc(gate.Assignees, may) || e.Data.Assignment != nil && slices.ContainsFunc(e.Data.Assignment.To, may) ||
		e.Data.Reminder != nil && slices.ContainsFunc(e.Data.Reminder.To, may)
}

func hasLabels(have, want map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || !matches(v, got) {
			return false
		}
	}
	return true
}

func matchesAny(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, s) })
}

// matches reports whether a text is as a pattern says, in which * stands for any text.
func matches(pattern, s string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return s == pattern
	}
	s, ok := strings.CutPrefix(s, first)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, p := range parts[:len(parts)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, last)
}
