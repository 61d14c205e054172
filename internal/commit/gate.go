package commit

import (
	"crypto/rand"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/core"
)

func validateKind(g *posthouse.Gate) error {
	if len(g.Kind) > posthouse.MaxID || !text.Valid(g.Kind) {
		return posthouse.Invalid("kind", "of gate %.40q must be at most %d bytes of text", g.Name, posthouse.MaxID)
	}
	if (g.Kind == posthouse.GateTimer || g.Kind == posthouse.GateThread) && g.ExpiresAt.IsZero() {
		return posthouse.Invalid("expiresAt", "of gate %.40q is required to wait for a %s", g.Name, g.Kind)
	}
	if g.Kind == posthouse.GateTask || g.Call != nil {
		if err := ValidateCall(g); err != nil {
			return err
		}
	}
	if g.Kind != posthouse.GateSignal {
		if g.Signal != "" || g.Latch {
			return posthouse.Invalid("signal", "goes with gates of kind signal, not with %.40q", g.Name)
		}
		return nil
	}
	s := posthouse.Signal{Name: g.Signal}
	return CheckSignal(&s)
}

// validateBound checks which questions the gate's answer serves.
func validateBound(g *posthouse.Gate) error {
	switch {
	case g.Bind != posthouse.ByContent && g.Bind != posthouse.ByName:
		return posthouse.Invalid("bind", "of gate %.40q is %.40q; it is empty or %q", g.Name, g.Bind, posthouse.ByName)
	case g.Uses < 0:
		return posthouse.Invalid("uses", "of gate %.40q is negative", g.Name)
	case g.ValidFor < 0:
		return posthouse.Invalid("validFor", "of gate %.40q is negative; 0 means without end", g.Name)
	case g.Bind == posthouse.ByName && g.Uses > 0:
		return posthouse.Invalid("bind", "of gate %.40q is by name, and such an answer licenses no effect", g.Name)
	case len(g.Note) > posthouse.MaxText || !text.IsUTF8(g.Note):
		return posthouse.Invalid("note", "of gate %.40q must be at most %d bytes of text", g.Name, posthouse.MaxText)
	case g.Supersedes != "" && g.Supersedes.Validate() != nil:
		return posthouse.Invalid("supersedes", "of gate %.40q must be the id of a gate", g.Name)
	case len(g.Instance) > posthouse.MaxID || !text.Valid(g.Instance):
		return posthouse.Invalid("instance", "of gate %.40q must be at most %d bytes of text", g.Name, posthouse.MaxID)
	}
	return nil
}

// superseded is the reason on a gate that another one replaces.
const superseded = "asked again: what is asked has changed"

// AddDecision adds the decision of a gate with its record in entry gateSeq.
func AddDecision(tx *core.Tx, d *posthouse.Decision, gateSeq uint64) {
	d.Seq = tx.Seq
	tx.Add(posthouse.Record{Kind: posthouse.RecordDecision, Decision: &posthouse.DecideInfo{
		Gate: d.Gate, GateSeq: gateSeq, Verdict: d.Verdict, By: d.By,
	}}, mustEncode(d))
	tx.IDs = append(tx.IDs, posthouse.IndexedID{ID: d.Gate, Replace: true})
	tx.Sign = true
}

// ValidateGate checks a gate to be opened, except its id. A gate kept elsewhere may have
// JSON that readers take differently.
func ValidateGate(g *posthouse.Gate, kept bool) error {
	if g.Name == "" || len(g.Name) > posthouse.MaxTask || len(g.Task) > posthouse.MaxTask || !text.Valid(g.Name) {
		return posthouse.Invalid("gate", "name %.40q must be 1 to %d bytes of text, its task at most %d", g.Name, posthouse.MaxTask, posthouse.MaxTask)
	}
	check := posthouse.CheckStrict
	if kept {
		check = posthouse.CheckJSON
	}
	for _, j := range []struct {
		field string
		data  []byte
	}{{"payload", g.Payload}, {"schema", g.Schema}, {"payloadSchema", g.PayloadSchema}} {
		if len(j.data) > 0 {
			if err := check(j.field, j.data); err != nil {
				return err
			}
		}
	}
	for _, v := range g.Verdicts {
		switch {
		case v.Info().Settle && !g.Record.Settles:
			return posthouse.Invalid("verdicts", "of gate %.40q has %s, which only the runtime allows, where it asks about an unknown outcome", g.Name, v)
		case v.Info().Settle != g.Record.Settles, !v.Info().Settle && !posthouse.KnownVerdict(v):
			return posthouse.Invalid("verdicts", "%q is not one of %s", v, posthouse.JoinVerdicts(posthouse.GateVerdicts(), ", "))
		}
	}
	if g.Record.Settles && (g.Kind != posthouse.GateOutcome || len(g.Verdicts) == 0) {
		return posthouse.Invalid("verdicts", "of gate %.40q of kind %s are those of an unknown outcome", g.Name, g.Kind)
	}
	if g.ExpiresAt.UnixMilli() > posthouse.MaxMillis {
		return posthouse.Invalid("expiresAt", "of gate %.40q is beyond the year 9999", g.Name)
	}
	if err := validateKind(g); err != nil {
		return err
	}
	if err := deciders.Check(g); err != nil {
		return err
	}
	if err := validateReminders(g); err != nil {
		return err
	}
	return validateBound(g)
}

