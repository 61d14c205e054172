package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/internal/replay"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/ledger"
)

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
	g.Task, g.Branch = t.Key(), t.session.Branch()
	if !g.AsksPeople() {
		return posthouse.Hash{}, nil
	}
	g.Instance = cmp.Or(g.Instance, t.session.Instance()) // a handler's question has that of its worker
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
// A decision is asked for again if it does not count any more ([commit.Rules.CheckReuse]),
// or if g is to license effects and the decision licenses none here. Task, Occurrence,
// Branch and Instance of g are filled in; so is RequestedBy where it is empty.
func (v Gates) Ask(ctx context.Context, g posthouse.Gate) (*posthouse.Gate, error) {
	t := v.t
	t.Heartbeat()
	checked := t.checkAgain(ctx, g)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed.Load() {
		return nil, closedError("question", g.Name, t.Key())
	}
	content, err := t.prepareGate(ctx, &g)
	if err != nil {
		return nil, err
	}
	m := t.made()
	g.Occurrence = next(&m.asks, askKey(&g, content))
	if !g.AsksPeople() {
		if w := t.replay.TakeGate(g.Name, g.Occurrence); w != nil {
			w, err := t.decidedGate(ctx, w)
			if err != nil {
				return nil, err
			}
			return w, horizonOf(ctx).give(w)
		}
		m.questions = append(m.questions, g)
		return nil, posthouse.ErrWaiting
	}
	m.calls++
	m.asksAfter(g.Name, m.receivedBy(g.Name), m.knownBy(g.Name))
	q := t.replay.Question(&g, content, g.Occurrence)
	t.replay.CountReplayed(g.Name, q != nil)
	if q != nil {
		q.Ask()
		found, why, err := t.recordedAnswer(ctx, &g, q, checked)
		if err == nil && found != nil {
			err = horizonOf(ctx).give(found)
		}
		if found != nil || err != nil {
			return found, err
		}
		g.Supersedes = q.Last().ID
		if why != nil && g.Note == "" {
			g.Note = license.Clip("the answer of " + q.Last().Decision.By + " does not count any more: " + why.Error())
		}
	}
	m.questions = append(m.questions, g)
	return nil, posthouse.ErrWaiting
}

