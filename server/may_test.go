package server

import (
	"net/http"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestListsSayWhoMayDecide lists gates to each role: what a client offers must be
// what the server takes.
func TestListsSayWhoMayDecide(t *testing.T) {
	h := open(t, nil)
	_, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t1", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting,
	}, Gates: []posthouse.Gate{
		{Name: "anybody's"},
		{Name: "own", RequestedBy: "approver-token"},
		{Name: "assigned", Assignees: []string{"operator-token"}},
		{Name: "yes or no", Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject}},
		{Name: "two", Quorum: &posthouse.Quorum{Need: 2}},
	}})
	must.Do(t, err)
	const all = "approve reject edit respond"
	want := map[tokens.Role]map[string]string{
		tokens.Viewer:   {},
		tokens.Approver: {"anybody's": all + " snooze", "own": "reject", "yes or no": "approve reject snooze", "two": "approve reject snooze"},
		tokens.Operator: {"anybody's": all + " snooze", "own": all + " snooze", "assigned": all + " delegate snooze", "yes or no": "approve reject snooze", "two": "approve reject snooze"},
	}
	list := func(r tokens.Role) (gates []Gate) {
		h.send(ask{method: "GET", path: "/api/gates", as: r}).want(http.StatusOK).into(&gates)
		return gates
	}
	for _, r := range []tokens.Role{tokens.Viewer, tokens.Approver, tokens.Operator} {
		var me myself
		h.send(ask{method: "GET", path: "/api/me", as: r}).want(http.StatusOK).into(&me)
		if me != (myself{string(r) + "-token", r}) {
			t.Errorf("%s is %+v", r, me)
		}
		for _, g := range list(r) {
			var may string
			for i, v := range g.May {
				if i > 0 {
					may += " "
				}
				may += string(v)
			}
			if may != want[r][g.Name] || (g.Barred != "") != slices.ContainsFunc(posthouse.GateVerdicts(), func(v posthouse.Verdict) bool {
				return g.Allows(v) && !slices.Contains(g.May, Action(v))
			}) {
				t.Errorf("%s of %q: may %q, want %q; %q", r, g.Name, may, want[r][g.Name], g.Barred)
			}
		}
	}
	var mine []Gate
	h.send(ask{method: "GET", path: "/api/gates?assignee=me&order=asc", as: tokens.Approver}).want(http.StatusOK).into(&mine)
	if names := namesOf(mine); !slices.Equal(names, []string{"anybody's", "yes or no", "two"}) {
		t.Errorf("an approver's inbox has %v: what they asked for themselves is for others", names)
	}
	two := list(tokens.Approver)[0]
	h.send(ask{method: "POST", path: "/api/gates/" + string(two.ID) + "/approve", as: tokens.Approver}).want(http.StatusAccepted)
	if now := list(tokens.Approver)[0]; len(now.May) != 0 || now.Barred == "" {
		t.Errorf("who has voted may still %v", now.May)
	}
}

func namesOf(gates []Gate) (names []string) {
	for _, g := range gates {
		names = append(names, g.Name)
	}
	return names
}

// myself is what /api/me answers.
type myself struct {
	Name string
	Role tokens.Role
}
