package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// A decideBody says more about a decision than the path does.
type decideBody struct {
	By      string          `json:"by,omitempty" doc:"as the parameter"`
	Request *string         `json:"request,omitempty" doc:"with approve, as the parameter"`
	Reason  string          `json:"reason,omitempty" doc:"at most 4,000 bytes"`
	Value   json.RawMessage `json:"value,omitempty" doc:"the changed values of edit, the answer of respond"`
	Shown   *posthouse.Hash `json:"shown,omitempty" doc:"hash of what the decider saw; refused with 409 if it is not what the gate asks about"`
}

// Accepted answers a recorded request whose outcome is not known yet.
// Location is where the outcome will be.
type Accepted struct {
	Thread     string              `json:"thread"`
	Branch     string              `json:"branch,omitempty"`
	Checkpoint posthouse.ID        `json:"checkpoint,omitempty" doc:"where it started"`
	Decision   *posthouse.Decision `json:"decision,omitempty"`
	Vote       *posthouse.Decision `json:"vote,omitempty" doc:"in place of the decision: on a gate that asks several people"`
	Missing    int                 `json:"missing,omitempty" doc:"how many approvals the gate still needs"`
	Gates      []posthouse.ID      `json:"gates,omitempty" doc:"of the checkpoint, that still wait for people: nothing may follow before they are decided too"`
	Location   string              `json:"location" doc:"where the outcome will show"`
}

// decide puts the decision of an open gate on record and answers with what it
// led to.
func (s *Server) decide(w http.ResponseWriter, r *api.Request, g *posthouse.Gate, v posthouse.Verdict) error {
	var b decideBody
	if err := r.Decode(&b); err != nil {
		return err
	}
	d, err := decision(r, &b, v)
	if err != nil {
		return err
	}
	if g.Decision == nil {
		if err := api.Precondition(r, g.Hash); err != nil {
			return err
		}
		if err := s.recoverable(r, g, d); err != nil {
			return err
		}
	}
	// A client that goes away does not undo its decision.
	decided, err := s.ledger.Decide(context.WithoutCancel(r.Context()), g.ID, *d)
	if err != nil {
		return err
	}
	if decided.Decision == nil {
		return s.voted(w, decided)
	}
	h, err := s.ledger.GetHeader(r.Context(), g.Checkpoint)
	if err != nil {
		return afterDecision(err, decided.Decision)
	}
	return s.awaitOutcome(w, r, &pending{checkpoint: h, decision: decided.Decision, after: max(g.Seq, decided.Decision.Seq)})
}

// voted answers a vote that decided nothing yet.
func (s *Server) voted(w http.ResponseWriter, g *posthouse.Gate) error {
	look := "/api/gates/" + string(g.ID)
	w.Header().Set("Location", look)
	return api.WriteJSON(w, http.StatusAccepted, &Accepted{
		Thread: g.Thread, Branch: g.Branch, Checkpoint: g.Checkpoint, Vote: &g.Votes[len(g.Votes)-1], Missing: g.Missing(),
		Gates: []posthouse.ID{g.ID}, Location: look,
	})
}

// decision returns the decision that a client sends, in the client's name.
func decision(r *api.Request, b *decideBody, v posthouse.Verdict) (*posthouse.Decision, error) {
	by, request := b.By, b.Request
	if q, ok := r.Query["by"]; ok {
		if by != "" && by != q {
			return nil, posthouse.Invalid("by", "is given in the query and in the body, and differs")
		}
		by = q
	}
	if q, ok := r.Query["request"]; ok {
		if request != nil && *request != q {
			return nil, posthouse.Invalid("request", "is given in the query and in the body, and differs")
		}
		request = &q
	}
	d := &posthouse.Decision{Verdict: v, Reason: b.Reason, Value: b.Value}
	if b.Shown != nil {
		if d.Shown = *b.Shown; d.Shown.IsZero() {
			return nil, posthouse.Invalid("shown", "is all zeros, which is the hash of nothing that was shown")
		}
	}
	var err error
	if d.By, d.Actor, err = actingFor(r.Actor, by); err != nil {
		return nil, err
	}
	if request == nil {
		return d, nil
	}
	if v != posthouse.Approve || len(b.Value) > 0 {
		return nil, posthouse.Invalid("request", "goes with approve, and without a value")
	}
	value, err := json.Marshal(map[string]string{"request": *request})
	d.Verdict, d.Value = posthouse.Edit, value
	return d, err
}

