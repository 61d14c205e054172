package task

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/backoff"
	"github.com/posthouse/posthouse/internal/base/strictjson"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/story"
)

// Bounds of the delay of [RetryAfter], to which it is clamped, and of [Pause].
const (
	MinRetry = 100 * time.Millisecond
	MaxRetry = time.Hour
	MinPause = time.Millisecond
	MaxPause = 100 * 365 * 24 * time.Hour
)

// A Verdict says how one execution of a task ended.
type Verdict struct {
	Action Action          `json:"action"`
	Output json.RawMessage `json:"output,omitempty"` // of Complete and Continue, at most [MaxOutput] bytes
	Reason string          `json:"reason,omitempty"` // of Fail, FailPermanent, RetryAfter and Unknown, at most 4,000 bytes
	Delay  time.Duration   `json:"delay,omitempty"`  // of RetryAfter and Pause, in nanoseconds
	Name   string          `json:"name,omitempty"`   // of Pause, 1 to 200 bytes
	Waits  []Wait          `json:"waits,omitempty"`  // of Await, 1 to [MaxWaits]: all that the execution waited for, in order

	// NotDone is the handler's word that an effect under a grant did not happen. It goes with Fail,
	// FailPermanent and RetryAfter. Without it the outcome of such a task is unknown, and it is settled
	// before anything runs again; Delay counts then for an idempotent effect alone. A task without a
	// grant does not need it.
	NotDone bool `json:"notDone,omitempty"`

	// Notes are on the execution, but for those on its steps. Await and Abandon have no notes: the
	// handler runs again.
	Notes []posthouse.Note `json:"notes,omitempty"`
}

// ParseVerdict reads a verdict from JSON, strictly, and checks it.
func ParseVerdict(data []byte) (Verdict, error) {
	var v Verdict
	if err := posthouse.CheckStrict("verdict", data); err != nil {
		return v, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		if field, message, ok := strictjson.Wrong(err); ok {
			return v, posthouse.Invalid(cmp.Or(field, "verdict"), "%s", message)
		}
		return v, posthouse.Invalid("verdict", "does not parse: %v", err)
	}
	if name, unknown := strictjson.Unknown(data, reflect.TypeFor[Verdict]()); unknown {
		return v, posthouse.Invalid("verdict", "has the unknown field %.80q: names are exact", name)
	}
	return v, v.Check()
}

