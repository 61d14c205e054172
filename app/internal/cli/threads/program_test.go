package threads_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestProgramCommands lists and shows programs, for people and as JSON.
func TestProgramCommands(t *testing.T) {
	desk := clitest.OpenDesk(t, memstore.New())
	clitest.Wants(t, "the list", desk.Run(0, "program", "list"), "PROGRAM", "KIND", "pay", "graph", "yes", "Pays what somebody approved")
	var all []posthouse.ProgramInfo
	if err := json.Unmarshal([]byte(desk.Run(0, "program", "ls", "--json")), &all); err != nil || len(all) != 1 || all[0].Name != "pay" || !all[0].Starts {
		t.Errorf("the list as JSON is %+v, %v", all, err)
	}
	clitest.Wants(t, "the program", desk.Run(0, "program", "show", "pay"), "kind ", "graph", "about ", "input:\n", `"Amount": {`, "state:\n",
		"question pay: Pay this order?", "payload:\n", `"description": "the account"`, "next: posthouse run start pay INPUT")
	var one posthouse.ProgramInfo
	if err := json.Unmarshal([]byte(desk.Run(0, "program", "show", "pay", "--json")), &one); err != nil || one.Input == nil || one.Version == "" {
		t.Errorf("the program as JSON is %+v, %v", one, err)
	}
	lines := strings.Split(desk.Run(0, "program", "show", "pay"), "\n")
	for _, want := range []string{"input:", `    "Amount": {`} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line of program show is %q: %q", want, lines)
		}
	}
	clitest.Wants(t, "an unknown program", desk.Run(3, "program", "show", "pya"), "pya", "there is pay")
}

// TestRunStart begins runs with JSON of the command line, of a file, and of nothing, and says what
// is wrong with others.
func TestRunStart(t *testing.T) {
	desk := clitest.OpenDesk(t, memstore.New())
	out := desk.Run(0, "run", "start", "pay", `{"To":"acme","Amount":10}`, "--id", "order-1", "--label", "tenant=acme", "--label", "note=a=b")
	clitest.Wants(t, "the answer", out, "order-1", "running", "next: posthouse log order-1")
	h, err := desk.App.Wait(t.Context(), "order-1")
	if err != nil || h.Status != posthouse.StatusWaiting || h.State.To != "acme" || len(h.Gates) != 1 {
		t.Fatalf("it is %+v, %v", h, err)
	}
	clitest.Wants(t, "the inbox", desk.Run(0, "inbox"), "Pay this order?")
	if _, err := desk.Ledger.Decide(t.Context(), h.Gates[0], posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		t.Fatal(err)
	}
	h, err = desk.App.Wait(t.Context(), "order-1")
	if err != nil || h.Status != posthouse.StatusDone || h.State.Done != "paid" {
		t.Errorf("approved it is %+v, %v", h, err)
	}

	clitest.Wants(t, "a run to come", desk.Run(0, "run", "start", "pay", `{"To":"acme","Amount":10}`, "--id", "later", "--at", "2d"), "status", "waiting", "starts")
	clitest.Wants(t, "the list", desk.Run(0, "thread", "list"), "later", "starts at 20")
	clitest.Wants(t, "cancelled", desk.Run(0, "thread", "cancel", "later"), "cancelled")

	file := filepath.Join(t.TempDir(), "input.json")
	if err := os.WriteFile(file, []byte(`{"To":"abc","Amount":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var run struct{ Thread, Status, Program string }
	if err := json.Unmarshal([]byte(desk.Run(0, "run", "start", "pay", "@"+file, "--json")), &run); err != nil || run.Thread == "" || run.Program != "pay" {
		t.Errorf("as JSON: %+v, %v", run, err)
	}
	for _, x := range []struct {
		code int
		want string
		args []string
	}{
		{4, "order-1 exists already", []string{"pay", `{}`, "--id", "order-1"}},
		{2, "input.Amout is not known; there is To, Amount", []string{"pay", `{"Amout":1}`}},
		{2, "input must be an object, not null", []string{"pay"}},
		{2, "neither a time nor a duration", []string{"pay", "{}", "--at", "soon"}},
		{2, "startAt is past", []string{"pay", "{}", "--at", "2020-01-01T00:00:00Z"}},
		{2, "the limit is 366 days", []string{"pay", "{}", "--at", "400d"}},
		{2, "text needs quotes of its own", []string{"pay", "hello"}},
		{2, "label is not key=value", []string{"pay", "{}", "--label", "x"}},
		{2, "label gives x twice", []string{"pay", "{}", "--label", "x=1", "--label", "x=2"}},
		{3, "there is pay", []string{"pya", "{}"}},
	} {
		if out := desk.Run(x.code, append([]string{"run", "start"}, x.args...)...); !strings.Contains(out, x.want) {
			t.Errorf("%q prints\n%s\nwant %q", x.args, out, x.want)
		}
	}
}

// TestProgramShowDraws prints a picture as it is: people take it from the terminal to a page.
func TestProgramShowDraws(t *testing.T) {
	const picture = "flowchart TD\n    start --> pay\n    pay --> done\n"
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(posthouse.ProgramInfo{Name: "pay", Kind: posthouse.ProgramGraph, Picture: picture})
	}))
	defer other.Close()
	clitest.Wants(t, "the program", clitest.New(t).Run(0, "program", "show", "pay", "--server", other.URL), "\npicture:\n"+picture)
}
