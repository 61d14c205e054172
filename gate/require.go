package gate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/engine"
)

// DefaultTimeout is how long an approval waits in its session.
const DefaultTimeout = 300 * time.Second

// Approval says what a tool wrapped by [Require] asks for. Tool and Message are
// required.
type Approval struct {
	Tool      string              // its name, 1 to 150 bytes without control characters and '>'
	Message   string              // the question, for a person; at most 4,000 bytes
	Timeout   time.Duration       // until the answer is no; default [DefaultTimeout]
	Verdicts  []posthouse.Verdict // allowed answers; default all of [posthouse.GateVerdicts]
	Assignees []string            // who may answer; default: everybody in the session

	// Idempotent says that the tool may run again under the same answer: after it failed,
	// after a crash, at a retry of its node.
	Idempotent bool
}

const maxTool = 150

func (a *Approval) validate() error {
	if err := engine.CheckName("tool", a.Tool); err != nil {
		return err
	}
	switch {
	case len(a.Tool) > maxTool:
		return posthouse.Invalid("Tool", "is %d bytes long; the limit is %d", len(a.Tool), maxTool)
	case a.Message == "":
		return posthouse.Invalid("Message", "of the approval of tool %s is empty: say what is asked", a.Tool)
	case a.Timeout < 0:
		return posthouse.Invalid("Timeout", "is negative; 0 means %s", DefaultTimeout)
	}
	q := Question{Name: a.Tool, Text: a.Message, Verdicts: a.Verdicts, Assignees: a.Assignees}
	return q.validate()
}

// Require wraps a tool so that each call is approved before it runs. The
// [Session] in the context asks, on the same connection, within seconds. An
// answer may change the arguments (edit) or replace the tool's result (respond).
//
// The tool runs on its arguments as they were shown, read back from their JSON. A field that
// JSON does not carry does not reach it: one that has no name in JSON, is not exported, or that
// its type leaves out. A call that SessionOptions.Policy allows keeps its arguments.
//
// If the call is not approved the tool does not run. The error is
// [posthouse.ErrForbidden] if it is denied, the connection closes, or there is no
// session; [posthouse.ErrExpired] if no answer comes in time; [posthouse.ErrConflict]
// if the arguments were changed while they were looked at. Error.Decision says who
// denied and why. Errors of the tool itself are returned as they are.
//
// Below a node, flow or handler the answer is on record before the tool runs, as a
// step of [posthouse.EffectHuman]. When the task runs again, after a crash or as a retry of
// its node, the same call has its answer without asking again: the one with the same message and arguments
// in the name of the same principal. A denial always counts; any other answer if its
// verdict is still allowed and its value still fits. A missing answer is never recorded.
//
// There the tool runs once under an approval, unless it is Idempotent: that it begins is on
// record, too. A second run is asked for again, with what became of the first one, and is
// ErrForbidden without a session. If the tool said by [NotDone] that nothing happened, it may run
// again under the same answer. Put the call inside step.Do to record its result. An approval by
// SessionOptions.Policy needs no second one.
func Require[In, Out any](tool func(context.Context, In) (Out, error), a Approval) func(context.Context, In) (Out, error) {
	a.Verdicts, a.Assignees = slices.Clone(a.Verdicts), slices.Clone(a.Assignees)
	a.Timeout = cmp.Or(a.Timeout, DefaultTimeout)
	schema, undescribed := schemaOf(reflect.TypeFor[In]())
	if undescribed != nil && len(a.Verdicts) == 0 {
		a.Verdicts = []posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Respond}
	}
	r := &required[In, Out]{tool, a, schema}
	return r.call
}

type required[In, Out any] struct {
	tool     func(context.Context, In) (Out, error)
	approval Approval
	schema   json.RawMessage // of In
}

