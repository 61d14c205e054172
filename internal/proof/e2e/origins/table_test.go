package origins

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// packages are the names of the tables for the directories of tests.
var packages = map[string]string{
	"": "internal/proof/e2e/origins", "coord": "coord", "e2e": "internal/proof/e2e", "engine": "internal/engine", "flow": "flow", "gate": "gate", "graph": "graph",
	"memstore": "store/memstore", "pains": "internal/proof/e2e/pains", "posthouse": ".", "refund": "cmd/posthouse/internal/refund",
	"core": "internal/core", "crypt": "crypt", "diff": "diff", "ledger": "ledger", "retain": "retain", "transfer": "transfer",
	"agent": "examples/agent", "batch": "examples/batch", "cli": "app/internal/cli", "tasks": "app/internal/cli/tasks", "command": "worker/command", "dispatch": "dispatch", "hosts": "internal/proof/e2e/hosts",
	"httptask": "task/httptask", "natshint": "task/natshint", "natstask": "task/natstask", "standalone": "task/standalone", "task": "task", "worker": "worker", "workertest": "worker/workertest",
	"runner": "runner", "server": "server", "sign": "sign", "sqlitestore": "store/sqlitestore", "sqlschema": "internal/base/sqlschema", "step": "step",
}

// rules are the directories of the rules that each store passes.
var rules = []string{"store/storetest", "ledger/ledgertest", "ledger/ledgertest/internal/gates", "ledger/ledgertest/internal/upkeep"}

var named = regexp.MustCompile(`(?:\b(\w+)\.)?\b(Test\w+)|\b((?:append|ids|ledger|list|reopen|slots|watch)/[^;]+)`)

// The tables above the tests name tests that exist: one that is renamed or
// dropped leaves a promise without its test. Each row names at least one.
func TestTablesNameTests(t *testing.T) {
	sources := map[string]string{}
	source := func(dir string) string {
		if sources[dir] == "" {
			var b strings.Builder
			for _, f := range must(filepath.Glob(filepath.Join("../../../..", dir, "*.go")))(t) {
				b.Write(must(os.ReadFile(f))(t))
			}
			sources[dir] = b.String()
		}
		return sources[dir]
	}
	for f, least := range map[string]int{"agentos_test.go": 45, "langgraph_test.go": 90, "langgraph4j_test.go": 25, "atmosphere_test.go": 110, "dagnats_test.go": 120, "../pains/doc.go": 50} {
		found := 0
		for line := range strings.Lines(string(must(os.ReadFile(f))(t))) {
			line, ok := strings.CutPrefix(strings.TrimSpace(line), "//\t")
			if !ok {
				continue
			}
			names := named.FindAllStringSubmatch(line, -1)
			if names == nil && strings.HasPrefix(line, " ") {
				t.Errorf("%s names no test for %q", f, strings.TrimSpace(line))
			}
			for _, m := range names {
				dir, ok := packages[m[1]]
				has := ok && strings.Contains(source(dir), "func "+m[2]+"(")
				if m[3] != "" {
					rule := `Name: "` + strings.TrimSpace(m[3]) + `"`
					has = slices.ContainsFunc(rules, func(dir string) bool { return strings.Contains(source(dir), rule) })
				}
				if found++; !has {
					t.Errorf("%s names %q, which is not there", f, m[0])
				}
			}
		}
		if found < least {
			t.Errorf("%s names %d tests", f, found)
		}
	}
}
