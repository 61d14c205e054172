package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
)

// TestManualPages writes the pages of a team's own binary: each command has one, with its flags
// and examples, and no line of its help is taken for a request of man.
func TestManualPages(t *testing.T) {
	d := clitest.New(t)
	d.Config = cli.Config{Name: "shop", Version: "v1.2.3"}
	dir := filepath.Join(t.TempDir(), "man1")
	var answer struct{ Pages []string }
	if err := json.Unmarshal([]byte(d.Run(posthouse.ExitOK, "man", dir, "--json")), &answer); err != nil {
		t.Fatal(err)
	}
	request := regexp.MustCompile(`(?m)^[.'].*`)
	known := regexp.MustCompile(`^\.(TH|SH|B|BR|TP|PP|nf|fi)\b`)
	also := regexp.MustCompile(`(?m)^\.BR (\S+) \(1\)`)
	for _, name := range answer.Pages {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		page := string(data)
		clitest.Wants(t, name, page, `.TH "SHOP`, `"shop v1.2.3"`, ".SH \"NAME\"\nshop", ".SH \"SYNOPSIS\"\n.B shop", `\fB\-\-json\fR`)
		for _, r := range request.FindAllString(page, -1) {
			if !known.MatchString(r) {
				t.Errorf("%s has the line %q, which man takes for a request", name, r)
			}
		}
		if strings.Contains(page, "posthouse serve") {
			t.Errorf("%s names another binary's commands", name)
		}
		for _, m := range also.FindAllStringSubmatch(page, -1) {
			if _, err := os.Stat(filepath.Join(dir, strings.ReplaceAll(m[1], `\-`, "-")+".1")); err != nil {
				t.Errorf("%s leads to a page that there is not: %v", name, err)
			}
		}
	}
	if len(answer.Pages) < 50 || answer.Pages[0] != "shop.1" {
		t.Errorf("%d pages, the first %q: want one for each command", len(answer.Pages), answer.Pages[0])
	}
	serve, err := os.ReadFile(filepath.Join(dir, "shop-serve.1"))
	if err != nil {
		t.Fatal(err)
	}
	clitest.Wants(t, "the page of serve", string(serve), `\fB\-\-addr\fR \fIstring\fR`, `(default 127.0.0.1:8095)`, ".SH \"EXAMPLES\"\n.nf\n  shop serve\n", `.BR shop (1)`)
	show(t, filepath.Join(dir, "shop-serve.1"))

	file := filepath.Join(dir, "shop.1")
	clitest.Wants(t, "man into a file", d.Run(posthouse.ExitUsage, "man", file), "DIR cannot be written to")
}

// show has groff read a page, where it is installed: it warns of what it does not understand.
func show(t *testing.T, page string) {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Logf("there is no groff here: %v", err)
		return
	}
	out, err := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww", "-z", page).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("groff of %s: %v\n%s", page, err, out)
	}
}
