package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// DefaultThreshold is the confidence from which a judgement stands.
const DefaultThreshold = 0.7

// Auto decides a question without a person where it can. Other questions go to people,
// and stay with them. Each automatic decision is on record before Ask returns it, as a
// gate that was decided when it was opened, by "policy:accept", "policy:reject",
// "policy:judge" or "policy:timeout". A judge's verdict on a content is on record too,
// below "policy:<question>".
//
// At most one of Accept, Reject and Judge. They do not go with a quorum.
type Auto struct {
	Accept bool   // approve
	Reject string // reject, for this reason

	// Judge decides if it is sure enough. It is asked once: what it says is recorded. An
	// error, a panic, or less confidence than Threshold leaves the question to people,
	// and the gate's Note says what the judge said.
	Judge     func(ctx context.Context, g *posthouse.Gate) (Judgement, error)
	Threshold float64 // above 0, at most 1; default [DefaultThreshold]

	// Guards check each automatic approval before it counts. After an error the question
	// goes to people, with the error in its Note; after the deadline it is rejected.
	Guards    []func(ctx context.Context, g *posthouse.Gate, d *posthouse.Decision) error
	Unguarded bool // approve without asking the guards

	OnTimeout Timeout // what a deadline that passed means
}

// A Judgement is what a judge says: approve or reject, and how sure it is.
type Judgement struct {
	Verdict    posthouse.Verdict `json:"verdict"`
	Confidence float64           `json:"confidence"` // 0 to 1
	Reason     string            `json:"reason,omitempty"`
}

// A Timeout says what a passed deadline means.
type Timeout string

// The meanings.
const (
	TimeoutAnswer Timeout = ""       // the answer's verdict is expire
	TimeoutAccept Timeout = "accept" // the answer is approve, by policy:timeout
	TimeoutReject Timeout = "reject" // the answer is reject, by policy:timeout
	TimeoutError  Timeout = "error"  // Ask fails with [posthouse.ErrExpired]
)

func (a *Auto) validate(several bool) error {
	if a == nil {
		return nil
	}
	n := 0
	for _, set := range []bool{a.Accept, a.Reject != "", a.Judge != nil} {
		if set {
			n++
		}
	}
	switch {
	case n > 1:
		return posthouse.Invalid("Auto", "has more than one of Accept, Reject and Judge")
	case several && (n > 0 || a.OnTimeout == TimeoutAccept):
		return posthouse.Invalid("Auto", "cannot take the place of several people")
	case len(a.Reject) > maxText:
		return posthouse.Invalid("Auto.Reject", "must be at most %d bytes", maxText)
	case !(a.Threshold >= 0 && a.Threshold <= 1): // not a number included
		return posthouse.Invalid("Auto.Threshold", "is %v; it must be from 0 to 1", a.Threshold)
	}
	switch a.OnTimeout {
	case TimeoutAnswer, TimeoutAccept, TimeoutReject, TimeoutError:
		return nil
	}
	return posthouse.Invalid("Auto.OnTimeout", "%.40q is not one of accept, reject, error or empty", a.OnTimeout)
}

// An outcome is the record of what a judge said. Earlier versions also recorded automatic
// decisions as outcomes.
type outcome struct {
	Gate      posthouse.Gate `json:"gate"` // with its decision, if there is one
	Judgement *Judgement     `json:"judgement,omitempty"`
	Note      string         `json:"note,omitempty"` // why people are asked
}

// decide returns the question with its automatic decision. It returns nil if the question
// is for people, and its note then says why.
func (a *Auto) decide(ctx context.Context, task *engine.Task, number uint32, g *posthouse.Gate) (*posthouse.Gate, error) {
	if a == nil {
		return nil, nil
	}
	number = groupOf(ctx, task, number, g)
	if decided, done, err := earlier(ctx, task, number, g); done || err != nil {
		return decided, err
	}
	d, note, err := a.proposed(ctx, task, number, g)
	if err != nil || d == nil {
		g.Note = note
		return nil, err
	}
	if err := a.guard(ctx, g, d); err != nil {
		g.Note = clip("a guard stopped the approval by " + d.By + ": " + err.Error())
		return nil, ctx.Err()
	}
	on := *g
	on.Decision = d
	return task.Gates().RecordDecided(ctx, on, nil)
}

// groupOf returns the number of the group of records about the content that g shows.
func groupOf(ctx context.Context, task *engine.Task, number uint32, g *posthouse.Gate) uint32 {
	content := g.Content()
	return task.Records().Group(ctx, posthouse.PolicyPrefix+g.Name, number, func(v posthouse.Value) bool {
		var o outcome
		return json.Unmarshal(v.Data, &o) == nil && o.Gate.Content() == content
	})
}

// earlier returns an automatic decision that an earlier version recorded. Done with no
// decision means that a guard left the question to people.
func earlier(ctx context.Context, task *engine.Task, number uint32, g *posthouse.Gate) (decided *posthouse.Gate, done bool, err error) {
	v, ok := task.Records().Earlier(ctx, posthouse.PolicyPrefix+g.Name, number, "decision")
	if !ok {
		return nil, false, nil
	}
	o, err := decodeOutcome(g.Name, v)
	if err != nil {
		return nil, true, err
	}
	if o.Gate.Decision == nil {
		g.Note = o.Note
		return nil, true, nil
	}
	if g.Uses > 0 || task.Session().Ledger().Core().Rules.CheckReuse(g, &o.Gate) != nil {
		return nil, false, nil // it licensed nothing
	}
	return &o.Gate, true, nil
}

