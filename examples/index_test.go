package examples_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"testing"
)

// TestEveryExampleIsListed keeps the indexes complete.
func TestEveryExampleIsListed(t *testing.T) {
	programs, err := filepath.Glob("*/main.go")
	if err != nil || len(programs) == 0 {
		t.Fatalf("programs %v, error %v", programs, err)
	}
	for file, prefix := range map[string]string{"README.md": "", "../README.md": "examples/"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range programs {
			if link := "(" + prefix + filepath.ToSlash(p) + ")"; !bytes.Contains(text, []byte(link)) {
				t.Errorf("%s does not link to %s", file, link)
			}
			if tests, err := filepath.Glob(path.Dir(filepath.ToSlash(p)) + "/*_test.go"); err != nil || len(tests) == 0 {
				t.Errorf("%s has no test: %v", p, err)
			}
		}
	}
}
