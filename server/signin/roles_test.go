package signin

import (
	"errors"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/tokens"
)

func ExampleRoles() {
	var roles Roles
	for _, text := range []string{"viewer=*", "approver=group:finance", "operator=ann@example.com"} {
		r, _ := ParseRule(text)
		roles = append(roles, r)
	}
	for _, p := range []struct{ name, group string }{{"ann@example.com", "finance"}, {"bob@example.com", "finance"}, {"eve@example.com", "sales"}} {
		role, _ := roles.Of(p.name, []string{p.group})
		fmt.Println(p.name, role)
	}
	// Output:
	// ann@example.com operator
	// bob@example.com approver
	// eve@example.com viewer
}

func TestRolesOfNobody(t *testing.T) {
	if role, ok := (Roles)(nil).Of("ann", nil); ok || role != "" {
		t.Errorf("without rules somebody has the role %q", role)
	}
	r, err := ParseRule("operator=group:finance")
	must.Do(t, err)
	if role, ok := (Roles{r}).Of("group:finance", []string{"", "Finance"}); ok {
		t.Errorf("a name that looks like a group has the role %q", role)
	}
}

func FuzzParseRule(f *testing.F) {
	f.Add("viewer=*")
	f.Add("approver=group:finance")
	f.Add("worker=ann")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRule(text)
		if err != nil {
			if !errors.Is(err, posthouse.ErrInvalid) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if r.Role == tokens.Worker || r.Name == "" && r.Group == "" && !r.All {
			t.Errorf("%q is %+v", text, r)
		}
	})
}
