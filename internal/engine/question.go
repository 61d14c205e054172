package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
)

// A question is what people were asked by an execution: its gates show the same
// content and have the same number among those that do. A later gate asks again
// in the place of those before it.
type question struct {
	name    string // in full
	content posthouse.Hash
	n       uint32
	old     bool              // its first gate is an earlier version's, without a digest, and counted among all of its name
	gates   []*posthouse.Gate // oldest first; the last one counts
	asked   bool              // this run of the execution asked it
}

func (q *question) last() *posthouse.Gate { return q.gates[len(q.gates)-1] }

// addQuestion adds a gate of an execution.
func (r *replay) addQuestion(g *posthouse.Gate) {
	content, n := g.Content(), g.Occurrence
	if !g.Digested() {
		n = r.legacyNumber(g, content)
	}
	for _, q := range r.asked {
		if q.name == g.Name && q.n == n && q.content == content {
			q.gates = append(q.gates, g)
			return
		}
	}
	r.left += outermost(g.Name)
	r.asked = append(r.asked, &question{name: g.Name, content: content, n: n, old: !g.Digested(), gates: []*posthouse.Gate{g}})
}

// legacyNumber returns the number, among questions of one content, of a gate that was
// counted among all of its name.
func (r *replay) legacyNumber(g *posthouse.Gate, content posthouse.Hash) (n uint32) {
	for _, q := range r.asked {
		if q.name != g.Name || q.content != content {
			continue
		}
		if q.last().Occurrence == g.Occurrence {
			return q.n // asked again
		}
		n++
	}
	return n
}

// question finds what was asked before, nil if it was not: for one that is bound
// by name also an earlier version's, which had no bindings.
func (r *replay) question(g *posthouse.Gate, content posthouse.Hash, n uint32) *question {
	if r == nil {
		return nil
	}
	for _, q := range r.asked {
		if q.name == g.Name && q.n == n && q.content == content {
			return q
		}
	}
	if q := r.questionWithNote(g, n); q != nil {
		return q
	}
	if g.Bind == posthouse.ByName {
		for _, q := range r.asked {
			if q.old && q.name == g.Name && q.last().Occurrence == n {
				return q
			}
		}
	}
	return nil
}

