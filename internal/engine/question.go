package engine

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/ledger"
)

// A question is what people were asked by an execution. Its gates show the same content
// and have the same number among those that do. A later gate replaces those before it.
type question struct {
	name    string // in full
	content posthouse.Hash
	n       uint32
	old     bool              // an earlier version asked it, without a digest, and counted all of its name
	gates   []*posthouse.Gate // oldest first; the last one counts
	asked   bool              // this run of the execution asked it
}

func (q *question) last() *posthouse.Gate { return q.gates[len(q.gates)-1] }

func (r *replay) addQuestion(g *posthouse.Gate) {
	content, n := g.Content(), g.Occurrence
	if !g.Digested() {
		n = r.legacyNumber(g, content)
	}
	if q := r.find(g.Name, content, n); q != nil {
		q.gates = append(q.gates, g)
		return
	}
	r.left += outermost(g.Name)
	r.asked = append(r.asked, &question{name: g.Name, content: content, n: n, old: !g.Digested(), gates: []*posthouse.Gate{g}})
}

func (r *replay) find(name string, content posthouse.Hash, n uint32) *question {
	for _, q := range r.asked {
		if q.name == name && q.n == n && q.content == content {
			return q
		}
	}
	return nil
}

// legacyNumber returns the number of an earlier version's gate among questions of one
// content. Its occurrence counts all questions of its name.
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

// question finds what was asked before, nil if it was not. For a question that is bound by
// name it may be an earlier version's, which had no bindings.
func (r *replay) question(g *posthouse.Gate, content posthouse.Hash, n uint32) *question {
	if r == nil {
		return nil
	}
	if q := cmp.Or(r.find(g.Name, content, n), r.questionWithNote(g, n)); q != nil {
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

// questionWithNote finds the n-th question to whose text an earlier version added a note.
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

// askKey returns what questions are counted by: those for people by what they show, too.
func askKey(g *posthouse.Gate, content posthouse.Hash) string {
	if !g.AsksPeople() {
		return g.Name
	}
	return g.Name + "\x00" + string(content[:])
}

// prepareGate fills in what the execution knows of a question.
func (t *Task) prepareGate(ctx context.Context, g *posthouse.Gate) (posthouse.Hash, error) {
	g.Name = t.Scoped(ctx, g.Name)
	if err := checkLength("question", g.Name); err != nil {
		return posthouse.Hash{}, err
	}
	g.Task, g.Branch = t.Key(), t.session.branch
	if !g.AsksPeople() {
		return posthouse.Hash{}, nil
	}
	g.Instance = cmp.Or(g.Instance, t.session.instance) // a handler's question has that of its worker
	g.RequestedBy = cmp.Or(g.RequestedBy, Sender(ctx))
	return g.Content(), nil
}

// Gates are the questions and waits of an execution.
type Gates struct{ t *Task }

// Ask returns the decision of the same question on record. Otherwise it remembers the
// question, a new one for [Gates.New], one that was asked before for [Gates.Open], and
// returns [posthouse.ErrWaiting]. Two questions are the same if they have the same
// content and the same number among those of that content; two waits, if they have the
// same name. A deadline that has passed is put on record first.
//
// A decision is asked for again if it does not count any more ([commit.Counts]), or if g
// is to license effects and the decision licenses none here. Task, Occurrence, Branch and
// Instance of g are filled in; so is RequestedBy where it is empty.
func (v Gates) Ask(ctx context.Context, g posthouse.Gate) (*posthouse.Gate, error) {
	t := v.t
	t.Heartbeat()
	checked := t.checkAgain(ctx, g)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed.Load() {
		return nil, t.closedError("question", g.Name)
	}
	content, err := t.prepareGate(ctx, &g)
	if err != nil {
		return nil, err
	}
	m := t.made()
	g.Occurrence = next(&m.asks, askKey(&g, content))
	if !g.AsksPeople() {
		if w := t.replay.takeGate(g.Name, g.Occurrence); w != nil {
			return t.decidedGate(ctx, w)
		}
		m.questions = append(m.questions, g)
		return nil, posthouse.ErrWaiting
	}
	m.asksBehind(m.receivedBy(g.Name))
	q := t.replay.question(&g, content, g.Occurrence)
	if t.replay != nil {
		t.replay.countReplayed(g.Name, q != nil)
	}
	if q != nil {
		q.asked = true
		found, why, err := t.recordedAnswer(ctx, &g, q, checked)
		if found != nil || err != nil {
			return found, err
		}
		g.Supersedes = q.last().ID
		if why != nil && g.Note == "" {
			g.Note = license.Clip("the answer of " + q.last().Decision.By + " does not count any more: " + why.Error())
		}
	}
	m.questions = append(m.questions, g)
	return nil, posthouse.ErrWaiting
}

// recordedAnswer returns the gate that answers g, or why g is asked again. While that gate
// waits, the error is [posthouse.ErrWaiting]. Callers hold t.mu.
func (t *Task) recordedAnswer(ctx context.Context, g *posthouse.Gate, q *question, checked *checkedValue) (found *posthouse.Gate, why, err error) {
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
	if why = checked.counts(t.session.ledger.Core(), g, last); why == nil && g.Uses > 0 {
		why = license.Here(last, t.session.thread, t.session.branch)
	}
	if why != nil {
		return nil, why, nil
	}
	return last, nil, nil
}

// Asked returns the number of a question among those of its content. Before says whether
// people were asked it already, or it has an answer that counts. Asked does not count as
// asking. Where a policy's decision does not count any more, the policy may decide again.
func (v Gates) Asked(ctx context.Context, g posthouse.Gate) (n uint32, before bool) {
	t := v.t
	last, n := t.askedBefore(ctx, &g)
	if last == nil || last.Withdrawn() {
		return n, false
	}
	if d := last.Decision; d == nil || !strings.HasPrefix(d.By, posthouse.PolicyPrefix) {
		return n, true
	}
	counts := commit.Counts(t.session.ledger.Core(), &g, last) == nil && (g.Uses == 0 || license.Here(last, t.session.thread, t.session.branch) == nil)
	return n, counts
}

// Settle puts a question on record together with a policy's decision, and what is held.
// It counts as asking. Fields of g are filled in as [Gates.Ask] does. Errors are those of
// [Session.Commit]. If expired is not nil, the question replaces that gate, whose
// deadline has passed.
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
		g.Occurrence, g.Supersedes = max(1, t.made().asks[askKey(&g, content)])-1, expired.ID
	} else {
		g.Occurrence = next(&t.made().asks, askKey(&g, content))
		if q := t.replay.question(&g, content, g.Occurrence); q != nil {
			q.asked, g.Supersedes = true, cmp.Or(g.Supersedes, q.last().ID)
		}
	}
	asks := &call{before: t.made().receivedBy(g.Name)}
	t.mu.Unlock()
	if err := t.mayAct(ctx); err != nil {
		return nil, err
	}
	var settled *posthouse.Gate
	err = t.recordWith(asks, func(before []posthouse.Step) (bool, error) {
		done, err := t.session.Commit(ctx, &ledger.Draft{Steps: before, Decided: []posthouse.Gate{g}})
		if err == nil {
			settled = &done.Decided[0]
		}
		return err == nil, err
	})
	return settled, err
}

