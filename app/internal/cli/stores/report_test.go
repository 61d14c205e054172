package stores

import (
	"testing"

	"github.com/posthouse/posthouse/sign"
)

// TestReportCountsEffectsAtWorkers: verify says how many effects under a grant workers had, and
// of how many the outcome is unknown.
func TestReportCountsEffectsAtWorkers(t *testing.T) {
	for want, r := range map[string]sign.Report{
		"":                              {Granted: 1},
		" (1 at workers in 2 attempts)": {Granted: 1, AtWorkers: 1, Attempts: 2},
		" (1 with an unknown outcome)":  {Granted: 1, Unknown: 1},
		" (2 at workers in 1 attempt, 1 with an unknown outcome)": {Granted: 2, AtWorkers: 2, Attempts: 1, Unknown: 1},
	} {
		if got := moreOfEffects(&r); got != want {
			t.Errorf("the report says %q, want %q", got, want)
		}
	}
}
