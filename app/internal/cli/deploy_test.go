package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/task/natslink"
)

// TestSettingsOfDeployments looks up each variable in the files that deploy a server, among the
// flags of serve: a misspelt one would be passed over by the server.
func TestSettingsOfDeployments(t *testing.T) {
	const repository = "../../.."
	files := []string{filepath.Join(repository, "Dockerfile")}
	err := filepath.WalkDir(filepath.Join(repository, "deploy"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	serve, _, err := Root(&Config{OpenLink: natslink.Open}).Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, usage := range strings.Fields(serve.LocalFlags().FlagUsages() + serve.InheritedFlags().FlagUsages()) {
		if name, ok := strings.CutPrefix(usage, "--"); ok {
			known = append(known, "POSTHOUSE_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
		}
	}
	known = append(known, "POSTHOUSE_STORE_FILE", "POSTHOUSE_NATS_FILE")
	variable := regexp.MustCompile(`\bPOSTHOUSE_[A-Z_]+\b`)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range variable.FindAllString(string(text), -1) {
			found++
			if !slices.Contains(known, name) {
				t.Errorf("%s sets %s, and serve has no such flag", file, name)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d variables in %q", found, files)
	}
}
