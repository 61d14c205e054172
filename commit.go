package posthouse

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
)

// Commit appends one entry: what the draft holds becomes durable together, or
// not at all. It fails with [ErrConflict] if draft.Head is not the branch's
// head (Error.Head says what is), with [ErrFenced] if a newer claim owns the
// thread, with [ErrBusy] if the draft has no claim and somebody else runs the
// thread, with [ErrTooLarge] beyond Options.MaxState. With [ErrUnknown] the
// outcome is not known; committing again is safe under the same Head.
//
// An input, an update that leaves its step, a checkpoint that is saved and a
// release cancel the threads whose end the branch waited for ([GateThread]); an
// error with a result says that this failed, and the commit stands.
func (l *Ledger) Commit(ctx context.Context, d *Draft) (*Committed, error) {
	for i := range d.Gates { // not of those that a fork or a copy takes along
		if err := d.Gates[i].checkNames(); err != nil {
			return nil, err
		}
	}
	c, h, err := l.commit(ctx, d)
	if err != nil {
		return nil, err
	}
	if h != nil {
		l.observeCheckpoint(OpSaved, h)
		l.evict(ctx)
	}
	if c.Release != nil {
		l.observeReleased(c.Release)
	}
	by := ""
	if d.Checkpoint != nil {
		by = d.Checkpoint.By
	}
	return c, l.forsake(ctx, d.Thread, c.left, by)
}

