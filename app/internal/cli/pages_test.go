package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/task/natslink"
)

// TestCommandsInThePages parses each command line that README or a page of docs shows, by
// the command it names: flags and numbers of arguments are those that there are.
func TestCommandsInThePages(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../../../README.md", "../../../docs/*.md", "../../../docs/guarantees/*.md"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, some...)
	}
	line := regexp.MustCompile(`(?m)^(?:\$|   ) (?:sudo -u posthouse |docker exec posthouse |kubectl exec posthouse-0 -- )?posthouse (.*)$`)
	word := regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
	lines := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range line.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\\\n", ""), -1) {
			lines++
			command, _, _ := strings.Cut(m[1], " > ") // the shell takes the rest
			cmd, rest, err := Root(&Config{Dev: &Dev{}, OpenLink: natslink.Open, SignIn: func(*signin.Options) (signin.Provider, error) { return nil, nil }}).Find(word.FindAllString(command, -1))
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err == nil && cmd.HasSubCommands() && cmd.LocalNonPersistentFlags().Lookup("task") == nil { // worker runs, too
				t.Errorf("%s: %q names no command", filepath.Base(page), m[1])
			}
			if err != nil {
				t.Errorf("%s: %q: %s", filepath.Base(page), m[1], strings.TrimSpace(err.Error()))
			}
		}
	}
	if lines < 20 {
		t.Errorf("only %d command lines in %d pages", lines, len(pages))
	}
}
