package threads_test

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/threads"
)

// TestEachVerdictHasItsCommand looks for the command, its help and its flags.
func TestEachVerdictHasItsCommand(t *testing.T) {
	cmds := threads.Decide(&env.Env{})
	given := posthouse.GivenVerdicts()
	if len(cmds) != len(given) {
		t.Fatalf("%d commands for the verdicts %v", len(cmds), given)
	}
	for i, verdict := range given {
		c := cmds[i]
		if c.Name() != string(verdict) || c.Short != verdict.Info().Summary() {
			t.Errorf("the command of verdict %s is %s: %s", verdict, c.Name(), c.Short)
		}
		if !strings.Contains(c.Example, "posthouse "+string(verdict)+" ") {
			t.Errorf("the command %s has no example of its own: %q", verdict, c.Example)
		}
		if has := c.Flags().Lookup("value") != nil; has != verdict.TakesValue() {
			t.Errorf("verdict %s takes a value: %v; its command has --value: %v", verdict, verdict.TakesValue(), has)
		}
	}
}