func (r *required[In, Out]) call(ctx context.Context, in In) (out Out, err error) {
	a := &r.approval
	if err := a.validate(); err != nil {
		return out, err
	}
	arguments, err := posthouse.JSON.Marshal(in)
	if err != nil {
		return out, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "arguments", Message: "of tool " + a.Tool + " do not encode", Err: err}
	}
	g := &posthouse.Gate{
		Name: a.Tool, Kind: posthouse.GateSession, Text: a.Message, Payload: arguments, Schema: r.schema,
		Verdicts: a.Verdicts, Assignees: a.Assignees, RequestedBy: engine.Principal(ctx), AllowRequest: true,
	}
	s, _ := ctx.Value(sessionKey{}).(*Session)
	if s != nil && s.opt.By != "" {
		g.RequestedBy = s.opt.By
	}
	how := s.handling(ctx, g)
	run := in // what the policy allows keeps its value
	if how != Allow && how != Deny {
		run, err = shownAs[In](a.Tool, arguments)
		if err != nil {
			return out, err
		}
	}
	d, once, err := s.approval(ctx, g, how, a, r.check)
	if err != nil {
		return out, err
	}
	switch d.Verdict {
	case posthouse.Approve:
		if now, err := posthouse.JSON.Marshal(in); err != nil || !bytes.Equal(now, arguments) {
			return out, &posthouse.Error{
				Code: posthouse.CodeConflict, Field: "arguments", Decision: d, Err: err, Message: "of tool " + a.Tool + " have changed since they were shown",
				Hint: "the tool did not run; do not share what is passed to a call that waits for its approval",
			}
		}
		return r.run(ctx, once, run)
	case posthouse.Edit:
		changed, err := read[In](d.Value, true)
		if err != nil {
			return out, unfit(g, d, err)
		}
		return r.run(ctx, once, changed)
	case posthouse.Respond:
		if err := decodeAnswer(d.Value, &out); err != nil {
			var none Out
			return none, unfit(g, d, err)
		}
		return out, nil
	}
	return out, denied(g, d)
}

// run puts on record that the tool begins and runs it, if the run around it still has its
// thread: the answer may have taken long. An error of the tool is on record, too.
func (r *required[In, Out]) run(ctx context.Context, once *toolRun, in In) (out Out, err error) {
	if once != nil {
		if err := once.begin(ctx); err != nil {
			return out, err
		}
	}
	if task, ok := engine.From(ctx); ok {
		if err := task.Session().Lease().Confirm(ctx); err != nil {
			return out, err
		}
	}
	if once == nil {
		return r.tool(effect.Traced(ctx), in)
	}
	err = engine.Guard(func() (err error) {
		out, err = r.tool(effect.Traced(ctx), in)
		return err
	})
	return out, once.ended(ctx, err)
}

// check refuses values that the tool could not take or return.
func (r *required[In, Out]) check(d *posthouse.Decision) error {
	wrong := func(err error) error {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "value", Message: "does not fit tool " + r.approval.Tool, Err: err}
	}
	if len(d.Value) > 0 {
		if err := posthouse.CheckStrict("value", d.Value); err != nil {
			return err
		}
	}
	switch {
	case !d.Verdict.TakesValue():
		if len(d.Value) > 0 {
			return posthouse.Invalid("value", "goes with %s, not with %s", posthouse.JoinVerdicts(posthouse.ValueVerdicts(), " or "), d.Verdict)
		}
	case len(d.Value) == 0:
		return posthouse.Invalid("value", "is required to %s", d.Verdict)
	case d.Verdict == posthouse.Respond:
		var out Out
		if err := decodeAnswer(d.Value, &out); err != nil {
			return wrong(err)
		}
	default:
		if len(r.schema) > 0 {
			if err := ValidateJSON(r.schema, d.Value); err != nil {
				return wrong(err)
			}
		}
		if _, err := read[In](d.Value, true); err != nil {
			return wrong(err)
		}
	}
	return nil
}

func decodeAnswer[Out any](value json.RawMessage, out *Out) error {
	if text, ok := any(out).(*string); ok && json.Unmarshal(value, text) != nil {
		*text = string(value) // an answer in words may look like JSON
		return nil
	}
	return posthouse.JSON.Unmarshal(value, out)
}

// approval returns the decision of a call: the policy's, the recorded one, or a new one by
// the session, which it records. Without a session only what is on record counts. once is the
// run that the decision licenses, nil if it licenses any number.
func (s *Session) approval(ctx context.Context, g *posthouse.Gate, how Handling, a *Approval, check func(*posthouse.Decision) error) (d *posthouse.Decision, once *toolRun, err error) {
	decide := func(ctx context.Context) (*posthouse.Decision, error) {
		switch {
		case s == nil:
			return nil, unattended(g.Name)
		case how == Allow:
			return &posthouse.Decision{Verdict: posthouse.Approve, By: "policy:allow", At: s.opt.Now().UTC()}, nil
		}
		return s.ask(ctx, g, a.Timeout, check)
	}
	if how == Deny {
		return &posthouse.Decision{Verdict: posthouse.Reject, By: "policy:deny"}, nil, nil
	}
	task, ok := engine.From(ctx)
	if !ok {
		d, err = decide(ctx)
		return d, nil, err
	}
	for n := uint32(0); ; n++ {
		on, fresh, err := s.recorded(ctx, task, g, n, how, decide)
		switch {
		case errors.Is(err, errUnheard):
			return on.Decision, nil, nil
		case err != nil:
			return nil, nil, err
		case !fresh && !counts(g, on.Decision, check):
			continue
		}
		if how != AskFirst || a.Idempotent || !licenses(on.Decision) {
			return on.Decision, nil, nil
		}
		once := &toolRun{task: task, tool: g.Name, n: n, key: callKey(g, how)}
		open, note, err := once.open(ctx)
		if err != nil || open {
			return on.Decision, once, err
		}
		g.Note = clip(note + ", under the approval by " + on.Decision.By)
	}
}