// questionWithNote finds the n-th question that an earlier version put with a note in its
// text, of which the program said nothing.
func (r *replay) questionWithNote(g *posthouse.Gate, n uint32) *question {
	for _, q := range r.asked {
		if !q.old || q.name != g.Name {
			continue
		}
		same := *g
		same.Text = q.last().Text
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

// hasNote reports whether a text is another one and one of the notes that earlier
// versions put behind it.
func hasNote(noted, text string) bool {
	note, ok := strings.CutPrefix(noted, text)
	if text != "" {
		note = strings.TrimPrefix(note, "\n\n")
	}
	return ok && slices.ContainsFunc([]string{"(the judge would ", "(the judge failed: ", "(a guard stopped the approval by "}, func(p string) bool {
		return strings.HasPrefix(note, p)
	})
}

// clearAsked forgets that questions whose names begin with prefix were asked.
func (r *replay) clearAsked(prefix string) {
	if r == nil {
		return
	}
	for _, q := range r.asked {
		if strings.HasPrefix(q.name, prefix) {
			q.asked = false
		}
	}
}

// askKey counts questions for people by what they show, all others by name.
func askKey(g *posthouse.Gate, content posthouse.Hash) string {
	if !g.AsksPeople() {
		return g.Name
	}
	return g.Name + "\x00" + string(content[:])
}

// prepareGate fills in what the execution knows of a question.
func (t *Task) prepareGate(ctx context.Context, g *posthouse.Gate) (posthouse.Hash, error) {
	g.Name = scoped(ctx, t, g.Name)
	if err := checkLength("question", g.Name); err != nil {
		return posthouse.Hash{}, err
	}
	g.Task, g.Branch = t.Key(), t.session.branch
	if !g.AsksPeople() {
		return posthouse.Hash{}, nil
	}
	g.Instance = t.session.instance
	g.RequestedBy = cmp.Or(g.RequestedBy, Principal(ctx))
	return g.Content(), nil
}

// Gates are the questions and waits of an execution.
type Gates struct{ t *Task }

// Ask returns the decision of the same question that is on record, or remembers
// the question and returns [posthouse.ErrWaiting]: a new one for
// [Gates.New], one that was asked before for [Gates.Open]. The same is what
// has the same content and the same number among those the execution asks; of
// waits, the same name. A deadline that has passed is put on record first, so a
// late question does not wait for anybody. A decision that does not count any more
// ([commit.Counts]), or that licenses no effect here where g is to
// license some, is asked for again. Task, Occurrence, Branch and Instance of g are
// filled in, and in whose name the execution asks people, unless RequestedBy says
// so.
func (v Gates) Ask(ctx context.Context, g posthouse.Gate) (*posthouse.Gate, error) {
	t := v.t
	t.Heartbeat()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed.Load() {
		return nil, t.closedError("question", g.Name)
	}
	content, err := t.prepareGate(ctx, &g)
	if err != nil {
		return nil, err
	}
	m := t.stateToChange()
	g.Occurrence = next(&m.asks, askKey(&g, content))
	if !g.AsksPeople() {
		if w := t.replay.takeGate(g.Name, g.Occurrence); w != nil {
			return t.decidedGate(ctx, w)
		}
		m.questions = append(m.questions, g)
		return nil, posthouse.ErrWaiting
	}
	q := t.replay.question(&g, content, g.Occurrence)
	if t.replay != nil {
		t.replay.countReplayed(g.Name, q != nil)
	}
	if q != nil {
		q.asked = true
		found, why, err := t.recordedAnswer(ctx, &g, q)
		if found != nil || err != nil {
			return found, err
		}
		g.Supersedes = q.last().ID
		if why != nil && g.Note == "" {
			g.Note = clip("the answer of " + q.last().Decision.By + " does not count any more: " + why.Error())
		}
	}
	m.questions = append(m.questions, g)
	return nil, posthouse.ErrWaiting
}

// recordedAnswer returns the gate that answers g, or why it is to be asked again; the
// error is [posthouse.ErrWaiting] while it waits. Callers hold t.mu.
func (t *Task) recordedAnswer(ctx context.Context, g *posthouse.Gate, q *question) (found *posthouse.Gate, why, err error) {
	last := q.last()
	if last.Withdrawn() {
		return nil, nil, nil
	}
	if last.Decision == nil {
		if last, err = t.decidedGate(ctx, last); err != nil {
			return nil, nil, err
		}
		q.gates[len(q.gates)-1] = last
	}
	if why = commit.Counts(t.session.ledger.Core(), g, last); why == nil && g.Uses > 0 {
		why = t.session.licenses(last)
	}
	if why != nil {
		return nil, why, nil
	}
	return last, nil, nil
}

// licenses returns why a decision that is on record cannot license effects of
// this run: they were licensed elsewhere, or not at all. A refusal can be read
// anywhere.
func (s *Session) licenses(g *posthouse.Gate) error {
	refuse := func(message string) error {
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: message, Hint: "it is asked for again here"}
	}
	switch v := g.Decision.Verdict; {
	case v != posthouse.Approve && v != posthouse.Edit:
		return nil
	case g.Uses == 0 || g.Bind == posthouse.ByName:
		return refuse("gate " + string(g.ID) + " was asked without a license for effects")
	case g.Origin != "":
		return refuse("gate " + string(g.ID) + " is a copy of " + string(g.Origin) + ", to be read")
	case g.Thread != s.thread || g.Branch != s.branch:
		return refuse("the decision was given on branch " + g.Branch + " of thread " + g.Thread)
	}
	return nil
}

// Asked returns the number of a question among those of its content, and whether
// it is with people already, or has an answer that counts. It does not count as
// asking. What a policy decided does not bind people: where that does not count any
// more, the policy may decide again.
func (v Gates) Asked(ctx context.Context, g posthouse.Gate) (n uint32, before bool) {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	content, err := t.prepareGate(ctx, &g)
	if err != nil {
		return 0, false
	}
	n = t.currentState().asks[askKey(&g, content)]
	q := t.replay.question(&g, content, n)
	if q == nil || q.last().Withdrawn() {
		return n, false
	}
	last := q.last()
	if d := last.Decision; d == nil || !strings.HasPrefix(d.By, posthouse.PolicyPrefix) {
		return n, true
	}
	counts := commit.Counts(t.session.ledger.Core(), &g, last) == nil && (g.Uses == 0 || t.session.licenses(last) == nil)
	return n, counts
}

// Settle puts a question on record together with its decision, which a policy of
// the program took, and what is held. It counts as asking. Fields of g are filled
// in as [Gates.Ask] does; errors are those of [Session.Commit]. With expired it is
// asked in the place of that gate, whose deadline passed.
func (v Gates) Settle(ctx context.Context, g posthouse.Gate, expired *posthouse.Gate) (*posthouse.Gate, error) {
	t := v.t
	t.mu.Lock()
	if t.closed.Load() {
		t.mu.Unlock()
		return nil, t.closedError("question", g.Name)
	}
	content, err := t.prepareGate(ctx, &g)
	if err != nil {
		t.mu.Unlock()
		return nil, err
	}
	if expired != nil {
		g.Occurrence, g.Supersedes = max(1, t.currentState().asks[askKey(&g, content)])-1, expired.ID
	} else {
		g.Occurrence = next(&t.stateToChange().asks, askKey(&g, content))
		if q := t.replay.question(&g, content, g.Occurrence); q != nil {
			q.asked, g.Supersedes = true, q.last().ID
		}
	}
	t.mu.Unlock()
	if t.before != nil {
		if err := t.before(ctx); err != nil {
			return nil, err
		}
	}
	if err := t.session.persistClaim(ctx); err != nil {
		return nil, err
	}
	var settled *posthouse.Gate
	err = t.recordWith(&call{}, func(before []posthouse.Step) (bool, error) {
		done, err := t.session.Commit(ctx, &ledger.Draft{Steps: before, Decided: []posthouse.Gate{g}})
		if err == nil {
			settled = &done.Decided[0]
		}
		return err == nil, err
	})
	return settled, err
}

// maxNote bounds what a note adds to a question.
const maxNote = 4000

func clip(s string) string {
	if len(s) > maxNote {
		s = s[:maxNote]
	}
	return strings.ToValidUTF8(s, "")
}

// New returns the questions that are not open yet: the waiting checkpoint
// opens them. One that differs from what the execution asked before under its name,
// and does not ask again, names it as superseded.
func (v Gates) New() []posthouse.Gate {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.currentState()
	qs := slices.Clone(m.questions)
	for i := range qs {
		if q := t.predecessor(&qs[i], qs[:i]); q != nil {
			qs[i].Supersedes = q.last().ID
		}
	}
	for _, in := range m.inner {
		qs = append(qs, in.Gates().New()...)
	}
	return qs
}

// Changed returns a [ChangedError] for a question that has no right to differ from
// what is on record: the very instance of the program asked that and it was
// answered, or it differed once before, and nobody changed the state in between.
func (v Gates) Changed() error {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.currentState()
	qs := slices.Clone(m.questions)
	for i := range qs {
		q := t.predecessor(&qs[i], qs[:i])
		if q == nil {
			continue
		}
		last := q.last()
		qs[i].Supersedes = last.ID
		own := last.Instance != "" && last.Instance == qs[i].Instance && last.Decision != nil && !last.Withdrawn()
		if last.Seq > t.replay.edited && last.Bind == qs[i].Bind && (own || t.replay.contentChanged(q)) {
			return newChangedError(t, &qs[i], last)
		}
	}
	for _, in := range m.inner {
		if err := in.Gates().Changed(); err != nil {
			return err
		}
	}
	return nil
}

// predecessor finds what a new question asks in the place of: the first of its
// name that this run did not ask, and that none before it replaces. Callers hold
// t.mu.
func (t *Task) predecessor(g *posthouse.Gate, before []posthouse.Gate) *question {
	if t.replay == nil || !g.AsksPeople() || g.Supersedes != "" {
		return nil
	}
	for _, q := range t.replay.asked {
		last := q.last()
		taken := func(o posthouse.Gate) bool { return o.Supersedes == last.ID }
		if !q.asked && q.name == g.Name && !slices.ContainsFunc(before, taken) && !t.replay.isSuperseded(last) {
			return q
		}
	}
	return nil
}

// isSuperseded reports whether another gate on record asks in the place of one.
func (r *replay) isSuperseded(g *posthouse.Gate) bool {
	return slices.ContainsFunc(r.asked, func(q *question) bool {
		return slices.ContainsFunc(q.gates, func(o *posthouse.Gate) bool { return o.Supersedes == g.ID })
	})
}

// contentChanged reports whether a question asks in the place of one that showed
// something else, since the state was changed last.
func (r *replay) contentChanged(q *question) bool {
	first := q.gates[0]
	return first.Supersedes != "" && slices.ContainsFunc(r.asked, func(o *question) bool {
		return o.content != q.content && o.last().Seq > r.edited &&
			slices.ContainsFunc(o.gates, func(g *posthouse.Gate) bool { return g.ID == first.Supersedes })
	})
}

// Undecided returns the gates of the execution that have no decision, whether or
// not this run of it has asked for them again.
func (v Gates) Undecided() []posthouse.ID {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.undecided(func(*question) bool { return true })
}

// Pending is Undecided for an execution that asked all it asks: what it did not
// ask people again is left out, and to be withdrawn.
func (v Gates) Pending() []posthouse.ID {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.undecided(func(q *question) bool { return q.asked })
}

func (t *Task) undecided(want func(*question) bool) []posthouse.ID {
	var ids []posthouse.ID
	if t.replay == nil {
		return nil
	}
	for _, g := range t.replay.gates {
		if g.Decision == nil {
			ids = append(ids, g.ID)
		}
	}
	for _, q := range t.replay.asked {
		if q.last().Decision == nil && want(q) {
			ids = append(ids, q.last().ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Stale returns the open gates that people were asked by an earlier run of the
// execution and that this one, which asked all it asks, did not ask again: whoever
// commits for it withdraws them.
func (v Gates) Stale() []posthouse.ID {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []posthouse.ID
	if t.replay != nil {
		for _, q := range t.replay.asked {
			if !q.asked && q.last().Decision == nil {
				ids = append(ids, q.last().ID)
			}
		}
	}
	for _, in := range t.currentState().inner {
		ids = append(ids, in.Gates().Stale()...)
	}
	return ids
}

// StillWaitsFor returns the gates that the execution waits for, if none of its gates
// was decided behind the checkpoint at seq and none of them is overdue: run
// again it would only ask again.
func (v Gates) StillWaitsFor(seq uint64) (open []*posthouse.Gate) {
	t := v.t
	if t.replay == nil {
		return nil
	}
	now := t.session.ledger.Now()
	rests := func(g *posthouse.Gate) bool {
		switch {
		case g.Decision == nil && g.Kind == posthouse.GateThread: // that thread may have gone on
			return false
		case g.Decision != nil && g.Decision.Seq > seq, g.Decision == nil && !g.ExpiresAt.IsZero() && !now.Before(g.ExpiresAt):
			return false
		case g.Decision == nil:
			open = append(open, g)
		}
		return true
	}
	for _, g := range t.replay.gates {
		if !rests(g) {
			return nil
		}
	}
	for _, q := range t.replay.asked {
		for i, g := range q.gates {
			if (i == len(q.gates)-1 || g.Decision != nil) && !rests(g) {
				return nil
			}
		}
	}
	for _, q := range t.replay.asked {
		q.asked = true // they wait on
	}
	slices.SortFunc(open, func(a, b *posthouse.Gate) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID)) })
	return open
}
