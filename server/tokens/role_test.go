package tokens

import "testing"

// TestMay: a role includes those before it, but a worker's is beside them.
func TestMay(t *testing.T) {
	may := map[Role][]Role{
		Viewer: {Viewer}, Approver: {Viewer, Approver}, Operator: {Viewer, Approver, Operator, Worker}, Worker: {Worker}, "": nil, "admin": nil,
	}
	for role, allowed := range may {
		n := 0
		for _, need := range append(Roles(), "admin", "") {
			if role.May(need) {
				n++
			}
		}
		for _, need := range allowed {
			if !role.May(need) {
				t.Errorf("%q may not do what %q may", role, need)
			}
		}
		if n != len(allowed) || role.Valid() != (allowed != nil) {
			t.Errorf("%q may do what %d roles may, want %d", role, n, len(allowed))
		}
	}
}
