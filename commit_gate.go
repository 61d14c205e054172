package posthouse

import (
	"crypto/rand"
	"encoding/json"
	"slices"
)

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

func (a *appending) gate(d *Plan, g Gate) (Gate, error) {
	if g.Name == "" || len(g.Name) > maxTask || len(g.Task) > maxTask || !validText(g.Name) {
		return g, invalid("gate", "name %.40q must be 1 to %d bytes of text, its task at most %d", g.Name, maxTask, maxTask)
	}
	check := checkStrict
	if g.kept || d.Copy {
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
