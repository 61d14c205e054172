package posthouse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The faults of the matrix in docs/guarantees/faults.md, by how their headings begin.
var matrixFaults = []string{
	"Kill -9 of the writer", "Kill of the store's server", "Power cut", "Full disk (ENOSPC)", "EIO on fsync",
	"Slow storage or network", "Partition", "Clock jumps", "Duplicate or reordered delivery",
	"Concurrent writers of one run", "100 racing approvers", "Corrupted bytes", "Deleted tail, or an old backup restored",
	"Schema newer than the binary", "Schema older than the binary", "Oversized or hostile input", "Frozen worker (SIGSTOP)",
	"Signing key lost or rotated",
}

// The places where they strike: stores with their packages, and what is before them.
var matrixPlaces = map[string]string{
	"memory": "store/memstore", "files": "store/filestore", "SQLite": "store/sqlitestore", "Postgres": "store/pgstore",
	"NATS": "store/natsstore", "Redis": "store/redisstore", "S3": "store/s3store", beforeStores: "",
}

const beforeStores = "server, worker, page"

// emptyWords say that there is no test, and not why.
var emptyWords = regexp.MustCompile(`(?i)\b(n/a|applicable|does not apply|irrelevant|not (needed|relevant|tested)|untested|todo|tbd|later|yet)\b`)

var namedTest = regexp.MustCompile("`(([a-z0-9/]+)\\.)?Test[A-Za-z0-9]+`")

// TestFaultMatrix checks that each fault has a cell for each place, and that each cell names
// tests or says why it has no test.
func TestFaultMatrix(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("docs", "guarantees", "faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n## Fault matrix\n")
	section, _, _ = strings.Cut(section, "\n## ")
	names := testNames(t)
	for _, problem := range matrixProblems(section, names) {
		t.Error(problem)
	}
	for what, change := range map[string][2]string{
		"has no section":          {"### Partition", "### Something else"},
		"2 cells":                 {"| memory, files, SQLite |", "| memory, files, SQLite, S3 |"},
		"0 cells":                 {"| memory, files, SQLite |", "| memory, files |"},
		"no place":                {"| memory, files, SQLite |", "| memory, tape, SQLite |"},
		"neither tests":           {"none: there is no server, the store is part of the process that uses it", "-"},
		"says not why":            {"none: there is no server, the store is part of the process that uses it", "none: this is not applicable to a store of this kind"},
		"no test of":              {"`store/s3store.TestServiceThatIsGone`", "`store/natsstore.TestServerThatIsGone`"},
		"there is no test":        {"`store/s3store.TestServiceThatIsGone`", "`store/s3store.TestNothing`"},
		"names tests and says no": {"none: there is no server", "none: `store/memstore.TestStore` has no server"},
	} {
		if !strings.Contains(section, change[0]) {
			t.Fatalf("%q is not in the section", change[0])
		}
		broken := matrixProblems(strings.Replace(section, change[0], change[1], 1), names)
		if !slices.ContainsFunc(broken, func(p string) bool { return strings.Contains(p, what) }) {
			t.Errorf("%s: a section with %q passes: %q", what, change[1], broken)
		}
	}
}

// matrixProblems are what is wrong with the section. A fault's table has a row for each place or
// for several, "A, B".
func matrixProblems(section string, tests map[string]bool) (problems []string) {
	tables := strings.Split(section, "\n### ")[1:]
	for _, fault := range matrixFaults {
		i := slices.IndexFunc(tables, func(table string) bool { return strings.HasPrefix(table, fault) })
		if i < 0 {
			problems = append(problems, fmt.Sprintf("the fault %q has no section", fault))
			continue
		}
		cells := map[string]int{}
		for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| (.+) \|$`).FindAllStringSubmatch(tables[i], -1) {
			places := strings.Split(m[1], ", ")
			switch m[1] {
			case "Where":
				continue
			case beforeStores:
				places = []string{beforeStores}
			}
			for _, place := range places {
				cells[place]++
				if problem := cellProblem(place, m[2], tests); problem != "" {
					problems = append(problems, fmt.Sprintf("%s, %s: %s", fault, place, problem))
				}
			}
		}
		for place := range matrixPlaces {
			if cells[place] != 1 {
				problems = append(problems, fmt.Sprintf("%s, %s: %d cells, want 1", fault, place, cells[place]))
			}
		}
	}
	if len(tables) != len(matrixFaults) {
		problems = append(problems, fmt.Sprintf("%d faults, want %d", len(tables), len(matrixFaults)))
	}
	return problems
}

// cellProblem says what is wrong with a cell: it must have tests, all of its own store, or
// "none: " and a reason.
func cellProblem(place, cell string, tests map[string]bool) string {
	own, known := matrixPlaces[place]
	if !known {
		return "there is no place of this name"
	}
	named := namedTest.FindAllStringSubmatch(cell, -1)
	why, none := strings.CutPrefix(cell, "none: ")
	switch {
	case none && len(named) > 0:
		return "it names tests and says none"
	case none && (len(strings.Fields(why)) < 6 || emptyWords.MatchString(why)):
		return fmt.Sprintf("%q says not why", why)
	case !none && len(named) == 0:
		return fmt.Sprintf("%q names neither tests nor a reason", cell)
	}
	for _, m := range named {
		if name := strings.Trim(m[0], "`"); !tests[name] {
			return "there is no test " + name
		}
		if slices.Contains([]string{"memstore", "filestore", "sqlitestore", "pgstore", "natsstore", "redisstore", "s3store"}, strings.TrimPrefix(m[2], "store/")) && m[2] != own {
			return m[0] + " is no test of this place"
		}
	}
	return ""
}
