package threads_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestListByPlace lists threads by the node and the version that they stand at. Shells complete both.
func TestListByPlace(t *testing.T) {
	desk := clitest.OpenDesk(t, memstore.New())
	must.Get(desk.App.Run(t.Context(), "asks", clitest.Payment{To: "acme", Amount: 1}))(t)
	_, err := desk.App.Run(t.Context(), "fails", clitest.Payment{To: "closed", Amount: 1})
	must.Do(t, err)
	version := desk.App.Describe().Version
	for line, want := range map[string]string{
		"--node propose": "asks fails", "--node transfer": "", "--version " + version: "asks fails", "--node propose --version other": "", "--node propose --graph other": "",
		"--node propose --search ask": "asks", "--unknown": "", "--node transfer --limit 1": "",
	} {
		var all []client.Thread
		must.Do(t, json.Unmarshal([]byte(desk.Run(0, append(strings.Fields("thread list --order asc --json"), strings.Fields(line)...)...)), &all))
		var names []string
		for _, th := range all {
			names = append(names, th.Thread)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s lists %q, want %q", line, got, want)
		}
	}
	clitest.Wants(t, "one of them", desk.Run(0, "thread", "list", "--node", "propose", "--limit", "1"), "there are more: --limit 0 shows all")
	clitest.Wants(t, "no thread", desk.Run(0, "thread", "list", "--node", "transfer"), "no threads")
	clitest.Wants(t, "versions", desk.Complete("thread", "list", "--version", ""), version+"\tof pay")
	clitest.Wants(t, "nodes", desk.Complete("thread", "list", "--node", ""), "propose\tof pay\n", "transfer\tof pay\n")
	clitest.Wants(t, "programs", desk.Complete("thread", "list", "--graph", ""), "pay\tgraph")
	if said := desk.Complete("log", "asks", "--version", ""); strings.Contains(said, version) {
		t.Errorf("versions that were released are completed with %q", said)
	}
}