// Open returns the gates that were asked again and are still undecided. A node
// that waits for these alone needs no new checkpoint.
func (v Gates) Open() []*posthouse.Gate {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	open := slices.Clone(t.made().open)
	for _, in := range t.made().inner {
		open = append(open, in.Gates().Open()...)
	}
	return open
}

// Swallowed says which question or wait is open although the code of the execution returned
// without an error, "" if none is. what is what the code made, where says what becomes of it.
func (v Gates) Swallowed(what, where string) string {
	names := ""
	for _, g := range v.New() {
		names += ", " + strconv.Quote(g.Name)
	}
	for _, g := range v.Open() {
		names += ", " + strconv.Quote(g.Name)
	}
	if names == "" {
		return ""
	}
	return what + " returned while it waits for " + names[2:] + ": " + where + " (return the ErrWaiting that it got, or wait for the first of several by step.Select)"
}

// New returns the questions that are not open yet: the waiting checkpoint opens them. A
// question supersedes one that the execution asked before under its name and does not
// ask again.
func (v Gates) New() []posthouse.Gate {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	qs, _ := t.newQuestions()
	for _, in := range t.made().inner {
		qs = append(qs, in.Gates().New()...)
	}
	return qs
}

// newQuestions returns the questions that are not open yet, and what each of them
// replaces, nil for nothing. Callers hold t.mu.
func (t *Task) newQuestions() (qs []posthouse.Gate, replaced []*question) {
	qs, replaced = slices.Clone(t.made().questions), make([]*question, len(t.made().questions))
	for i := range qs {
		if q := t.predecessor(&qs[i], qs[:i]); q != nil {
			qs[i].Supersedes, replaced[i] = q.last().ID, q
		}
	}
	return qs, replaced
}

// Changed returns a [ChangedError] for a question that must not differ from what is on
// record. Either this instance of the program asked that and it was answered, or the
// question differed once before. After an edit of the state a question may differ.
func (v Gates) Changed() error {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	qs, replaced := t.newQuestions()
	for i, q := range replaced {
		if q == nil {
			continue
		}
		last := q.last()
		own := last.Instance != "" && last.Instance == qs[i].Instance && last.Decision != nil && !last.Withdrawn()
		if last.Seq > t.replay.edited && last.Bind == qs[i].Bind && (own || t.replay.contentChanged(q)) {
			return newChangedError(t, &qs[i], last)
		}
	}
	for _, in := range t.made().inner {
		if err := in.Gates().Changed(); err != nil {
			return err
		}
	}
	return nil
}

// predecessor returns the recorded question that g replaces: the first of its name that this
// run did not ask and that no earlier question replaces. Callers hold t.mu.
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

func (r *replay) isSuperseded(g *posthouse.Gate) bool {
	return slices.ContainsFunc(r.asked, func(q *question) bool {
		return slices.ContainsFunc(q.gates, func(o *posthouse.Gate) bool { return o.Supersedes == g.ID })
	})
}

// contentChanged reports whether a question replaced one that showed something else, since
// the state was edited last.
func (r *replay) contentChanged(q *question) bool {
	first := q.gates[0]
	return first.Supersedes != "" && slices.ContainsFunc(r.asked, func(o *question) bool {
		return o.content != q.content && o.last().Seq > r.edited &&
			slices.ContainsFunc(o.gates, func(g *posthouse.Gate) bool { return g.ID == first.Supersedes && !g.IsEdited() })
	})
}

// Undecided returns the gates of the execution that have no decision. This run may not have
// asked for all of them again.
func (v Gates) Undecided() []posthouse.ID {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.undecided(func(*question) bool { return true })
}

// Pending is Undecided for an execution that has asked all its questions. It leaves out
// what people were not asked again, which is withdrawn.
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

// Stale returns the open gates for people that this run, which has asked all its questions,
// did not ask again. The commit that follows withdraws them.
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
	for _, in := range t.made().inner {
		ids = append(ids, in.Gates().Stale()...)
	}
	return ids
}

// StillWaitsFor returns the gates that the execution waits for. It returns nil if one was
// decided behind the checkpoint at seq, or is overdue. Otherwise the execution, run again,
// would only ask again.
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