// Check returns [posthouse.ErrInvalid] or [posthouse.ErrTooLarge], which name the field that
// does not fit its action. It clamps the delay of [RetryAfter], completes an Output that is
// missing to null, and gives it the form of JSON that the log keeps: so a verdict that is
// repeated is known again, and its size is that on record.
func (v *Verdict) Check() error {
	is := v.Action.rules()
	switch {
	case is.action == "":
		return posthouse.Invalid("action", "%.40q is not one of %s", v.Action, join(Actions(), ", "))
	case len(v.Output) > 0 && !is.output:
		return v.misplaced("output", "goes", func(a *actionRules) bool { return a.output })
	case v.Reason != "" && !is.reason:
		return v.misplaced("reason", "goes", func(a *actionRules) bool { return a.reason })
	case v.Delay != 0 && !is.delay:
		return v.misplaced("delay", "goes", func(a *actionRules) bool { return a.delay })
	case v.Name != "" && !is.name:
		return v.misplaced("name", "goes", func(a *actionRules) bool { return a.name })
	case len(v.Waits) > 0 && !is.waits:
		return v.misplaced("waits", "go", func(a *actionRules) bool { return a.waits })
	case v.NotDone && !is.notDone:
		return v.misplaced("notDone", "goes", func(a *actionRules) bool { return a.notDone })
	case is.reason && v.Reason == "":
		return posthouse.Invalid("reason", "is required to %s", v.Action)
	case len(v.Reason) > posthouse.MaxText || !text.IsUTF8(v.Reason):
		return posthouse.Invalid("reason", "must be at most %d bytes of text", posthouse.MaxText)
	case v.Delay < 0:
		return posthouse.Invalid("delay", "is negative: %s", v.Delay)
	case len(v.Notes) > 0 && (v.Action == Await || v.Action == Abandon):
		return v.misplaced("notes", "go", func(a *actionRules) bool { return a.action != Await && a.action != Abandon })
	}
	if _, err := story.Encode(&posthouse.Story{Notes: v.Notes}); err != nil {
		return err
	}
	if v.Action == Pause {
		if err := posthouse.ValidateName("name", v.Name); err != nil {
			return err
		}
		if v.Delay < MinPause || v.Delay > MaxPause {
			return posthouse.Invalid("delay", "of a pause is %s; it is 1 ms to 100 years", v.Delay)
		}
	}
	if v.Action == Await {
		return v.checkWaits()
	}
	if v.Action == RetryAfter {
		v.Delay = min(max(v.Delay, MinRetry), MaxRetry)
	}
	if !is.output {
		return nil
	}
	if len(v.Output) == 0 {
		v.Output = json.RawMessage("null")
	}
	if err := posthouse.CheckStrict("output", v.Output); err != nil {
		return err
	}
	kept, err := json.Marshal(v.Output)
	if err != nil {
		return posthouse.Invalid("output", "does not encode: %v", err)
	}
	v.Output = kept
	if len(kept) > MaxOutput {
		e := posthouse.TooLarge("output", len(kept), MaxOutput)
		e.Hint = "keep large values elsewhere and return a reference"
		return e
	}
	return nil
}

