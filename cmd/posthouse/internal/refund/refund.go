package refund

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
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

// A Proposal is what people approve. Only what it says can be carried out, or a
// reviewer's edit of it.
type Proposal struct {
	Request        string          `json:"request" doc:"what to carry out"`
	Recommendation *Recommendation `json:"recommendation,omitempty" doc:"of the analyzer"`
}

// editSchema is what an edit must satisfy.
const editSchema = `{"type":"object","properties":{"request":{"type":"string","pattern":"\\S","maxLength":10000,` +
	`"description":"the request to carry out instead"}},"required":["request"],"additionalProperties":false}`

type sample struct {
	ledger *ledger.Ledger
	opt    Options
}

// New returns the coordinator.
func New(l *ledger.Ledger, o Options) (*coord.Coordinator, error) {
	if o.Effects == nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "Effects", Message: "is required"}
	}
	if o.Journal == nil {
		o.Journal = &coord.MemoryJournal{}
	}
	o.Expires = cmp.Or(o.Expires, 7*24*time.Hour)
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
		Questions: []runs.Question{{Name: "refund", Text: "Carry out the request?", Payload: Proposal{}}},
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
	grant, err := gate.Propose(ctx, gate.Question{
		Name: "refund", Text: "Carry out: " + short(todo.Request) + "\n" + short(todo.Recommendation.String()),
		Schema: json.RawMessage(editSchema), AllowRequester: true, Expires: s.opt.Expires,
	}, todo)
	if no, ok := errors.AsType[*posthouse.Error](err); ok && no.Decision != nil {
		return refused(ctx, session, no.Decision)
	}
	if err != nil {
		return err
	}
	outcome, err := fleet.Agent("approver").Call(ctx, "execute", State{Request: todo.Request, Recommendation: todo.Recommendation, Grant: grant})
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

// proposal is what people are asked to approve. The request of the state that was
// resumed goes before the message: a fork can have another, which is assessed before
// it is shown.
func proposal(ctx context.Context, message string, fleet *coord.Fleet, analysis coord.Result) (Proposal, error) {
	analyzed := State{Request: message}
	if err := analysis.Bind(&analyzed); err != nil {
		return Proposal{}, err
	}
	todo := Proposal{analyzed.Request, analyzed.Recommendation}
	from, err := fleet.Resumed(ctx)
	if err != nil || from == nil {
		return todo, err
	}
	if request, ok := Request(from.State); ok && request != todo.Request {
		todo.Request = request
		todo.Recommendation, err = assess(request)
		if err != nil { // people are asked nevertheless
			todo.Recommendation = &Recommendation{Risk: "high", Action: "review", Reasons: []string{err.Error()}}
		}
	}
	return todo, nil
}

// execute is the approver's skill. It carries out what was approved, not what the
// state says; the effect has a key in case it is tried again.
func (s *sample) execute(ctx context.Context, call coord.Call) (coord.Result, error) {
	var todo State
	if err := call.Bind(&todo); err != nil {
		return coord.Result{}, err
	}
	done, err := gate.Act(ctx, "refund", todo.Grant, func(ctx context.Context, p Proposal) (Effect, error) {
		e := Effect{Key: step.Key(ctx), Request: p.Request, ApprovedBy: gate.Granted(ctx).Decision.By, At: s.ledger.Now().UTC()}
		return e, s.opt.Effects(ctx, e)
	}, gate.ActOptions[Proposal, Effect]{Idempotent: true})
	if err != nil {
		return coord.Result{}, err
	}
	result := fmt.Sprintf("Executed '%s' approved by %s", done.Request, done.ApprovedBy)
	return coord.NewResult(result, State{Request: done.Request, Recommendation: todo.Recommendation, ApprovedBy: done.ApprovedBy, Result: result})
}

// refused ends a request that was not approved.
func refused(ctx context.Context, session *coord.Session, d *posthouse.Decision) error {
	text := "Rejected by " + d.By
	switch d.Verdict {
	case posthouse.Expire:
		text = "Expired"
	case posthouse.Cancel:
		text = "Cancelled by " + d.By
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	session.Stream(text)
	result, err := coord.NewResult(text, map[string]string{"verdict": string(d.Verdict), "by": d.By, "reason": d.Reason})
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
