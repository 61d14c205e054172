package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// DefaultThreshold is the confidence from which a judgement stands.
const DefaultThreshold = 0.7

// Auto decides a question without a person, where it can; otherwise the question
// is put as it would be without. Each automatic decision is on record before Ask
// returns it: a step below "policy:<question>" that holds the question and its
// decision, by "policy:accept", "policy:reject", "policy:judge" or
// "policy:timeout". Once a question is with people, it stays with them.
//
// At most one of Accept, Reject and Judge. None of them goes with a quorum.
type Auto struct {
	Accept bool   // approve
	Reject string // reject, for this reason

	// Judge decides if it is sure enough. What it says is recorded, so that it is
	// asked once; an error, a panic, and less confidence than Threshold leave the
	// question to people, who are told what it said.
	Judge     func(ctx context.Context, g *posthouse.Gate) (Judgement, error)
	Threshold float64 // above 0, at most 1; default [DefaultThreshold]

	// Guards look at each automatic approval before it counts. An error makes it a
	// question for people, who are told the error; after the deadline, a no.
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

// A Timeout says what it means that nobody decided in time.
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
		return invalid("Auto", "has more than one of Accept, Reject and Judge")
	case several && (n > 0 || a.OnTimeout == TimeoutAccept):
		return invalid("Auto", "cannot take the place of several people")
	case len(a.Reject) > maxText:
		return invalid("Auto.Reject", "must be at most %d bytes", maxText)
	case !(a.Threshold >= 0 && a.Threshold <= 1): // not a number included
		return invalid("Auto.Threshold", "is %v; it must be from 0 to 1", a.Threshold)
	}
	switch a.OnTimeout {
	case TimeoutAnswer, TimeoutAccept, TimeoutReject, TimeoutError:
		return nil
	}
	return invalid("Auto.OnTimeout", "%.40q is not one of accept, reject, error or empty", a.OnTimeout)
}

// An outcome is what is on record of an automatic decision, or of the attempt.
type outcome struct {
	Gate      posthouse.Gate `json:"gate"` // with its decision, if there is one
	Judgement *Judgement     `json:"judgement,omitempty"`
	Note      string         `json:"note,omitempty"` // why people are asked
}

// decide returns the question with its automatic decision, or nil if it is for
// people; then g's text says why.
func (a *Auto) decide(ctx context.Context, task *engine.Task, number uint32, g *posthouse.Gate) (*posthouse.Gate, error) {
	if a == nil {
		return nil, nil
	}
	d, note, err := a.proposed(ctx, task, number, g)
	if err != nil || d == nil {
		g.Text = explained(g.Text, note)
		return nil, err
	}
	o, err := recorded(ctx, task, number, g.Name, "decision", posthouse.EffectUnset, func(ctx context.Context) (*outcome, error) {
		d.At = task.Session().Ledger().Now().UTC()
		o := &outcome{Gate: *g}
		if err := a.guard(ctx, g, d); err != nil {
			o.Note = clip("a guard stopped the approval by " + d.By + ": " + err.Error())
			return o, ctx.Err()
		}
		o.Gate.Decision = d
		return o, nil
	})
	switch {
	case err != nil:
		return nil, err
	case o.Gate.Decision == nil:
		g.Text = explained(g.Text, o.Note)
		return nil, nil
	}
	return &o.Gate, nil
}

// proposed returns the decision before any guard has seen it, or none and why.
func (a *Auto) proposed(ctx context.Context, task *engine.Task, number uint32, g *posthouse.Gate) (d *posthouse.Decision, note string, err error) {
	switch {
	case a.Accept:
		return &posthouse.Decision{Verdict: posthouse.Approve, By: "policy:accept"}, "", nil
	case a.Reject != "":
		return &posthouse.Decision{Verdict: posthouse.Reject, By: "policy:reject", Reason: clip(a.Reject)}, "", nil
	case a.Judge == nil:
		return nil, "", nil
	}
	said, err := recorded(ctx, task, number, g.Name, "judge", posthouse.EffectExternal, func(ctx context.Context) (*outcome, error) {
		return a.judge(ctx, g)
	})
	if err != nil {
		return nil, "", err
	}
	j, threshold := said.Judgement, a.Threshold
	if threshold == 0 {
		threshold = DefaultThreshold
	}
	switch {
	case j == nil:
		return nil, said.Note, nil
	case j.Confidence < threshold:
		return nil, fmt.Sprintf("the judge would %s, with a confidence of %.2f: %s", j.Verdict, j.Confidence, j.Reason), nil
	}
	return &posthouse.Decision{Verdict: j.Verdict, By: "policy:judge", Reason: j.Reason}, "", nil
}

// judge asks the judge. Only a run that ends leaves no record of what it said.
func (a *Auto) judge(ctx context.Context, g *posthouse.Gate) (*outcome, error) {
	var j Judgement
	shown := *g
	err := engine.Guard(func() (err error) {
		j, err = a.Judge(ctx, &shown)
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
		shown, said := *g, *d
		if err := engine.Guard(func() error { return guard(ctx, &shown, &said) }); err != nil {
			return err
		}
	}
	return nil
}

// late returns what a question whose deadline passed comes to.
func (a *Auto) late(ctx context.Context, task *engine.Task, number uint32, g *posthouse.Gate) (*posthouse.Gate, error) {
	if a == nil || a.OnTimeout == TimeoutAnswer {
		return g, nil
	}
	if a.OnTimeout == TimeoutError {
		return nil, &posthouse.Error{
			Code: posthouse.CodeExpired, Decision: g.Decision, Message: "nobody decided question " + g.Name + " in time", Hint: "fork from before it to ask again",
		}
	}
	o, err := recorded(ctx, task, number, g.Name, "timeout", posthouse.EffectUnset, func(ctx context.Context) (*outcome, error) {
		d := &posthouse.Decision{Gate: g.ID, Verdict: posthouse.Reject, By: "policy:timeout", Reason: g.Decision.Reason, At: task.Session().Ledger().Now().UTC()}
		if a.OnTimeout == TimeoutAccept {
			d.Verdict = posthouse.Approve
			if err := a.guard(ctx, g, d); err != nil {
				d.Verdict, d.Reason = posthouse.Reject, clip("a guard stopped the approval: "+err.Error())
			}
		}
		on := *g
		on.Decision = d
		return &outcome{Gate: on}, ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return &o.Gate, nil
}

// recorded returns what fn says, or said when it was asked before.
func recorded(ctx context.Context, task *engine.Task, number uint32, question, what string, effect posthouse.Effect, fn func(context.Context) (*outcome, error)) (*outcome, error) {
	v, err := task.Decided(ctx, "policy:"+question, number, what, effect, func(ctx context.Context) (posthouse.Value, error) {
		o, err := fn(ctx)
		if err != nil {
			return posthouse.Value{}, err
		}
		return posthouse.Encode(nil, o)
	})
	if err != nil {
		return nil, err
	}
	o := &outcome{}
	if err := json.Unmarshal(v.Data, o); err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeCorrupt, Message: "what policy:" + question + " decided does not decode", Err: err}
	}
	return o, nil
}

// explained adds to a question why it is put.
func explained(text, note string) string {
	if note == "" {
		return text
	}
	if text != "" {
		text += "\n\n"
	}
	return clip(text + "(" + note + ")")
}
