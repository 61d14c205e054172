package deciders_test

import (
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
)

// TestOneSpellingIsAsGoodAsAnother: who asked does not approve under another spelling of their name, nobody votes twice, and
// an assignee is asked in whatever spelling.
func TestOneSpellingIsAsGoodAsAnother(t *testing.T) {
	now := time.Now()
	for _, name := range []string{"ann@example.com", "Ann@example.com", "ANN@EXAMPLE.COM", "\uff41nn@example.com"} {
		asked := &posthouse.Gate{ID: "g", Kind: posthouse.GateApproval, RequestedBy: "ann@example.com"}
		if err := deciders.MayDecide(asked, name, posthouse.Approve, now); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("%s approves what ann@example.com asked: %v", name, err)
		}
		votes := &posthouse.Gate{ID: "g", Kind: posthouse.GateApproval, Quorum: &posthouse.Quorum{Need: 2}, Verdicts: posthouse.VoteVerdicts(), Votes: []posthouse.Decision{{By: "ann@example.com", Verdict: posthouse.Approve}}}
		if err := deciders.MayDecide(votes, name, posthouse.Approve, now); !errors.Is(err, posthouse.ErrVoted) {
			t.Errorf("%s votes after ann@example.com: %v", name, err)
		}
		assigned := &posthouse.Gate{ID: "g", Kind: posthouse.GateApproval, Assignees: []string{"Ann@Example.com"}}
		if err := deciders.MayDecide(assigned, name, posthouse.Approve, now); err != nil {
			t.Errorf("%s is asked as Ann@Example.com: %v", name, err)
		}
	}
}
