package origins

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tables above the tests name tests that exist: one that is renamed or
// dropped leaves a promise without its test.
func TestTablesNameTests(t *testing.T) {
	named := regexp.MustCompile(`\b(graph|gate|flow|step)\.(Test\w+)|(ledger/[^;\n]+)`)
	sources := map[string]string{}
	source := func(dir string) string {
		if sources[dir] == "" {
			var b strings.Builder
			for _, f := range must(filepath.Glob(filepath.Join("../../..", dir, "*.go")))(t) {
				b.Write(must(os.ReadFile(f))(t))
			}
			sources[dir] = b.String()
		}
		return sources[dir]
	}
	found := 0
	for _, f := range []string{"agentos_test.go", "langgraph_test.go"} {
		for line := range strings.Lines(string(must(os.ReadFile(f))(t))) {
			if !strings.HasPrefix(line, "//\t") {
				continue
			}
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				dir, want := m[1], "func "+m[2]+"("
				if m[3] != "" {
					dir, want = "store/storetest", `Name: "`+strings.TrimSpace(m[3])+`"`
				}
				if found++; !strings.Contains(source(dir), want) {
					t.Errorf("%s names %q, which is not there", f, m[0])
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("the tables name %d tests", found)
	}
}
