package server

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/internal/conversation"
	"github.com/posthouse/posthouse/server/tokens"
)

// approvals are /api/approvals: what tools ask for on the connections of conversations; see
// [gate.Require].
type approvals struct {
	ledger *ledger.Ledger
	tools  *conversation.ToolApprovals
}

type approvalBody struct {
	By     string          `json:"by,omitempty" doc:"who decides, if not the token's owner; needs the role operator"`
	Reason string          `json:"reason,omitempty" doc:"at most 4,000 bytes"`
	Value  json.RawMessage `json:"value,omitempty" doc:"the changed arguments of edit, the answer of respond"`
}

func (a *approvals) Routes() []*api.Route {
	const path = "/api/approvals"
	rs := []*api.Route{{
		Method: http.MethodGet, Path: path, Role: tokens.Viewer, Summary: "List approvals that wait in a session", Handle: a.list,
		Notes:   "Those of tools whose caller is connected, to this process or to another over the same store. They end with their connection; the inbox has what is durable.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "approvals, the oldest first", Body: api.List[*Gate]{}, Media: ""}},
	}}
	for _, verdict := range posthouse.GateVerdicts() {
		v := verdict.Info()
		rs = append(rs, &api.Route{
			Method: http.MethodPost, Path: path + "/{id}/" + v.Tool, Role: tokens.Approver, Summary: v.ToolMeans, Body: approvalBody{}, State: true,
			Notes:   "Of an approval that waits in a session: the answer is taken once, and the call goes on at once. A value that does not fit the tool is refused by the process that has the connection, and denies by any other.",
			Query:   []api.Param{{Name: "by", Kind: api.TextParam, Help: "who decides, if not the token's owner; needs the role operator"}},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the approval, with its decision", Body: posthouse.Gate{}, Media: ""}}, Handle: a.decide(verdict),
		})
	}
	return rs
}

func (a *approvals) list(w http.ResponseWriter, r *api.Request) error {
	all := []*Gate{}
	here := map[posthouse.ID]bool{}
	for _, as := range a.tools.Sessions() {
		for _, g := range as.Waiting() {
			all, here[g.ID] = append(all, listed(w, r, a.ledger, g, nil, nil)), true
		}
	}
	if a.tools.Shared() {
		now := a.ledger.Now()
		for g, err := range a.ledger.Gates(r.Context(), ledger.GateQuery{Kind: posthouse.GateSession}) {
			if g == nil {
				return err
			}
			if here[g.ID] || g.Decision != nil || !now.Before(g.ExpiresAt) {
				continue
			}
			all = append(all, listed(w, r, a.ledger, g, nil, err))
		}
	}
	slices.SortFunc(all, func(a, b *Gate) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return api.WriteList(w, r, api.List[*Gate]{Items: all})
}

func (a *approvals) decide(v posthouse.Verdict) api.Handler {
	return api.Reply(func(r *api.Request, b *approvalBody) (*posthouse.Gate, error) {
		id := r.ID("id")
		name := b.By
		if q, ok := r.Query["by"]; ok {
			name = q
		}
		by, sender, err := auth.ActingFor(r.Actor, name)
		if err != nil {
			return nil, err
		}
		d := posthouse.Decision{Verdict: v, By: by, Actor: sender, Reason: b.Reason, Value: b.Value}
		return a.tools.Answer(id,
			func(as *gate.Session) (*posthouse.Gate, error) { return as.Decide(id, d) },
			func(relay gate.Relay) (*posthouse.Gate, error) { return relay.Decide(r.Context(), id, d) })
	})
}