// validateReminders checks when a gate reminds people.
func validateReminders(g *posthouse.Gate) error {
	switch n := len(g.Remind); {
	case n == 0:
		return nil
	case n > posthouse.MaxReminders:
		return posthouse.Invalid("remind", "of gate %.40q has %d times; the limit is %d", g.Name, n, posthouse.MaxReminders)
	case !posthouse.InInbox(g.Kind):
		return posthouse.Invalid("remind", "of gate %.40q reminds people, and it waits for a %s", g.Name, g.Kind)
	}
	for i, at := range g.Remind {
		switch {
		case at.IsZero() || at.UnixMilli() > posthouse.MaxMillis:
			return posthouse.Invalid("remind", "of gate %.40q must have times up to the year 9999", g.Name)
		case i > 0 && !at.After(g.Remind[i-1]):
			return posthouse.Invalid("remind", "of gate %.40q must ascend, without a time twice", g.Name)
		case !g.ExpiresAt.IsZero() && !at.Before(g.ExpiresAt):
			return posthouse.Invalid("remind", "of gate %.40q has %s, and the gate expires at %s", g.Name, at.Format(time.RFC3339), g.ExpiresAt.Format(time.RFC3339))
		}
	}
	return nil
}

// AddGate checks a gate, completes it and adds its record.
func AddGate(tx *core.Tx, p *Plan, g posthouse.Gate) (posthouse.Gate, error) {
	if g.ID == "" {
		g.ID = posthouse.GatePrefix + tx.Core.NewID()
	} else if err := g.ID.Validate(); err != nil {
		return g, err
	}
	if g.Kind == "" {
		g.Kind = posthouse.GateApproval
	}
	setCallDefaults(tx, &g)
	if err := ValidateGate(&g, g.Record.Kept || p.Copy); err != nil {
		return g, err
	}
	g.Thread, g.Branch, g.CreatedAt = p.Thread, p.Branch, posthouse.ToMillis(tx.At)
	if err := addRequesters(tx, p, &g); err != nil {
		return g, err
	}
	if tx.Next != nil {
		g.Checkpoint = tx.Next.ID
	} else if bh, ok := tx.Thread.Info.Branch(p.Branch); ok {
		g.Checkpoint = bh.Head
	}
	g.Hash, g.Seq, g.Decision, g.Votes, g.Assignments, g.Notices, g.Record.Trail = posthouse.Hash{}, 0, nil, nil, nil, nil, 0 // the log provides these
	g.Record.Salt = nil
	if g.AsksPeople() {
		g.Record.Salt = make([]byte, posthouse.SaltSize)
		_, _ = rand.Read(g.Record.Salt) // never fails, see crypto/rand
	}
	if !g.ExpiresAt.IsZero() {
		g.ExpiresAt = posthouse.ToMillis(g.ExpiresAt) // rounded as in the header, or it would be due before it expired
	}
	escalateAt := setRuleDefaults(&g)
	body, err := posthouse.EncodeGate(&g)
	if err != nil {
		return g, posthouse.Invalid("gate", "%q does not encode: %v", g.Name, err)
	}
	if len(body) > tx.Core.Config.MaxState {
		return g, posthouse.OverMaxState("gate", len(body), tx.Core.Config.MaxState)
	}
	tx.Add(posthouse.Record{Kind: posthouse.RecordGate, Gate: &posthouse.GateInfo{
		ID: g.ID, Name: g.Name, Task: g.Task, Occurrence: g.Occurrence, Branch: p.Branch, ExpiresAt: g.ExpiresAt,
		Kind: g.Kind, Signal: g.Signal, Latch: g.Latch, EscalateAt: escalateAt, Content: g.Digest(), Supersedes: g.Supersedes,
		RemindAt: nextReminder(&g, tx.At), Settles: g.Record.Settles,
	}}, body)
	tx.IDs = append(tx.IDs, posthouse.IndexedID{ID: g.ID})
	AddAudience(tx, &g)
	tx.Sign = true
	g.Record.Signed = tx.Core.Config.Signer != nil
	g.Record.AnswerSigned = g.Record.Signed
	return g, nil
}

// AddAudience records who may decide a gate, after the gate's record.
func AddAudience(tx *core.Tx, g *posthouse.Gate) {
	if len(g.Assignees) == 0 || !posthouse.InInbox(g.Kind) {
		return
	}
	info := &posthouse.AudienceInfo{Gate: g.ID}
	if tx.Seals() {
		if w := tx.Thread.Info.WaitingFor(g.ID); w == nil || w.Audience == nil {
			return
		}
		info.Anyone = true // it was marked before the thread was sealed
	} else {
		for _, d := range deciders.Of(g, tx.At) {
			if deciders.OpenTo(g, d.Name, tx.At) {
				info.Marks = append(info.Marks, posthouse.PersonMark(d.Name), posthouse.PersonMark(text.FoldPerson(d.Name)))
			}
		}
		slices.Sort(info.Marks)
		info.Marks = slices.Compact(info.Marks)
	}
	tx.Add(posthouse.Record{Kind: posthouse.RecordAudience, Audience: info}, nil)
}

// setRuleDefaults fills in defaults of a new gate's rule, and returns when the gate
// escalates.
func setRuleDefaults(g *posthouse.Gate) (escalateAt time.Time) {
	if g.Quorum != nil && len(g.Verdicts) == 0 {
		g.Verdicts = posthouse.VoteVerdicts()
	}
	g.Remind = slices.Clone(g.Remind)
	for i, at := range g.Remind {
		g.Remind[i] = posthouse.ToMillis(at)
	}
	if g.Escalation != nil {
		e := *g.Escalation
		e.At, g.Escalation = posthouse.ToMillis(e.At), &e
		escalateAt = e.At
	}
	return escalateAt
}
