package threads_test

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestEarlierWithdrawalsSayWhoCancelled has a gate that an earlier version withdrew when its branch was cancelled.
func TestEarlierWithdrawalsSayWhoCancelled(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	g := string(d.Ask("t", "acme"))
	must.Get(d.Ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindCancel, Status: posthouse.StatusCancelled, By: "ann", Error: "called off",
	}}))(t)
	for _, line := range [][]string{{"gate", "show", g}, {"grant", g}, {"log", "t"}, {"gate", "show", g, "--json"}, {"inbox", "--state", "withdrawn", "--json"}} {
		out := d.Run(0, line...)
		clitest.Wants(t, strings.Join(line, " "), out, "the branch was cancelled by ann: called off")
		if line[len(line)-1] != "--json" && strings.Contains(out, "went on without") {
			t.Errorf("%v says that the branch went on:\n%s", line, out)
		}
	}
}
