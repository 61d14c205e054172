package refund

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
)

// Name is the coordinator's name: the coordination of all requests.
const Name = "dispatch"

// Options of the sample. Effects is required.
type Options struct {
	Effects Effects       // carries refunds out
	Journal coord.Journal // takes the events; default the newest in memory
	Expires time.Duration // until a question is no longer open; default 7 days
}

// An Edit is what a reviewer can change: the request that is carried out.
type Edit struct {
	Request string `json:"request"`
}

// editSchema is what an edit must satisfy.
const editSchema = `{"type":"object","properties":{"request":{"type":"string","pattern":"\\S","maxLength":10000,` +
	`"description":"the request to carry out instead"}},"required":["request"],"additionalProperties":false}`

type sample struct {
	ledger *posthouse.Ledger
	opt    Options
}

// New returns the coordinator.
func New(l *posthouse.Ledger, o Options) (*coord.Coordinator, error) {
	if o.Effects == nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "Effects", Message: "is required"}
	}
	if o.Journal == nil {
		o.Journal = &coord.MemoryJournal{}
	}
	if o.Expires == 0 {
		o.Expires = 7 * 24 * time.Hour
	}
	s := &sample{ledger: l, opt: o}
	journal, err := coord.Checkpointing(o.Journal, l, coord.OnAgentBoundaries, extract)
	if err != nil {
		return nil, err
	}
	fleet, err := coord.NewFleet(
		coord.Agent{
			Name: "analyzer", Description: "Analyzes a request and recommends what to do, with a risk level",
			Skills: map[string]coord.Skill{"analyze": analyze},
		},
		coord.Agent{
			Name: "approver", Description: "Carries an approved request out",
			Skills: map[string]coord.Skill{"execute": s.execute},
		},
	)
	if err != nil {
		return nil, err
	}
	return coord.New(l, Name, fleet, s.handle, &coord.Options{
		Description: "Refunds: an analyzer, a person's decision, an approver", Journal: journal, Parked: parked,
	})
}

// handle is the coordinator.
func (s *sample) handle(ctx context.Context, message string, fleet *coord.Fleet, session *coord.Session) error {
	analysis, err := fleet.Agent("analyzer").Call(ctx, "analyze", State{Request: message})
	if err != nil {
		return err
	}
	if !analysis.Success {
		session.Stream("Analyzer failed: " + analysis.Text)
		return nil
	}
	session.Stream("Analysis complete.\n\nResult: " + analysis.Text)

	todo, err := proposal(ctx, message, fleet, analysis)
	if err != nil {
		return err
	}
	answer, err := gate.Ask[Edit](ctx, gate.Question{
		Name: "refund", Text: "Carry out: " + short(todo.Request) + "\n" + short(todo.Recommendation.String()), Show: todo,
		Schema: json.RawMessage(editSchema), AllowRequester: true, Expires: s.opt.Expires,
		Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Edit},
	})
	if err != nil {
		return err
	}
	if !answer.Approved() {
		return refused(ctx, session, answer)
	}
	todo.ApprovedBy = answer.By
	if answer.Verdict == posthouse.Edit {
		todo.Edited = answer.Value.Request
	}
	outcome, err := fleet.Agent("approver").Call(ctx, "execute", todo)
	if err != nil {
		return err
	}
	if !outcome.Success {
		session.Stream("Approver failed: " + outcome.Text)
		return nil
	}
	session.Stream(outcome.Text)
	return nil
}

// proposal is what people are asked to approve, and all that can then be carried
// out unless they edit it. The request of the state that was resumed goes before
// the message: a fork can have another, which is assessed before it is shown.
func proposal(ctx context.Context, message string, fleet *coord.Fleet, analysis coord.Result) (State, error) {
	analyzed := State{Request: message}
	if err := analysis.Bind(&analyzed); err != nil {
		return State{}, err
	}
	todo := State{Request: analyzed.Request, Recommendation: analyzed.Recommendation}
	from, err := fleet.Resumed(ctx)
	if err != nil || from == nil {
		return todo, err
	}
	if request, ok := Request(from.State); ok && request != todo.Request {
		todo.Request = request
		if todo.Recommendation, err = assess(request); err != nil { // people are asked nevertheless
			todo.Recommendation = &Recommendation{Risk: "high", Action: "review", Reasons: []string{err.Error()}}
		}
	}
	return todo, nil
}

// execute is the approver's skill. The effect is recorded before anything else
// happens, and carries a key for the case that it was not.
func (s *sample) execute(ctx context.Context, call coord.Call) (coord.Result, error) {
	var todo State
	if err := call.Bind(&todo); err != nil {
		return coord.Result{}, err
	}
	if todo.Edited != "" {
		todo.Request, todo.Edited = todo.Edited, ""
	}
	effect := step.Options{Effect: posthouse.EffectExternal}
	_, err := step.DoWith(ctx, "refund", effect, func(ctx context.Context) (Effect, error) {
		e := Effect{Key: step.Key(ctx), Request: todo.Request, ApprovedBy: todo.ApprovedBy, At: s.ledger.Now().UTC()}
		return e, s.opt.Effects(ctx, e)
	})
	if err != nil {
		return coord.Result{}, err
	}
	todo.Result = fmt.Sprintf("Executed '%s' approved by %s", todo.Request, todo.ApprovedBy)
	return coord.NewResult(todo.Result, todo)
}

// refused ends a request that was not approved.
func refused(ctx context.Context, session *coord.Session, a gate.Answer[Edit]) error {
	text := "Rejected by " + a.By
	switch a.Verdict {
	case posthouse.Expire:
		text = "Expired"
	case posthouse.Cancel:
		text = "Cancelled by " + a.By
	}
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	session.Stream(text)
	result, err := coord.NewResult(text, map[string]string{"verdict": string(a.Verdict), "by": a.By, "reason": a.Reason})
	if err != nil {
		return err
	}
	return coord.Conclude(ctx, result)
}

// parked tells the client where the request waits.
func parked(r coord.Reply) string {
	return fmt.Sprintf("Checkpointed as %s. Review via GET /api/checkpoints?coordination=%s, "+
		"then POST /api/checkpoints/%s/approve to resume, or: posthouse approve %s", r.Checkpoint, Name, r.Checkpoint, r.Gate)
}

// short cuts a text to what a question can show; the whole is in its payload.
func short(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