// proposed returns the decision before the guards. If there is no decision, note says
// why.
func (a *Auto) proposed(ctx context.Context, task *engine.Task, number uint32, g *posthouse.Gate) (d *posthouse.Decision, note string, err error) {
	switch {
	case a.Accept:
		return &posthouse.Decision{Verdict: posthouse.Approve, By: "policy:accept"}, "", nil
	case a.Reject != "":
		return &posthouse.Decision{Verdict: posthouse.Reject, By: "policy:reject", Reason: clip(a.Reject)}, "", nil
	case a.Judge == nil:
		return nil, "", nil
	}
	v, err := task.Records().Decided(ctx, posthouse.PolicyPrefix+g.Name, number, "judge", posthouse.EffectRead, func(ctx context.Context) (v posthouse.Value, err error) {
		o, err := a.askJudge(ctx, g)
		if err != nil {
			return v, err
		}
		return posthouse.Encode(nil, o)
	})
	if err != nil {
		return nil, "", err
	}
	said, err := decodeOutcome(g.Name, v)
	if err != nil {
		return nil, "", err
	}
	j, threshold := said.Judgement, cmp.Or(a.Threshold, DefaultThreshold)
	switch {
	case j == nil:
		return nil, said.Note, nil
	case j.Confidence < threshold:
		return nil, fmt.Sprintf("the judge would %s, with a confidence of %.2f: %s", j.Verdict, j.Confidence, j.Reason), nil
	}
	return &posthouse.Decision{Verdict: j.Verdict, By: "policy:judge", Reason: j.Reason}, "", nil
}

// askJudge asks the judge. Its errors are recorded as an outcome, except where the run ends.
func (a *Auto) askJudge(ctx context.Context, g *posthouse.Gate) (*outcome, error) {
	var j Judgement
	err := engine.Guard(func() (err error) {
		j, err = a.Judge(ctx, g.Clone())
		return err
	})
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, posthouse.ErrWaiting)):
		return nil, err
	case err == nil && j.Verdict != posthouse.Approve && j.Verdict != posthouse.Reject:
		err = fmt.Errorf("the verdict %.40q is neither approve nor reject", j.Verdict)
	case err == nil && !(j.Confidence >= 0 && j.Confidence <= 1):
		err = fmt.Errorf("the confidence %v is not from 0 to 1", j.Confidence)
	}
	if err != nil {
		return &outcome{Gate: *g, Note: clip("the judge failed: " + err.Error())}, nil
	}
	j.Reason = clip(j.Reason)
	return &outcome{Gate: *g, Judgement: &j}, nil
}

// guard returns why an automatic approval must not count.
func (a *Auto) guard(ctx context.Context, g *posthouse.Gate, d *posthouse.Decision) error {
	if a.Unguarded || d.Verdict != posthouse.Approve {
		return nil
	}
	for _, guard := range a.Guards {
		if err := engine.Guard(func() error { return guard(ctx, g.Clone(), d.Clone()) }); err != nil {
			return err
		}
	}
	return nil
}

// late returns the answer of a question after its deadline.
func (a *Auto) late(ctx context.Context, task *engine.Task, asked posthouse.Gate, g *posthouse.Gate) (*posthouse.Gate, error) {
	if a == nil || a.OnTimeout == TimeoutAnswer {
		return g, nil
	}
	if a.OnTimeout == TimeoutError {
		return nil, &posthouse.Error{
			Code: posthouse.CodeExpired, Decision: g.Decision, Message: "nobody decided question " + g.Name + " in time", Hint: "ask it again (posthouse ask-again " + string(g.ID) + ")",
		}
	}
	if v, ok := task.Records().Earlier(ctx, posthouse.PolicyPrefix+asked.Name, g.Occurrence, "timeout"); ok && !g.Digested() { // of an earlier version
		o, err := decodeOutcome(asked.Name, v)
		if err != nil {
			return nil, err
		}
		return &o.Gate, nil
	}
	d := &posthouse.Decision{Verdict: posthouse.Reject, By: "policy:timeout", Reason: g.Decision.Reason}
	if a.OnTimeout == TimeoutAccept {
		d.Verdict = posthouse.Approve
		if err := a.guard(ctx, g, d); err != nil {
			d.Verdict, d.Reason = posthouse.Reject, clip("a guard stopped the approval: "+err.Error())
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	asked.Decision, asked.ExpiresAt, asked.Escalation, asked.Remind = d, time.Time{}, nil, nil
	return task.Gates().RecordDecided(ctx, asked, g)
}

// decodeOutcome reads what is on record of a policy's decision about a question.
func decodeOutcome(question string, v posthouse.Value) (*outcome, error) {
	o := &outcome{}
	if err := json.Unmarshal(v.Data, o); err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeCorrupt, Message: "what policy:" + question + " decided does not decode", Err: err}
	}
	return o, nil
}

// afterPeople is the policy for a question that people have answered once: the meaning of
// a passed deadline, and the guards.
func (a *Auto) afterPeople() *Auto {
	if a == nil {
		return nil
	}
	return &Auto{OnTimeout: a.OnTimeout, Guards: a.Guards, Unguarded: a.Unguarded}
}
