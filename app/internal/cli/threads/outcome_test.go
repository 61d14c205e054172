package threads_test

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestApprovalReportsTheHead: an approval, a resume, a replay and a fork that runs print
// the head of the branch with its failure and its effects, and end with exit code 1 if it
// failed.
func TestApprovalReportsTheHead(t *testing.T) {
	for name, open := range map[string]func() (posthouse.Store, error){
		"memory": func() (posthouse.Store, error) { return memstore.New(), nil },
		"sqlite": func() (posthouse.Store, error) { return sqlitestore.Open(t.Context(), t.TempDir()+"/a.db", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			store, err := open()
			if err != nil {
				t.Fatal(err)
			}
			const why = "bank: account 4711 is closed"
			d := clitest.OpenDesk(t, store)
			out := d.Run(0, "approve", string(d.Ask("good", "acme")))
			clitest.Wants(t, "an approval", out, "status        done", "effects", "transfer  executed")
			g := d.Ask("bad", "closed")
			out = d.Run(1, "approve", string(g))
			clitest.Wants(t, "an approval whose payment fails", out, "status        failed", why, "transfer  not done")
			clitest.Wants(t, "the log", d.Run(0, "log", "bad"), why)
			info, err := d.Ledger.Thread(t.Context(), "bad")
			if err != nil {
				t.Fatal(err)
			}
			head := string(info.Branches[0].Head)
			clitest.Wants(t, "checkpoint show", d.Run(0, "checkpoint", "show", head), why)
			clitest.Wants(t, "checkpoint show --json", d.Run(0, "checkpoint", "show", head, "--json"), why)
			clitest.Wants(t, "checkpoint list", d.Run(0, "checkpoint", "list", "--thread", "bad"), why)
			clitest.Wants(t, "thread show", d.Run(0, "thread", "show", "bad"), why)
			clitest.Wants(t, "a resume", d.Run(1, "resume", "bad"), "failed", why)
			clitest.Wants(t, "a resume as JSON", d.Run(1, "resume", "bad", "--json"), `"error": "`, why)
			cp, err := d.Ledger.Gate(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			out = d.Run(0, "replay", string(cp.Checkpoint))
			clitest.Wants(t, "a replay that asks", out, "waiting")
			out = d.Run(0, "checkpoint", "fork", head, "--run")
			clitest.Wants(t, "a fork that runs, and asks", out, "waiting")
			g = d.Ask("edited", "closed")
			out = d.Run(1, "edit", string(g), "--value", `{"to":"closed","amount":5}`)
			clitest.Wants(t, "an edit whose payment fails", out, "failed", why)
		})
	}
}

// TestForkTakesKnownPartsOnly: a misspelt part, or a value that does not fit, is refused
// with the names there are, before there is a branch.
func TestForkTakesKnownPartsOnly(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	g, err := d.Ledger.Gate(t.Context(), d.Ask("t", "acme"))
	if err != nil {
		t.Fatal(err)
	}
	cp := string(g.Checkpoint)
	out := d.Run(2, "checkpoint", "fork", cp, "--patch", `{"Amuont":99}`, "--run")
	clitest.Wants(t, "a misspelt part", out, "Amuont", "To, Amount, Grant, Done")
	out = d.Run(2, "checkpoint", "fork", cp, "--patch", `{"Amount":"x"}`)
	clitest.Wants(t, "a wrong type", out, "Amount must be a whole number, not text")
	if strings.Contains(out, "Go ") || strings.Contains(out, "json:") {
		t.Errorf("text of Go's: %s", out)
	}
	info, err := d.Ledger.Thread(t.Context(), "t")
	if err != nil || len(info.Branches) != 1 {
		t.Errorf("branches %+v, %v", info.Branches, err)
	}
	d.Run(0, "checkpoint", "fork", cp, "--patch", `{"Amount":99,"Done":""}`)
}
