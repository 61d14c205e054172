package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// A Question is what people were asked by an execution. Its gates show the same content
// and have the same number among those that do. A later gate replaces those before it.
type Question struct {
	name    string // in full
	content posthouse.Hash
	n       uint32
	old     bool              // an earlier version asked it, without a digest, and counted all of its name
	gates   []*posthouse.Gate // oldest first; the last one counts
	asked   bool              // this run of the execution asked it
}

// Last returns the gate that counts.
func (q *Question) Last() *posthouse.Gate { return q.gates[len(q.gates)-1] }

// SetLast replaces the gate that counts by the same with its decision.
func (q *Question) SetLast(g *posthouse.Gate) { q.gates[len(q.gates)-1] = g }

// Ask notes that this run of the execution asked the question.
func (q *Question) Ask() { q.asked = true }

func (l *Log) addQuestion(g *posthouse.Gate) {
	content, n := g.Content(), g.Occurrence
	if !g.Digested() {
		n = l.legacyNumber(g, content)
	}
	if q := l.find(g.Name, content, n); q != nil {
		q.gates = append(q.gates, g)
		return
	}
	l.left += outermost(g.Name)
	l.questions = append(l.questions, &Question{name: g.Name, content: content, n: n, old: !g.Digested(), gates: []*posthouse.Gate{g}})
}

func (l *Log) find(name string, content posthouse.Hash, n uint32) *Question {
	for _, q := range l.questions {
		if q.name == name && q.n == n && q.content == content {
			return q
		}
	}
	return nil
}

// legacyNumber returns the number of an earlier version's gate among questions of one
// content. Its occurrence counts all questions of its name.
func (l *Log) legacyNumber(g *posthouse.Gate, content posthouse.Hash) (n uint32) {
	for _, q := range l.questions {
		if q.name != g.Name || q.content != content {
			continue
		}
		if q.Last().Occurrence == g.Occurrence {
			return q.n // asked again
		}
		n++
	}
	return n
}

// Question finds what was asked before, nil if it was not. For a question that is bound by
// name it may be an earlier version's, which had no bindings.
func (l *Log) Question(g *posthouse.Gate, content posthouse.Hash, n uint32) *Question {
	if l == nil {
		return nil
	}
	if q := cmp.Or(l.find(g.Name, content, n), l.questionWithNote(g, n)); q != nil {
		return q
	}
	if g.Bind == posthouse.ByName {
		for _, q := range l.questions {
			if q.old && q.name == g.Name && q.Last().Occurrence == n {
				return q
			}
		}
	}
	return nil
}

// questionWithNote finds the n-th question with a note that an earlier version added to its text.
func (l *Log) questionWithNote(g *posthouse.Gate, n uint32) *Question {
	for _, q := range l.questions {
		if !q.old || q.name != g.Name {
			continue
		}
		same := *g
		same.Text = q.Last().Text
		if !hasNote(same.Text, g.Text) || same.Content() != q.content {
			continue
		}
		if n == 0 {
			return q
		}
		n--
	}
	return nil
}

// hasNote reports whether a text is another one with a note of an earlier version.
func hasNote(noted, text string) bool {
	note, ok := strings.CutPrefix(noted, text)
	if text != "" {
		note = strings.TrimPrefix(note, "\n\n")
	}
	return ok && slices.ContainsFunc([]string{"(the judge would ", "(the judge failed: ", "(a guard stopped the approval by "}, func(p string) bool {
		return strings.HasPrefix(note, p)
	})
}

// ClearAsked forgets that questions were asked with names that begin with prefix.
func (l *Log) ClearAsked(prefix string) {
	if l == nil {
		return
	}
	for _, q := range l.questions {
		if strings.HasPrefix(q.name, prefix) {
			q.asked = false
		}
	}
}

func (l *Log) isSuperseded(g *posthouse.Gate) bool {
	return slices.ContainsFunc(l.questions, func(q *Question) bool {
		return slices.ContainsFunc(q.gates, func(o *posthouse.Gate) bool { return o.Supersedes == g.ID })
	})
}

// HasChanged reports whether a question that differs from one on record must not: this
// instance of the program asked that and it was answered, or it differed once before. After an
// edit of the state a question may differ.
func (l *Log) HasChanged(now *posthouse.Gate, q *Question) bool {
	last := q.Last()
	own := last.Instance != "" && last.Instance == now.Instance && last.Decision != nil && !last.Withdrawn()
	return last.Seq > l.edited && last.Bind == now.Bind && (own || l.contentChanged(q))
}

// contentChanged reports whether a question replaced one that showed something else, since
// the state was edited last.
func (l *Log) contentChanged(q *Question) bool {
	first := q.gates[0]
	return first.Supersedes != "" && slices.ContainsFunc(l.questions, func(o *Question) bool {
		return o.content != q.content && o.Last().Seq > l.edited &&
			slices.ContainsFunc(o.gates, func(g *posthouse.Gate) bool { return g.ID == first.Supersedes && !g.IsEdited() })
	})
}

// Predecessor returns the recorded question that g replaces: the first of its name that this
// run did not ask and that no earlier question replaces, nil if there is no such question.
func (l *Log) Predecessor(g *posthouse.Gate, before []posthouse.Gate) *Question {
	if l == nil || !g.AsksPeople() || g.Supersedes != "" {
		return nil
	}
	for _, q := range l.questions {
		last := q.Last()
		taken := func(o posthouse.Gate) bool { return o.Supersedes == last.ID }
		if !q.asked && q.name == g.Name && !slices.ContainsFunc(before, taken) && !l.isSuperseded(last) {
			return q
		}
	}
	return nil
}

// AddOpened adds a question or a timer that this run put on record.
func (l *Log) AddOpened(g *posthouse.Gate) {
	if !g.AsksPeople() {
		l.gates[callKey{g.Name, g.Occurrence}] = g
		return
	}
	l.addQuestion(g)
	l.QuestionOf(g.ID).Ask()
}

// QuestionOf returns the question with a gate, nil if there is no such question.
func (l *Log) QuestionOf(id posthouse.ID) *Question {
	if l == nil {
		return nil
	}
	for _, q := range l.questions {
		if q.Last().ID == id {
			return q
		}
	}
	return nil
}