// licenses reports whether a decision has the tool run.
func licenses(d *posthouse.Decision) bool {
	return d.Verdict.IsYes()
}

// recorded returns the n-th answer to a call, from the record or fresh. It records a fresh
// one. errUnheard means that no answer came, which is not recorded.
func (s *Session) recorded(ctx context.Context, task *engine.Task, g *posthouse.Gate, n uint32, how Handling, decide func(context.Context) (*posthouse.Decision, error)) (on posthouse.Gate, fresh bool, err error) {
	group, key := "approval:"+g.Name, callKey(g, how)
	// Earlier versions recorded the answer under the payload alone.
	if before := keyOf(g, how, g.Payload); n == 0 && sameCall(ctx, task, group, before, g) {
		key = before
	}
	v, err := task.Records().Decided(ctx, group, n, key, posthouse.EffectHuman, func(ctx context.Context) (posthouse.Value, error) {
		d, err := decide(ctx)
		if err != nil {
			return posthouse.Value{}, err
		}
		on, fresh = *g, true
		on.Decision = d
		if d.Verdict == posthouse.Expire || d.Verdict == posthouse.Cancel {
			return posthouse.Value{}, errUnheard
		}
		return posthouse.Encode(nil, on)
	})
	if err != nil || fresh {
		return on, fresh, err
	}
	on, err = posthouse.Decode[posthouse.Gate](v)
	if err != nil {
		return on, false, err
	}
	if on.Decision == nil || on.RequestedBy != g.RequestedBy || on.Content() != g.Content() {
		return on, false, posthouse.Invalid("approval", "of tool %s on record is somebody else's", g.Name)
	}
	return on, false, nil
}

// counts reports whether an answer on record holds for the call as it is now. A denial is
// final.
func counts(g *posthouse.Gate, d *posthouse.Decision, check func(*posthouse.Decision) error) bool {
	return d.Verdict == posthouse.Reject || g.Allows(d.Verdict) && check(d) == nil
}

var errUnheard = errors.New("gate: nobody answered")

// callKey tells the approvals of a tool's calls apart. It covers what is shown,
// the principal, and whether a person or the policy approves.
func callKey(g *posthouse.Gate, how Handling) string {
	content := g.Content()
	return keyOf(g, how, content[:])
}

func keyOf(g *posthouse.Gate, how Handling, shown []byte) string {
	principal := sha256.Sum256([]byte(g.RequestedBy))
	h := sha256.New()
	h.Write([]byte{byte(how)})
	h.Write(principal[:])
	h.Write(shown)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// sameCall reports whether the answer on record under a key is to what the call shows now.
func sameCall(ctx context.Context, task *engine.Task, group, key string, g *posthouse.Gate) bool {
	v, ok := task.Records().Earlier(ctx, group, 0, key)
	if !ok {
		return false
	}
	on, err := posthouse.Decode[posthouse.Gate](v)
	return err == nil && on.Content() == g.Content()
}

func denied(g *posthouse.Gate, d *posthouse.Decision) error {
	e := &posthouse.Error{Code: posthouse.CodeForbidden, Decision: d, Message: "the call of tool " + g.Name + " was denied by " + d.By}
	switch d.Verdict {
	case posthouse.Expire:
		e.Code, e.Message = posthouse.CodeExpired, "the call of tool "+g.Name+" was not approved: "+d.Reason
	case posthouse.Cancel:
		e.Message = "the call of tool " + g.Name + " was not approved: " + d.Reason
	default:
		if d.Reason != "" {
			e.Message += ": " + d.Reason
		}
	}
	e.Hint = "the tool did not run"
	return e
}

// unfit is the error of an answer on record that the tool does not take any more.
func unfit(g *posthouse.Gate, d *posthouse.Decision, err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Decision: d, Err: err, Message: "the answer to the approval of tool " + g.Name + " does not fit it any more",
		Hint: "the tool did not run; fork from before the call and ask again",
	}
}
