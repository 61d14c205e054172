package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
)

// approvals holds the sessions of the open conversations, whose tools ask on
// the connection; see [gate.Require].
type approvals struct {
	mu   sync.Mutex
	open map[*gate.Session]bool
}

func (a *approvals) begin(o *gate.SessionOptions) *gate.Session {
	s := gate.NewSession(o)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = map[*gate.Session]bool{}
	}
	a.open[s] = true
	return s
}

// end denies what still waits in a session.
func (a *approvals) end(s *gate.Session) {
	a.mu.Lock()
	delete(a.open, s)
	a.mu.Unlock()
	s.Close()
}

func (a *approvals) sessions() []*gate.Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]*gate.Session, 0, len(a.open))
	for s := range a.open {
		list = append(list, s)
	}
	return list
}

// each offers an answer to one session after the other, until one has the
// approval.
func (a *approvals) each(id posthouse.ID, answer func(*gate.Session) (*posthouse.Gate, error)) (*posthouse.Gate, error) {
	for _, s := range a.sessions() {
		if g, err := answer(s); !errors.Is(err, posthouse.ErrNotFound) {
			return g, err
		}
	}
	e := notFound("approval that waits:", string(id))
	e.Hint = "it was answered, ran out, or its connection closed"
	return nil, e
}

// approvalEvent is what the client of a conversation is told of an approval.
type approvalEvent struct {
	Type      string              `json:"type"` // approval_required, approval_resolved or approval_refused
	ID        posthouse.ID        `json:"id"`
	Tool      string              `json:"tool,omitempty"`
	Arguments json.RawMessage     `json:"arguments,omitempty"`
	Message   string              `json:"message,omitempty"`
	Expires   int                 `json:"expiresInSeconds,omitempty"`
	Decision  *posthouse.Decision `json:"decision,omitempty"`
	Error     *Problem            `json:"error,omitempty"`
}

func requiredEvent(g *posthouse.Gate) approvalEvent {
	return approvalEvent{
		Type: "approval_required", ID: g.ID, Tool: g.Name, Arguments: g.Payload, Message: g.Text,
		Expires: int(g.ExpiresAt.Sub(g.CreatedAt).Seconds()),
	}
}

// resolve takes an answer that came in by a conversation.
func (s *Server) resolve(m gate.Message, actor Token) (*posthouse.Gate, error) {
	if err := permit(actor, Approver); err != nil {
		return nil, err
	}
	by, sender, err := actingFor(actor, m.By)
	if err != nil {
		return nil, err
	}
	return s.approvals.each(m.ID, func(as *gate.Session) (*posthouse.Gate, error) { return as.Answer(m, by, sender) })
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

func approvalRoutes() []*route {
	const path = "/api/approvals"
	rs := []*route{{
		method: http.MethodGet, path: path, role: Viewer, summary: "List approvals that wait in a session", handle: (*Server).listApprovals,
		notes:   "Those of tools whose caller is connected to this process. They end with their connection; the inbox has what is durable.",
		answers: []answer{{http.StatusOK, "approvals, the oldest first", []posthouse.Gate{}, ""}},
	}}
	for _, v := range approvalVerbs {
		rs = append(rs, &route{
			method: http.MethodPost, path: path + "/{id}/" + v.name, role: Approver, summary: v.summary, body: approvalBody{}, state: true,
			notes:   "Of an approval that waits in a session of this process: the answer is taken once, and the call goes on at once.",
			query:   []param{{name: "by", kind: textParam, help: "who decides, if not the token's owner; needs the role operator"}},
			answers: []answer{{http.StatusOK, "the approval, with its decision", posthouse.Gate{}, ""}}, handle: decideApproval(v.verdict),
		})
	}
	return rs
}

func (s *Server) listApprovals(w http.ResponseWriter, _ *request) error {
	gates := []*posthouse.Gate{}
	for _, as := range s.approvals.sessions() {
		gates = append(gates, as.Waiting()...)
	}
	slices.SortFunc(gates, func(a, b *posthouse.Gate) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return writeJSON(w, http.StatusOK, gates)
}

func decideApproval(v posthouse.Verdict) func(*Server, http.ResponseWriter, *request) error {
	return func(s *Server, w http.ResponseWriter, r *request) error {
		id, err := r.id("id")
		if err != nil {
			return err
		}
		var b approvalBody
		if err := r.decode(&b); err != nil {
			return err
		}
		name := b.By
		if q, ok := r.query["by"]; ok {
			name = q
		}
		by, sender, err := actingFor(r.actor, name)
		if err != nil {
			return err
		}
		g, err := s.approvals.each(id, func(as *gate.Session) (*posthouse.Gate, error) {
			return as.Decide(id, posthouse.Decision{Verdict: v, By: by, Actor: sender, Reason: b.Reason, Value: b.Value})
		})
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, g)
	}
}
