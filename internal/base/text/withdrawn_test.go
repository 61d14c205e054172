package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestBranchCancelledSaysWhoAndWhy has a reason of any length, which is cut between characters.
func TestBranchCancelledSaysWhoAndWhy(t *testing.T) {
	for _, c := range []struct{ by, reason, want string }{
		{"", "", "the branch was cancelled"},
		{"ann", "", "the branch was cancelled by ann"},
		{"ann", "called off", "the branch was cancelled by ann: called off"},
		{"", "called off", "the branch was cancelled: called off"},
	} {
		if got := BranchCancelled(c.by, c.reason); got != c.want {
			t.Errorf("%q, %q is told as %q, want %q", c.by, c.reason, got, c.want)
		}
	}
	if got := BranchCancelled("ann", "x"+strings.Repeat("é", 2000)); !utf8.ValidString(got) || len(got) > 300 || !strings.HasSuffix(got, "é…") {
		t.Errorf("a long reason is told as %q", got)
	}
}