// actingFor returns the name that an action is recorded under and, if that is not
// the token's owner, the owner as its actor.
func actingFor(t tokens.Token, by string) (name, actor string, err error) {
	if by == "" || by == t.Name {
		return t.Name, "", nil
	}
	if err := posthouse.CheckDecider("by", by); err != nil {
		return "", "", err
	}
	if err := requireRole(t, tokens.Operator); err != nil {
		return "", "", &posthouse.Error{
			Code: posthouse.CodeForbidden, Field: "by", Message: "may be another than the token's owner with the role operator only",
			Hint: "leave it out: it is recorded as " + t.Name + "'s",
		}
	}
	return by, t.Name, nil
}

// recoverable refuses to record an approval that could not be carried out.
func (s *Server) recoverable(r *api.Request, g *posthouse.Gate, d *posthouse.Decision) error {
	if s.recovers == nil || d.Verdict != posthouse.Approve {
		return nil
	}
	c, err := s.ledger.Get(r.Context(), g.Checkpoint)
	if err != nil {
		return err
	}
	if _, ok := s.recovers(c); ok {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "request", Message: "cannot be recovered from the state of checkpoint " + string(c.ID),
		Hint: "say which request is approved: ?request=...",
	}
}

// A pending answer waits until no run holds the checkpoint's branch and its head has
// passed the sequence number after.
type pending struct {
	checkpoint *posthouse.Header
	decision   *posthouse.Decision // that started the work, or nil
	after      uint64
}

// awaitOutcome waits for the outcome and answers with it.
func (s *Server) awaitOutcome(w http.ResponseWriter, r *api.Request, t *pending) error {
	from := t.checkpoint
	if s.runner == nil || from.Graph == "" {
		return s.accepted(w, r, t)
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.limits.Wait)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)() // a server that closes does not wait
	head, err := s.runner.Settled(ctx, from.Thread, from.Branch, t.after)
	switch {
	case err != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		return s.accepted(w, r, t)
	case err != nil:
		return afterDecision(err, t.decision)
	}
	v, err := s.following(r.Context(), t, head)
	switch {
	case err != nil:
		return afterDecision(err, t.decision)
	case v == nil:
		return s.accepted(w, r, t)
	}
	v.Decision = t.decision
	if v.Branched, err = s.outcome(r.Context(), t, head); err != nil {
		return afterDecision(err, t.decision)
	}
	w.Header().Set("ETag", api.ETag(v.Hash))
	return api.WriteJSON(w, http.StatusOK, v)
}

// outcome returns where a branch is, and what acted on it meanwhile.
func (s *Server) outcome(ctx context.Context, t *pending, head *posthouse.Header) (*Outcome, error) {
	o := &Outcome{BranchHead: posthouse.BranchHead{Branch: head.Branch, Head: head.ID, Seq: head.Seq, Status: head.Status}, Error: head.Error}
	uses, err := ledger.EffectsAfter(ctx, s.ledger, head.Thread, t.after)
	if err != nil {
		return nil, err
	}
	for _, u := range uses {
		if u.Branch == head.Branch {
			o.Effects = append(o.Effects, u)
		}
	}
	return o, nil
}

// following returns the child of the checkpoint that was decided. It is nil while
// other gates of the checkpoint wait, or if its program runs elsewhere.
func (s *Server) following(ctx context.Context, t *pending, head *posthouse.Header) (*Checkpoint, error) {
	q := posthouse.Query{Thread: head.Thread, Branch: head.Branch, After: t.checkpoint.Cursor(), Limit: 100}
	for h, err := range s.ledger.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		if h.Parent != t.checkpoint.ID || h.Seq > head.Seq {
			continue
		}
		c, err := s.ledger.Get(ctx, h.ID)
		if err != nil {
			return nil, err
		}
		return view(c)
	}
	return nil, nil
}

func (s *Server) accepted(w http.ResponseWriter, r *api.Request, t *pending) error {
	open, err := s.openGates(r, t.checkpoint)
	if err != nil {
		return afterDecision(err, t.decision)
	}
	look := api.ThreadPath(t.checkpoint.Thread)
	w.Header().Set("Location", look)
	return api.WriteJSON(w, http.StatusAccepted, &Accepted{
		Thread: t.checkpoint.Thread, Branch: t.checkpoint.Branch, Checkpoint: t.checkpoint.ID, Decision: t.decision, Gates: gateIDs(open), Location: look,
	})
}

// afterDecision adds the decision, which stands, to a later failure. Such a failure is
// never the client's fault.
func afterDecision(err error, d *posthouse.Decision) error {
	if d == nil {
		return err
	}
	e := &posthouse.Error{
		Code: problem.Client(err).Code, Decision: d, Err: err, Message: "the decision is on record, but what follows it failed",
		Hint: "do not decide again; see what becomes of the thread",
	}
	if problem.Status(e.Code) < http.StatusInternalServerError {
		e.Code = problem.CodeInternal
	}
	return e
}