func (v *Verdict) checkWaits() error {
	if len(v.Waits) == 0 || len(v.Waits) > MaxWaits {
		return posthouse.Invalid("waits", "are %d; a verdict has 1 to %d", len(v.Waits), MaxWaits)
	}
	for i := range v.Waits {
		w := &v.Waits[i]
		switch {
		case waitsFor(w) != 1:
			return posthouse.Invalid("waits", "must each have a question, a signal, or an effect (act)")
		case w.Edited != "" && (w.Question == nil || w.Question.Uses == 0 || w.Edited.Validate() != nil):
			return posthouse.Invalid("edited", "is the id of the gate whose edit a question with uses proposes")
		case w.Timeout < 0 || w.Timeout > backoff.Longest:
			return posthouse.Invalid("timeout", "of signal %.40q must be between 0 and 100 years", w.Signal)
		case w.Question != nil && !posthouse.AsksPeople(w.Question.Kind):
			return posthouse.Invalid("question", "%.40q is of kind %.40q, which asks nobody", w.Question.Name, w.Question.Kind)
		}
		if err := checkWait(w); err != nil {
			return err
		}
		if w.Act != nil {
			if err := checkUse(w.Act); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitsFor counts what a wait is for.
func waitsFor(w *Wait) (n int) {
	for _, there := range []bool{w.Question != nil, w.Signal != "", w.Act != nil} {
		if there {
			n++
		}
	}
	return n
}

// checkProposal checks a question that licenses effects once it is approved.
func checkProposal(g *posthouse.Gate) error {
	switch {
	case g.Uses < 0 || g.ValidFor < 0 || g.Uses == 0 && g.ValidFor != 0:
		return posthouse.Invalid("uses", "and validFor of question %.40q must not be negative, and validFor goes with uses", g.Name)
	case g.Uses == 0:
		return nil
	case g.Bind != posthouse.ByContent:
		return posthouse.Invalid("bind", "of question %.40q is by name, and such an answer licenses no effect", g.Name)
	case len(g.Payload) == 0:
		return posthouse.Invalid("payload", "of question %.40q is what its approval licenses", g.Name)
	case len(g.Verdicts) == 0 || slices.ContainsFunc(g.Verdicts, posthouse.Verdict.IsAnswer):
		return posthouse.Invalid("verdicts", "of question %.40q must be named, without respond, which licenses nothing", g.Name)
	}
	return nil
}

// checkWait checks the name of what is waited for, and the question.
func checkWait(w *Wait) error {
	switch {
	case w.Signal != "":
		return handler.CheckName("signal", w.Signal)
	case w.Question == nil:
		return nil
	}
	if k := w.Question.Kind; k == posthouse.GateSession || k == kindOutcome || strings.HasPrefix(k, "$") {
		e := posthouse.Invalid("kind", "%.40q of question %.40q is the runtime's own", k, w.Question.Name)
		e.Hint = "leave the kind out for an approval, or take another name"
		return e
	}
	if err := handler.CheckName("question", w.Question.Name); err != nil {
		return err
	}
	return checkQuestion(w.Question)
}

// kindOutcome is the kind of the question that the runtime asks about an effect with an
// unknown outcome.
const kindOutcome = "outcome"

// checkQuestion refuses a question that says more than what is asked of whom. Only the engine
// says who requested it, who changed it, why it is asked again, what it replaces and what became
// of it.
func checkQuestion(g *posthouse.Gate) error {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"id", g.ID != ""}, {"thread", g.Thread != ""}, {"branch", g.Branch != ""}, {"checkpoint", g.Checkpoint != ""},
		{"hash", !g.Hash.IsZero()}, {"seq", g.Seq != 0}, {"signal", g.Signal != ""}, {"latch", g.Latch}, {"task", g.Task != ""},
		{"requestedBy", g.RequestedBy != ""}, {"requesters", len(g.Requesters) > 0}, {"note", g.Note != ""}, {"allowRequester", g.AllowRequest}, {"createdAt", !g.CreatedAt.IsZero()},
		{"supersedes", g.Supersedes != ""}, {"origin", g.Origin != ""}, {"instance", g.Instance != ""},
		{"call", g.Call != nil},
		{"votes", len(g.Votes) > 0}, {"assignments", len(g.Assignments) > 0}, {"decision", g.Decision != nil},
	} {
		if f.set {
			e := posthouse.Invalid(f.name, "of question %.40q is the engine's to say", g.Name)
			e.Hint = "leave it out in a worker's question"
			return e
		}
	}
	return checkProposal(g)
}

// Check returns [posthouse.ErrInvalid], which names the field that does not fit, or
// [posthouse.ErrUnsupported] for another protocol.
func (h *Hello) Check() error {
	const maxTasks, maxAtOnce = 1000, 10_000
	if h.Protocol < 1 || h.Protocol > Protocol {
		return &posthouse.Error{
			Code: posthouse.CodeUnsupported, Field: "protocol", Message: "is another version than this engine's",
			Hint: "use the same release of posthouse on both sides",
		}
	}
	if err := posthouse.ValidateName("worker", h.Worker); err != nil {
		return err
	}
	if h.Group != "" {
		if err := posthouse.ValidateName("group", h.Group); err != nil {
			return err
		}
	}
	if len(h.Tasks) == 0 || len(h.Tasks) > maxTasks {
		return posthouse.Invalid("tasks", "are %d; a worker handles 1 to %d", len(h.Tasks), maxTasks)
	}
	for _, name := range h.Tasks {
		if err := posthouse.ValidateName("tasks", name); err != nil {
			return err
		}
	}
	if h.Concurrency < 1 || h.Concurrency > maxAtOnce {
		return posthouse.Invalid("atOnce", "is %d; it is 1 to %d", h.Concurrency, maxAtOnce)
	}
	return nil
}

// Unclear reports whether a handler's error leaves open whether an effect under a grant
// happened: [posthouse.ErrUnknown], [posthouse.ErrUnavailable], and the end of a context. A
// worker sends the verdict [Unknown] then.
func Unclear(err error) bool {
	for _, u := range []error{posthouse.ErrUnknown, posthouse.ErrUnavailable, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, u) {
			return true
		}
	}
	return false
}