// commit is Commit without the event.
func (l *Ledger) commit(ctx context.Context, d *Draft) (*Committed, *Header, error) {
	if err := d.validate(); err != nil {
		return nil, nil, err
	}
	t, err := l.lock(d.Thread)
	if err != nil {
		return nil, nil, err
	}
	defer l.unlock(t)
	done := &Committed{}
	err = l.append(ctx, t, func(a *appending) error {
		*done = Committed{Seq: a.seq}
		err := a.draft(d, done)
		if a.next != nil {
			done.Checkpoint = &a.next.Header
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	done.Hash = t.info.Tail.Hash
	for i := range done.Gates {
		done.Gates[i].Seq, done.Gates[i].Hash = done.Seq, done.Hash
	}
	for i := range done.Decided {
		done.Decided[i].Seq, done.Decided[i].Hash = done.Seq, done.Hash
	}
	if done.Release != nil {
		done.Release.Hash = done.Hash
		l.unclaim(t)
	}
	if done.Checkpoint != nil {
		done.Checkpoint = done.Checkpoint.clone()
	}
	return done, done.Checkpoint, nil
}

// draft checks that d may be appended and adds its records.
func (a *appending) draft(d *Draft, done *Committed) error {
	if err := a.checkLease(d); err != nil {
		return err
	}
	if err := a.notCancelled(d); err != nil {
		return err
	}
	return a.record(d, done)
}

// record adds the records of d.
func (a *appending) record(d *Draft, done *Committed) error {
	a.branch = d.Branch
	bh, exists := a.t.info.Branch(d.Branch)
	if d.Head != nil && *d.Head != bh.Head {
		return &Error{
			Code: CodeConflict, Head: bh.Head, Tail: &a.t.info.Tail,
			Message: "branch " + d.Branch + " of thread " + d.Thread + " has moved on to " + string(bh.Head),
			Hint:    "load the head and derive from it, or fork",
		}
	}
	if err := a.steps(d); err != nil {
		return err
	}
	if err := a.takes(d); err != nil {
		return err
	}
	if c := d.Checkpoint; c != nil {
		if d.revise == "" || d.revise == bh.Head {
			done.left = a.supersede(d)
		}
		if err := a.checkpoint(d, c, bh, exists); err != nil {
			return err
		}
	}
	if len(d.inherit)+len(d.Gates)+len(d.Decided) > 0 { // a call spared is a deep stack spared
		if err := a.gates(d, done); err != nil {
			return err
		}
	}
	if err := a.ask(d, done); err != nil || d.Release == nil {
		return err
	}
	var err error
	var left []ID
	done.Release, left, err = a.release(d.Release)
	done.left = append(done.left, left...)
	return err
}

// gates opens those of the draft.
func (a *appending) gates(d *Draft, done *Committed) error {
	for _, g := range d.inherit {
		c := *g
		c.ID, c.Origin = "", cmp.Or(g.Origin, g.ID)
		opened, err := a.gate(d, c)
		if err != nil {
			return err
		}
		dec := *g.Decision
		dec.Gate, dec.Shown, dec.Signal, dec.Trail = opened.ID, Hash{}, 0, 0 // what they name is another entry
		a.decision(&dec, a.seq)
	}
	for i := range d.Decided {
		if err := a.decided(d, &d.Decided[i], done); err != nil {
			return err
		}
	}
	for i := range d.Gates {
		asked := *d.Gates[i].clone()
		if asked.ID == "" {
			asked.ID = a.successors[asked.Supersedes] // "" where it supersedes none that is open
		}
		if !d.copy && d.Checkpoint.kind() != KindFork { // those were opened before
			if err := a.l.MayOpen(&asked); err != nil {
				return err
			}
		}
		g, err := a.gate(d, asked)
		if err != nil {
			return err
		}
		if s := a.answered[i]; s != nil {
			g.Decision = s.decision(g.ID)
			g.Decision.At = toMillis(a.at)
			a.decision(g.Decision, a.seq)
		}
		done.Gates = append(done.Gates, g)
	}
	return nil
}

// decided adds a gate together with its decision.
func (a *appending) decided(d *Draft, asked *Gate, done *Committed) error {
	g, err := a.gate(d, *asked.clone())
	if err != nil {
		return err
	}
	dec := *asked.Decision
	dec.Gate, dec.At, dec.Shown, dec.Signal, dec.Trail, dec.Successor = g.ID, toMillis(a.at), Hash{}, 0, 0, ""
	a.decision(&dec, a.seq)
	g.Decision = &dec
	done.Decided = append(done.Decided, g)
	return nil
}

func (a *appending) steps(d *Draft) error {
	for i := range d.Steps {
		s := &d.Steps[i]
		if s.Effect == EffectExternal && s.Grant == "" && a.l.opt.RequireGrants && !d.copy && d.Checkpoint.kind() != KindFork {
			return NeedsGrant(s.Name)
		}
		if n := len(s.Value.Data); n > a.l.opt.MaxState {
			return tooLarge("step "+s.Name, n, a.l.opt.MaxState)
		}
		rec := a.add(Record{Kind: RecordStep, Step: &StepInfo{
			Task: s.Task, Name: s.Name, Occurrence: s.Occurrence, Branch: d.Branch, Codec: s.Value.Codec, Effect: s.Effect, Grant: s.Grant, Loose: s.loose,
		}}, slices.Clone(s.Value.Data))
		if d.Checkpoint == nil && len(s.Value.Data) >= minRef {
			a.recents = append(a.recents, recent{a.seq, rec, a.bodies[rec]})
		}
	}
	if len(a.recents) > 0 {
		_, err := a.l.headOf(a.ctx, a.t, d.Branch)
		return err
	}
	return nil
}

func tooLarge(field string, have, limit int) *Error {
	return &Error{
		Code: CodeTooLarge, Field: field, Message: "has " + itoa(have) + " bytes; the limit is " + itoa(limit),
		Hint: "keep large values elsewhere and store a reference, or raise Options.MaxState (posthouse serve --max-state)",
	}
}

// supersede cancels the branch's open gates that a new checkpoint leaves behind,
// but for those whose answers it brings. It returns those of threads that nobody
// will come back to.
func (a *appending) supersede(d *Draft) (left []ID) {
	c := d.Checkpoint
	leaves := d.Release != nil || c.Kind == KindInput || c.Kind == KindSave || c.Kind == KindUpdate && !c.SameStep
	for _, w := range a.t.info.Waiting {
		successor := a.successor(d, &w)
		switch {
		case w.Branch != d.Branch:
		case successor != "":
			a.decision(&Decision{
				Gate: w.ID, Verdict: Cancel, By: byLedger, Reason: superseded, At: a.at.UTC(), Trail: w.Trail, Successor: successor,
			}, w.Seq)
		case !slices.Contains(d.Withdraw, w.ID) && (d.KeepOpen || slices.Contains(d.Keep, w.ID)):
		case d.answers[w.ID] != nil:
			dec := *d.answers[w.ID]
			dec.Gate, dec.Shown, dec.Signal, dec.Trail = w.ID, Hash{}, 0, w.Trail
			a.decision(&dec, w.Seq)
		default:
			if leaves && w.Kind == GateThread {
				left = append(left, w.ID)
			}
			a.decision(&Decision{
				Gate: w.ID, Verdict: Cancel, By: byLedger, Reason: "the branch went on without it", At: a.at.UTC(), Trail: w.Trail,
			}, w.Seq)
		}
	}
	return left
}

// successor returns the id of the draft's gate that asks in place of an open one,
// "" if none does.
func (a *appending) successor(d *Draft, w *WaitingGate) ID {
	for i := range d.Gates {
		g := &d.Gates[i]
		if g.Supersedes != w.ID {
			continue
		}
		id := g.ID
		if id == "" {
			id = gatePrefix + a.l.NewID()
		}
		if a.successors == nil {
			a.successors = map[ID]ID{}
		}
		a.successors[w.ID] = id
		return id
	}
	return ""
}

// anyAnswered reports whether a gate that the draft opens has its signal already,
// or one that it keeps was decided since the caller looked: its branch is then
// ready, or nobody would be told.
func (a *appending) anyAnswered(d *Draft) (bool, error) {
	if len(a.answered) > 0 {
		return true, nil
	}
	for _, id := range d.Keep {
		if slices.ContainsFunc(a.t.info.Waiting, func(w WaitingGate) bool { return w.ID == id }) {
			continue
		}
		g, err := a.l.Gate(a.ctx, id)
		if err == nil && g.Decision != nil {
			return true, nil
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}

func (a *appending) decision(d *Decision, gateSeq uint64) {
	d.Seq = a.seq
	body, err := json.Marshal(d)
	if err != nil {
		panic("posthouse: a decision does not encode: " + err.Error()) // its JSON was validated
	}
	a.add(Record{Kind: RecordDecision, Decision: &DecideInfo{
		Gate: d.Gate, GateSeq: gateSeq, Verdict: d.Verdict, By: d.By,
	}}, body)
	a.ids = append(a.ids, IndexedID{ID: d.Gate, Replace: true})
	a.sign = true
}

func (a *appending) gate(d *Draft, g Gate) (Gate, error) {
	if g.Name == "" || len(g.Name) > maxTask || len(g.Task) > maxTask || !validText(g.Name) {
		return g, invalid("gate", "name %.40q must be 1 to %d bytes of text, its task at most %d", g.Name, maxTask, maxTask)
	}
	check := checkStrict
	if g.kept || d.copy {
		check = checkJSON
	}
	for _, j := range []struct {
		field string
		data  []byte
	}{{"payload", g.Payload}, {"schema", g.Schema}} {
		if len(j.data) > 0 {
			if err := check(j.field, j.data); err != nil {
				return g, err
			}
		}
	}
	for _, v := range g.Verdicts {
		if !slices.Contains(defaultVerdicts, v) {
			return g, invalid("verdicts", "%q is not one of approve, reject, edit, respond", v)
		}
	}
	if g.ID == "" {
		g.ID = gatePrefix + a.l.NewID()
	} else if err := g.ID.Validate(); err != nil {
		return g, err
	}
	if g.Kind == "" {
		g.Kind = GateApproval
	}
	if g.ExpiresAt.UnixMilli() > maxMillis {
		return g, invalid("expiresAt", "of gate %.40q is beyond the year 9999", g.Name)
	}
	if err := g.validateKind(); err != nil {
		return g, err
	}
	if err := g.checkPeople(); err != nil {
		return g, err
	}
	if err := g.validateBound(); err != nil {
		return g, err
	}
	g.Thread, g.Branch, g.CreatedAt = d.Thread, d.Branch, toMillis(a.at)
	if a.next != nil {
		g.Checkpoint = a.next.ID
	} else if bh, ok := a.t.info.Branch(d.Branch); ok {
		g.Checkpoint = bh.Head
	}
	g.Hash, g.Seq, g.Decision, g.Votes, g.Assignments, g.trail = Hash{}, 0, nil, nil, nil, 0 // told by the log
	g.salt = nil
	if g.AsksPeople() {
		g.salt = make([]byte, saltSize)
		_, _ = rand.Read(g.salt) // never fails, see crypto/rand
	}
	if !g.ExpiresAt.IsZero() {
		g.ExpiresAt = toMillis(g.ExpiresAt) // as the header has it, or it would be due before it expired
	}
	escalateAt := g.settleRule()
	body, err := json.Marshal(gateBody{&g, g.followed, g.salt})
	if err != nil {
		return g, invalid("gate", "%q does not encode: %v", g.Name, err)
	}
	if len(body) > a.l.opt.MaxState {
		return g, tooLarge("gate", len(body), a.l.opt.MaxState)
	}
	a.add(Record{Kind: RecordGate, Gate: &GateInfo{
		ID: g.ID, Name: g.Name, Task: g.Task, Occurrence: g.Occurrence, Branch: d.Branch, ExpiresAt: g.ExpiresAt,
		Kind: g.Kind, Signal: g.Signal, Latch: g.Latch, EscalateAt: escalateAt, Content: g.digest(), Supersedes: g.Supersedes,
	}}, body)
	a.ids = append(a.ids, IndexedID{ID: g.ID})
	a.audience(&g)
	a.sign = true
	return g, nil
}