// recordedAnswer returns the gate that answers g, or why g is asked again. While that gate
// waits, the error is [posthouse.ErrWaiting]. Callers hold t.mu.
func (t *Task) recordedAnswer(ctx context.Context, g *posthouse.Gate, q *replay.Question, checked *checkedValue) (found *posthouse.Gate, why, err error) {
	last := q.Last()
	if last.Withdrawn() {
		return nil, nil, nil
	}
	if last.Decision == nil {
		last, err = t.decidedGate(ctx, last)
		if err != nil {
			return nil, nil, err
		}
		q.SetLast(last)
	}
	why = checked.counts(t.session.Ledger().Core().Rules, g, last)
	if why == nil && g.Uses > 0 {
		why = license.Here(last, t.session.Thread(), t.session.Branch())
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
	counts := t.session.Ledger().Core().Rules.CheckReuse(&g, last) == nil && (g.Uses == 0 || license.Here(last, t.session.Thread(), t.session.Branch()) == nil)
	return n, counts
}

// RecordDecided puts a question on record together with a policy's decision, and what is held.
// It counts as asking. Fields of g are filled in as [Gates.Ask] does. Errors are those of
// [session.Session.Commit]. If expired is not nil, the question replaces that gate, whose
// deadline has passed.
func (v Gates) RecordDecided(ctx context.Context, g posthouse.Gate, expired *posthouse.Gate) (*posthouse.Gate, error) {
	t := v.t
	t.mu.Lock()
	if t.closed.Load() {
		t.mu.Unlock()
		return nil, closedError("question", g.Name, t.Key())
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
		if q := t.replay.Question(&g, content, g.Occurrence); q != nil {
			q.Ask()
			g.Supersedes = cmp.Or(g.Supersedes, q.Last().ID)
		}
	}
	asks := &call{name: g.Name, after: after{before: t.made().receivedBy(g.Name), known: t.made().knownBy(g.Name)}}
	t.mu.Unlock()
	if err := t.mayAct(ctx); err != nil {
		return nil, err
	}
	var recorded *posthouse.Gate
	err = t.recordWith(asks, func(before []posthouse.Step) (bool, error) {
		done, err := t.session.Commit(ctx, &ledger.Draft{Steps: before, Decided: []posthouse.Gate{g}})
		if err == nil {
			recorded = &done.Decided[0]
		}
		return err == nil, err
	})
	return recorded, err
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
// without an error, "" if no question or wait is open. what names the code's result, and
// where says what becomes of it.
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
func (t *Task) newQuestions() (qs []posthouse.Gate, replaced []*replay.Question) {
	qs, replaced = slices.Clone(t.made().questions), make([]*replay.Question, len(t.made().questions))
	for i := range qs {
		if q := t.replay.Predecessor(&qs[i], qs[:i]); q != nil {
			qs[i].Supersedes, replaced[i] = q.Last().ID, q
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
		if t.replay.HasChanged(&qs[i], q) {
			return newChangedError(t.session.Thread(), &qs[i], q.Last())
		}
	}
	for _, in := range t.made().inner {
		if err := in.Gates().Changed(); err != nil {
			return err
		}
	}
	return nil
}

// Undecided returns the gates of the execution that have no decision. This run may not have
// asked for all of them again.
func (v Gates) Undecided() []posthouse.ID {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replay.Undecided(true)
}

// Pending is Undecided for an execution that has asked all its questions. It leaves out
// what people were not asked again, which is withdrawn.
func (v Gates) Pending() []posthouse.ID {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replay.Undecided(false)
}

// Stale returns the open gates for people that this run, which has asked all its questions,
// did not ask again. The commit that follows withdraws them.
func (v Gates) Stale() []posthouse.ID {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := t.replay.Stale()
	for _, in := range t.made().inner {
		ids = append(ids, in.Gates().Stale()...)
	}
	return ids
}

// StillWaitsFor returns the gates that the execution waits for. It returns nil if one was
// decided after the checkpoint at seq, or is overdue. Otherwise the execution, run again,
// would only ask again.
func (v Gates) StillWaitsFor(seq uint64) (open []*posthouse.Gate) {
	return v.t.replay.StillWaitsFor(seq, v.t.session.Ledger().Now())
}

// open puts a question, or a timer, on record at once, without a checkpoint, with a record of the
// effect that it is about, and what is held. It returns [posthouse.ErrWaiting]: the execution waits for it, and
// the checkpoint that parks it keeps the gate. Other errors are those of [session.Session.Commit].
func (v Gates) open(ctx context.Context, g posthouse.Gate, mark *posthouse.Step) error {
	t := v.t
	t.mu.Lock()
	content, err := t.prepareGate(ctx, &g)
	if err != nil {
		t.mu.Unlock()
		return err
	}
	g.Occurrence = next(&t.made().asks, askKey(&g, content))
	asks := &call{name: g.Name, after: after{before: t.made().receivedBy(g.Name), known: t.made().knownBy(g.Name)}}
	t.mu.Unlock()
	var opened *posthouse.Gate
	err = t.recordWith(asks, func(before []posthouse.Step) (bool, error) {
		d := &ledger.Draft{Steps: before, Gates: []posthouse.Gate{g}}
		if mark != nil {
			d.Steps = append(before, *mark)
		}
		done, err := t.session.Commit(ctx, d)
		if errors.Is(err, posthouse.ErrCancelled) { // it happened before the request arrived, or may have
			d.AfterCancel = true
			done, err = t.session.Commit(ctx, d)
		}
		if err == nil {
			opened = &done.Gates[0]
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	if mark != nil {
		t.rememberResult(*mark)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replay.AddOpened(opened)
	m := t.made()
	m.open, m.opened = append(m.open, opened), true
	return posthouse.ErrWaiting
}

// Await has the execution wait for a question on record, whatever it asks in its words today. It
// returns [posthouse.ErrWaiting] until it is decided.
func (v Gates) Await(ctx context.Context, id posthouse.ID) error {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.replay.QuestionOf(id)
	if q == nil {
		return posthouse.NotFound("gate", id)
	}
	q.Ask()
	_, err := t.decidedGate(ctx, q.Last())
	if h := t.session.Head(); errors.Is(err, posthouse.ErrWaiting) && h != nil && q.Last().Seq > h.Seq {
		t.made().opened = true
	}
	return err
}

// Opened reports whether this run opened gates without a checkpoint, or found such: the park that
// follows needs one, which keeps them.
func (v Gates) Opened() bool {
	t := v.t
	m := t.state.Load()
	if m == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return m.opened || slices.ContainsFunc(m.inner, func(in *Task) bool { return in.Gates().Opened() })
}
