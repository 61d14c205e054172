package cli

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
)

// TestBinaryOfAnotherName reads all help of a binary that is not ours: command
// lines name it, and only commands that it has.
func TestBinaryOfAnotherName(t *testing.T) {
	var out bytes.Buffer
	c := Config{Name: "shop", Version: "v7", Programs: func(context.Context, *host.Env) (*host.Set, error) { return nil, nil }}
	run := func(code int, args ...string) string {
		t.Helper()
		out.Reset()
		if got := Run(t.Context(), args, &c, func(string) string { return "" }, func() []string { return nil }, term.Term{In: strings.NewReader(""), Out: &out, Err: &out}); got != code {
			t.Errorf("%v: exit code %d, want %d\n%s", args, got, code, &out)
		}
		return out.String()
	}
	ours := regexp.MustCompile(`posthouse [a-z-]+`)
	var walk func(path ...string)
	walk = func(path ...string) {
		help := run(0, append(append([]string{}, path...), "--help")...)
		for _, line := range ours.FindAllString(help, -1) {
			if !slices.Contains([]string{"posthouse below", "posthouse stores"}, line) { // words, not commands
				t.Errorf("%v --help says %q", path, line)
			}
		}
		cmd, _, err := Root(&c).Find(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cmd.Commands() {
			walk(append(append([]string{}, path...), c.Name())...)
		}
	}
	walk()
	if said := run(0, "version"); !strings.HasPrefix(said, "shop v7 (") {
		t.Error(said)
	}
	if said := run(2, "dev"); !strings.Contains(said, "see: shop --help") {
		t.Error(said)
	}
	if said := run(3, "verify", "--data-dir", t.TempDir()); !strings.Contains(said, "shop serve makes one") {
		t.Error(said)
	}
}
