package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestFormatsOfAnswers prints one list in each format, and ids only.
func TestFormatsOfAnswers(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	first, second := string(d.Ask("first", "acme")), string(d.Ask("second", "bob"))
	var gates []struct{ ID string }
	for _, args := range [][]string{{"--json"}, {"-o", "json"}, {"--output=json"}} {
		if err := json.Unmarshal([]byte(d.Run(0, append([]string{"inbox"}, args...)...)), &gates); err != nil || len(gates) != 2 || gates[1].ID != first {
			t.Errorf("%v: %+v, %v", args, gates, err)
		}
	}
	lines := strings.Split(strings.TrimSpace(d.Run(0, "inbox", "-o", "jsonl")), "\n")
	if len(lines) != 2 || !json.Valid([]byte(lines[0])) || !strings.Contains(lines[0], second) {
		t.Errorf("as lines it is %q", lines)
	}
	clitest.Wants(t, "as YAML", d.Run(0, "inbox", "-o", "yaml"), "- id: "+second+"\n", "  payload:\n    amount: 10\n")
	if got := d.Run(0, "inbox", "-q"); got != second+"\n"+first+"\n" {
		t.Errorf("--quiet prints %q", got)
	}
	if got := d.Run(0, "thread", "list", "--quiet", "-o", "jsonl"); got != "\"second\"\n\"first\"\n" {
		t.Errorf("--quiet as lines prints %q", got)
	}
	if got := d.Run(0, "program", "list", "-q"); got != "pay\n" {
		t.Errorf("the programs' names are %q", got)
	}
	if got := d.Run(0, "inbox", "-q", "--limit", "1"); !strings.HasPrefix(got, second+"\nthere are more") {
		t.Errorf("the first of more is %q", got)
	}
	clitest.Wants(t, "an error", d.Run(3, "thread", "show", "none", "-o", "yaml"), "error:\n", "  code: not-found\n")
	clitest.Wants(t, "an error of later flags", d.Run(2, "inbox", "-o", "jsonl", "--nonsense"), `{"error":{`)
}

// TestFormatsThatDoNotFit: an unknown format is refused, and one of the command line goes before one of
// a variable.
func TestFormatsThatDoNotFit(t *testing.T) {
	d := clitest.New(t)
	clitest.Wants(t, "an unknown format", d.Run(2, "version", "-o", "xml"), "is not one of table, json, jsonl and yaml")
	clitest.Wants(t, "two formats", d.Run(2, "version", "-o", "yaml", "--json"), "and --output yaml exclude each other")
	clitest.Wants(t, "one format twice", d.Run(0, "version", "-o", "json", "--json"), `"version"`)
	d.Vars = map[string]string{"POSTHOUSE_OUTPUT": "yaml"}
	clitest.Wants(t, "a variable", d.Run(0, "version"), "version: ")
	clitest.Wants(t, "a flag beside a variable", d.Run(0, "version", "--json"), `"version"`)
	d.Vars = map[string]string{"POSTHOUSE_JSON": "true"}
	clitest.Wants(t, "the other variable", d.Run(0, "version"), `"version"`)
	if out := d.Run(0, "version", "-o", "table"); strings.Contains(out, `"version"`) {
		t.Errorf("a flag beside the other variable: %s", out)
	}
	d.Vars = map[string]string{"POSTHOUSE_OUTPUT": "toml"}
	clitest.Wants(t, "a variable that does not fit", d.Run(2, "version"), "POSTHOUSE_OUTPUT", "is not one of")
}
