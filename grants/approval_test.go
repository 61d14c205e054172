package grants_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
)

// TestApprovalOf goes through what ends an approval, one cause at a time.
func TestApprovalOf(t *testing.T) {
	decided := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	soon, late := decided.Add(time.Minute), decided.Add(2*time.Hour)
	use := func(branch string, s grants.Status) grants.Use { return grants.Use{Branch: branch, Status: s} }
	executed, failed, unknown := use("main", grants.Executed), use("main", grants.Decided), use("main", grants.Unknown)
	for name, c := range map[string]struct {
		change func(*posthouse.Gate)
		uses   []grants.Use
		now    time.Time
		want   grants.Approval
	}{
		"nothing ran":                    {now: soon, want: grants.ApprovalUsable},
		"it ran":                         {uses: []grants.Use{executed}, now: soon, want: grants.ApprovalUsed},
		"one of two ran":                 {change: func(g *posthouse.Gate) { g.Uses = 2 }, uses: []grants.Use{executed}, now: soon, want: grants.ApprovalUsable},
		"two of two ran":                 {change: func(g *posthouse.Gate) { g.Uses = 2 }, uses: []grants.Use{executed, executed}, now: soon, want: grants.ApprovalUsed},
		"it is known not to have acted":  {uses: []grants.Use{failed}, now: soon, want: grants.ApprovalUsable},
		"its outcome is unknown":         {uses: []grants.Use{unknown}, now: soon, want: grants.ApprovalUsable},
		"a fork inherited what ran":      {uses: []grants.Use{use("fork", grants.Executed)}, now: soon, want: grants.ApprovalUsable},
		"past its validity":              {now: late, want: grants.ApprovalLapsed},
		"past its validity, outcome due": {uses: []grants.Use{unknown}, now: late, want: grants.ApprovalUsable},
		"past its validity, and it ran":  {uses: []grants.Use{executed}, now: late, want: grants.ApprovalUsed},
		"not decided":                    {change: func(g *posthouse.Gate) { g.Decision = nil }, now: soon, want: grants.ApprovalNone},
		"rejected":                       {change: func(g *posthouse.Gate) { g.Decision.Verdict = posthouse.Reject }, now: soon, want: grants.ApprovalNone},
		"an answer of gate.Ask":          {change: func(g *posthouse.Gate) { g.Uses = 0 }, now: soon, want: grants.ApprovalNone},
		"a copy":                         {change: func(g *posthouse.Gate) { g.Origin = "elsewhere" }, now: soon, want: grants.ApprovalNone},
		"its branch is gone":             {change: func(g *posthouse.Gate) { g.Branch = "gone" }, now: soon, want: grants.ApprovalEnded},
		"its version was released":       {change: func(g *posthouse.Gate) { g.Seq = 2 }, now: soon, want: grants.ApprovalEnded},
		"it is of another thread":        {change: func(g *posthouse.Gate) { g.Thread = "t2" }, now: soon, want: grants.ApprovalEnded},
	} {
		g := &posthouse.Gate{Decision: &posthouse.Decision{Verdict: posthouse.Approve, By: "alice", At: decided}, Uses: 1, ValidFor: time.Hour}
		g.Thread, g.Branch, g.Seq = "t1", "main", 5
		if c.change != nil {
			c.change(g)
		}
		info := &posthouse.ThreadInfo{Thread: "t1", First: 3, Branches: []posthouse.BranchHead{{Branch: "main"}}}
		if got := grants.ApprovalOf(g, c.uses, info, c.now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
