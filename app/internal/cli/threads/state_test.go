package threads_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestStateSet goes on with another state by both kinds of patch, and changes nothing where a test in a
// patch fails.
func TestStateSet(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	d.Ask("order-1", "acme")
	was := d.Run(0, "state", "get", "order-1", "--json")
	var parts map[string]json.RawMessage
	if err := json.Unmarshal([]byte(was), &parts); err != nil || len(parts) == 0 {
		t.Fatalf("the state is %s, %v", was, err)
	}
	name := ""
	for name = range parts {
		break
	}
	path, value := "/"+name, string(parts[name])
	patch := `[{"op":"test","path":"` + path + `","value":` + value + `},{"op":"replace","path":"` + path + `","value":` + value + `}]`
	d.Run(0, "state", "set", "order-1", patch, "--branch", "same")
	if now := d.Run(0, "state", "get", "order-1", "--branch", "same", "--json"); now != was {
		t.Errorf("the state is %s, want %s", now, was)
	}
	d.Run(0, "state", "set", "order-1", `{"`+name+`":`+value+`}`, "--thread", "copy")
	clitest.Wants(t, "a test that fails", d.Run(4, "state", "set", "order-1", `[{"op":"test","path":"`+path+`","value":{"no":1}}]`, "--branch", "never"), path, "found another value")
	clitest.Wants(t, "no JSON", d.Run(2, "state", "set", "order-1", `{`), "is not JSON")
	if list := d.Run(0, "thread", "show", "order-1"); strings.Contains(list, "never") {
		t.Errorf("a patch that failed made a branch: %s", list)
	}
	clitest.Wants(t, "a dry run", d.Run(0, "state", "set", "order-1", `{}`, "--dry-run", "--json"), "kept")
}
