package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/tokens"
)

// A decideBody says more about a decision than the path does.
type decideBody struct {
	By      string          `json:"by,omitempty" doc:"as the parameter"`
	Request *string         `json:"request,omitempty" doc:"with approve, as the parameter"`
	Reason  string          `json:"reason,omitempty" doc:"at most 4,000 bytes"`
	Value   json.RawMessage `json:"value,omitempty" doc:"the changed values of edit, the answer of respond, the result of happened"`
	Shown   *posthouse.Hash `json:"shown,omitempty" doc:"hash of what the decider saw; refused with 409 if it is not what the gate asks about"`
}

// decide puts the decision of an open gate on record and answers with what it
// led to.
func (gs *gates) decide(w http.ResponseWriter, r *api.Request, g *posthouse.Gate, v posthouse.Verdict) error {
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
		if err := gs.recovery.check(r.Context(), g, d); err != nil {
			return err
		}
	}
	// A client that goes away does not undo its decision.
	decided, err := decideOnce(r, gs.ledger, g.ID, d)
	if err != nil {
		return err
	}
	if decided.Decision == nil {
		return gs.voted(w, decided, d)
	}
	h, err := gs.ledger.GetHeader(r.Context(), g.Checkpoint)
	if err != nil {
		return afterDecision(err, decided.Decision)
	}
	return gs.outcomes.await(w, r, &pending{checkpoint: h, decision: decided.Decision, after: max(g.Seq, decided.Decision.Seq)})
}

// decideOnce decides a gate, or finds what an earlier attempt of the request decided, or voted.
func decideOnce(r *api.Request, l *ledger.Ledger, gate posthouse.ID, d *posthouse.Decision) (*posthouse.Gate, error) {
	ctx := context.WithoutCancel(r.Context())
	decided, err := give(ctx, r, l, gate, d)
	if err == nil || !r.Reserved.Again {
		return decided, err
	}
	g, lost := l.Gate(ctx, gate)
	if lost != nil {
		return nil, err
	}
	if g.Decision != nil && sameDecision(g, g.Decision, d, r.Reserved.At) {
		return g, nil
	}
	for i := range g.Votes {
		if sameDecision(g, &g.Votes[i], d, r.Reserved.At) {
			return g, nil
		}
	}
	return nil, err
}

// give decides a gate, or withdraws it.
func give(ctx context.Context, r *api.Request, l *ledger.Ledger, gate posthouse.ID, d *posthouse.Decision) (*posthouse.Gate, error) {
	switch {
	case d.Verdict != posthouse.Cancel:
		return l.Decide(ctx, gate, *d)
	case len(d.Value) > 0:
		return nil, posthouse.Invalid("value", "goes with %s, not with %s", posthouse.JoinVerdicts(posthouse.ValueVerdicts(), " or "), d.Verdict)
	}
	return l.Withdraw(ctx, gate, ledger.Withdrawal{By: d.By, Actor: d.Actor, Reason: d.Reason, Operator: r.Actor.Role.May(tokens.Operator), Shown: d.Shown})
}

// sameDecision reports whether a decision on record is the one that a request sends, since a time.
func sameDecision(g *posthouse.Gate, have, sent *posthouse.Decision, since time.Time) bool {
	return have.Verdict == g.Recorded(sent.Verdict) && have.By == sent.By && have.Actor == sent.Actor && have.Reason == sent.Reason && have.Token == sent.Token &&
		sameJSON(have.Value, sent.Value) && !have.At.Before(since)
}

// sameJSON reports whether two values differ in spaces at most.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// voted answers a vote that decided nothing yet.
func (gs *gates) voted(w http.ResponseWriter, g *posthouse.Gate, d *posthouse.Decision) error {
	vote := g.Voted(d.By)
	look := "/api/gates/" + string(g.ID)
	w.Header().Set("Location", look)
	return api.WriteJSON(w, http.StatusAccepted, &Accepted{
		Thread: g.Thread, Branch: g.Branch, Checkpoint: g.Checkpoint, Vote: vote, Missing: g.Missing(),
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
		d.Shown = *b.Shown
		if d.Shown.IsZero() {
			return nil, posthouse.Invalid("shown", "is all zeros, which is the hash of nothing that was shown")
		}
	}
	var err error
	d.By, d.Actor, err = auth.ActingFor(r.Actor, by)
	if err != nil {
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

// Decide puts an answer on record that a person gave in a channel, as Options.Decide of package notify wants it.
// It has the rules, and the errors, of the same answer over HTTP.
func (s *Server) Decide(ctx context.Context, id posthouse.ID, d posthouse.Decision) (*posthouse.Gate, error) {
	g, err := s.tokens.ledger.Gate(ctx, id)
	if err != nil {
		return nil, err
	}
	if g.Decision == nil {
		if err := s.tokens.recovery.check(ctx, g, &d); err != nil {
			return nil, err
		}
	}
	return s.tokens.ledger.Decide(context.WithoutCancel(ctx), id, d)
}

// A recovery knows for which programs an approval needs the request that it is about; see
// Options.Recover.
type recovery struct {
	ledger  *ledger.Ledger
	request func(*posthouse.Checkpoint) (string, bool) // nil: no program needs one
}

// check refuses to record an approval that could not be carried out.
func (v *recovery) check(ctx context.Context, g *posthouse.Gate, d *posthouse.Decision) error {
	if v.request == nil || d.Verdict != posthouse.Approve {
		return nil
	}
	c, err := v.ledger.Get(ctx, g.Checkpoint)
	if err != nil {
		return err
	}
	if _, ok := v.request(c); ok {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "request", Message: "cannot be recovered from the state of checkpoint " + string(c.ID),
		Hint: "say which request is approved: ?request=...",
	}
}
