package deciders_test

import (
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
)

// A right that a requester handed on, as earlier versions allowed, is good for no one.
func TestRightsFromARequester(t *testing.T) {
	for _, q := range []*posthouse.Quorum{nil, {Need: 2}} {
		g := posthouse.Gate{
			Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject}, Assignees: []string{"alice", "bob"}, RequestedBy: "bob", Quorum: q,
			Assignments: []posthouse.Assignment{{By: "bob", To: []string{"carl"}}, {By: "carl", To: []string{"puppet"}}},
		}
		if err := deciders.MayDecide(&g, "puppet", posthouse.Approve, time.Now()); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("quorum %+v: %v", q, err)
		}
		if err := deciders.MayDecide(&g, "alice", posthouse.Approve, time.Now()); err != nil {
			t.Errorf("quorum %+v: %v", q, err)
		}
	}
}
