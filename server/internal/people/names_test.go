package people

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse/server/tokens"
)

// TestJudge says who may decide. Where people log in with accounts elsewhere, no role is the last word.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		known    string
		role     tokens.Role
		signedIn bool
		want     Decides
		why      string
	}{
		{"token", tokens.Approver, false, Yes, ""},
		{"token", tokens.Operator, true, Yes, ""},
		{"token", tokens.Viewer, false, No, "has the role viewer and cannot decide"},
		{"token", tokens.Viewer, true, Unknown, "had the role viewer so far"},
		{"login", tokens.Viewer, true, Unknown, "had the role viewer so far"},
		{"login", tokens.Approver, true, Yes, ""},
		{"token decided", tokens.Viewer, false, Yes, ""},
		{"token asked", tokens.Viewer, false, Yes, ""},
		{"token", "", false, Unknown, "has expired"},
		{"login", "", false, Unknown, "is gone"},
		{"delegate substitute", "", false, Unknown, "somebody wrote"},
		{"", "", true, Unknown, "no access token, login, decision or question"},
	} {
		p := &KnownPerson{Name: "kim", Known: strings.Fields(c.known), Role: c.role}
		(&Names{signedIn: c.signedIn}).judge(p)
		if p.Decides != c.want || !strings.Contains(p.Why, c.why) || (p.Why == "") != (c.want == Yes) {
			t.Errorf("%+v: %s, %q", c, p.Decides, p.Why)
		}
	}
}
