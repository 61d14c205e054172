package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// approvals holds the sessions of open conversations. Their tools ask for approval
// on the connection; see [gate.Require].
type approvals struct {
	ledger *ledger.Ledger // through which other processes answer; nil: the store is this process's alone

	mu   sync.Mutex
	open map[*gate.Session]bool
}

// shared returns the ledger if other processes may have its store open, else nil.
func shared(l *ledger.Ledger) *ledger.Ledger {
	if x, ok := l.Store().(posthouse.Excluder); ok && x.Exclusive() {
		return nil
	}
	return l
}

func (a *approvals) openSession(o *gate.SessionOptions) *gate.Session {
	o.Ledger = a.ledger
	s := gate.NewSession(o)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[s] = true
	return s
}

// closeSession closes a session and denies what still waits in it.
func (a *approvals) closeSession(s *gate.Session) {
	a.mu.Lock()
	delete(a.open, s)
	a.mu.Unlock()
	s.Close()
}

func (a *approvals) sessions() []*gate.Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.open))
}

// each offers an answer to the sessions in turn until one has the approval.
// Sessions of other processes come last.
func (a *approvals) each(id posthouse.ID, answer func(*gate.Session) (*posthouse.Gate, error), elsewhere func(gate.Relay) (*posthouse.Gate, error)) (*posthouse.Gate, error) {
	for _, s := range a.sessions() {
		if g, err := answer(s); !errors.Is(err, posthouse.ErrNotFound) {
			return g, err
		}
	}
	if a.ledger != nil {
		if g, err := elsewhere(gate.Relay{Ledger: a.ledger}); !errors.Is(err, posthouse.ErrNotFound) {
			return g, err
		}
	}
	e := problem.NotFound("approval that waits:", string(id))
	e.Hint = "it was answered, ran out, or its connection closed"
	return nil, e
}

// An approvalEvent tells the client of a conversation about an approval.
type approvalEvent struct {
	Type      string              `json:"type"` // approval_required, approval_resolved or approval_refused
	ID        posthouse.ID        `json:"id"`
	Tool      string              `json:"tool,omitempty"`
	Arguments json.RawMessage     `json:"arguments,omitempty"`
	Message   string              `json:"message,omitempty"`
	Expires   int                 `json:"expiresInSeconds,omitempty"`
	Decision  *posthouse.Decision `json:"decision,omitempty"`
	Error     *problem.Details    `json:"error,omitempty"`
}

// resolve answers an approval by a message of a conversation.
func (s *Server) resolve(ctx context.Context, m gate.Message, actor tokens.Token) (*posthouse.Gate, error) {
	if err := requireRole(actor, tokens.Approver); err != nil {
		return nil, err
	}
	by, sender, err := actingFor(actor, m.By)
	if err != nil {
		return nil, err
	}
	return s.approvals.each(m.ID,
		func(as *gate.Session) (*posthouse.Gate, error) { return as.Answer(m, by, sender) },
		func(r gate.Relay) (*posthouse.Gate, error) { return r.Answer(ctx, m, by, sender) })
}

type approvalBody struct {
	By     string          `json:"by,omitempty" doc:"who decides, if not the token's owner; needs the role operator"`
	Reason string          `json:"reason,omitempty" doc:"at most 4,000 bytes"`
	Value  json.RawMessage `json:"value,omitempty" doc:"the changed arguments of edit, the answer of respond"`
}

var approvalVerbs = []verb{
	{"approve", posthouse.Approve, "Approve a call of a tool"},
	{"deny", posthouse.Reject, "Deny a call of a tool"},
	{"edit", posthouse.Edit, "Approve a call of a tool with other arguments"},
	{"respond", posthouse.Respond, "Answer in place of a tool"},
}

func (s *Server) approvalRoutes() []*api.Route {
	const path = "/api/approvals"
	rs := []*api.Route{{
		Method: http.MethodGet, Path: path, Role: tokens.Viewer, Summary: "List approvals that wait in a session", Handle: s.listApprovals,
		Notes:   "Those of tools whose caller is connected, to this process or to another over the same store. They end with their connection; the inbox has what is durable.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "approvals, the oldest first", Body: []Gate{}, Media: ""}},
	}}
	for _, v := range approvalVerbs {
		rs = append(rs, &api.Route{
			Method: http.MethodPost, Path: path + "/{id}/" + v.name, Role: tokens.Approver, Summary: v.summary, Body: approvalBody{}, State: true,
			Notes:   "Of an approval that waits in a session: the answer is taken once, and the call goes on at once. A value that does not fit the tool is refused by the process that has the connection, and denies by any other.",
			Query:   []api.Param{{Name: "by", Kind: api.TextParam, Help: "who decides, if not the token's owner; needs the role operator"}},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the approval, with its decision", Body: posthouse.Gate{}, Media: ""}}, Handle: s.decideApproval(v.verdict),
		})
	}
	return rs
}

func (s *Server) listApprovals(w http.ResponseWriter, r *api.Request) error {
	gates := []*Gate{}
	here := map[posthouse.ID]bool{}
	for _, as := range s.approvals.sessions() {
		for _, g := range as.Waiting() {
			gates, here[g.ID] = append(gates, s.listed(w, r, g, nil)), true
		}
	}
	if s.approvals.ledger != nil {
		now := s.ledger.Now()
		for g, err := range s.ledger.Gates(r.Context(), ledger.GateQuery{Kind: posthouse.GateSession}) {
			if g == nil {
				return err
			}
			if here[g.ID] || g.Decision != nil || !now.Before(g.ExpiresAt) {
				continue
			}
			gates = append(gates, s.listed(w, r, g, err))
		}
	}
	slices.SortFunc(gates, func(a, b *Gate) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return api.WriteJSON(w, http.StatusOK, gates)
}

func (s *Server) decideApproval(v posthouse.Verdict) api.Handler {
	return api.Reply(func(r *api.Request, b *approvalBody) (*posthouse.Gate, error) {
		id := r.ID("id")
		name := b.By
		if q, ok := r.Query["by"]; ok {
			name = q
		}
		by, sender, err := actingFor(r.Actor, name)
		if err != nil {
			return nil, err
		}
		d := posthouse.Decision{Verdict: v, By: by, Actor: sender, Reason: b.Reason, Value: b.Value}
		return s.approvals.each(id,
			func(as *gate.Session) (*posthouse.Gate, error) { return as.Decide(id, d) },
			func(relay gate.Relay) (*posthouse.Gate, error) { return relay.Decide(r.Context(), id, d) })
	})
}
