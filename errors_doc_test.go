package posthouse_test

import (
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// codesIn returns the constants of type Code that a package declares, with the
// status its comment begins with, if it does.
func codesIn(t *testing.T, pkg string) map[string]int {
	t.Helper()
	codes := map[string]int{}
	for _, f := range goFiles(t) {
		if f.pkg != pkg || f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, "Code") {
				return true
			}
			if lit, ok := v.Values[0].(*ast.BasicLit); ok {
				code, _ := strconv.Unquote(lit.Value)
				status, _, _ := strings.Cut(v.Comment.Text(), ":")
				codes[code], _ = strconv.Atoi(status)
			}
			return true
		})
	}
	return codes
}

// tables returns the rows of docs/errors.md by the heading above them.
func tables(t *testing.T) map[string][][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	row, anchor := regexp.MustCompile("^\\| (<a id=[^ ]*></a>)?`?[a-z0-9-]+`? \\|"), regexp.MustCompile(`<a id="([a-z-]+)"></a>`)
	rows, heading := map[string][][]string{}, ""
	for line := range strings.Lines(string(data)) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.TrimSpace(h)
		}
		if row.MatchString(line) {
			var cells []string
			if m := anchor.FindStringSubmatch(line); m != nil && !strings.Contains(line, "`"+m[1]+"`") {
				t.Errorf("anchor %s is not the row's code", m[1])
			}
			line = anchor.ReplaceAllString(line, "")
			for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
				cells = append(cells, strings.Trim(cell, " `"))
			}
			rows[heading] = append(rows[heading], cells)
		}
	}
	return rows
}

// TestErrorTable checks that docs/errors.md lists every code once, with the
// status and the exit code that the program uses.
func TestErrorTable(t *testing.T) {
	doc := tables(t)
	check := func(heading string, want map[string]int) {
		have := map[string]bool{}
		for _, row := range doc[heading] {
			if _, ok := want[row[0]]; !ok || have[row[0]] {
				t.Errorf("%s lists %s, which is not a code, or twice", heading, row[0])
			}
			have[row[0]] = true
			if last := row[len(row)-1]; last == "" {
				t.Errorf("%s does not say what to do about %s", heading, row[0])
			}
		}
		for code := range want {
			if !have[code] {
				t.Errorf("%s does not list %s", heading, code)
			}
		}
	}
	codes := codesIn(t, ".")
	check("Codes", codes)
	for _, row := range doc["Codes"] {
		code := posthouse.Code(row[0])
		if s, x := strconv.Itoa(code.HTTPStatus()), strconv.Itoa(code.ExitCode()); row[1] != s || row[2] != x {
			t.Errorf("%s is documented with status %s and exit code %s; it has %s and %s", code, row[1], row[2], s, x)
		}
	}
	http := codesIn(t, "server/problem")
	check("Only over HTTP", http)
	for _, row := range doc["Only over HTTP"] {
		if s := strconv.Itoa(http[row[0]]); row[1] != s {
			t.Errorf("%s is documented with status %s; its comment says %s", row[0], row[1], s)
		}
	}
	exits := map[string]bool{}
	for _, row := range doc["Exit codes"] {
		exits[row[0]] = true
	}
	for code := range codes {
		if x := strconv.Itoa(posthouse.Code(code).ExitCode()); !exits[x] {
			t.Errorf("exit code %s of %s is not explained", x, code)
		}
	}
	if len(codes) < 19 || len(http) == 0 {
		t.Errorf("found only %v and %v", slices.Sorted(maps.Keys(codes)), slices.Sorted(maps.Keys(http)))
	}
	if c := posthouse.Code("another"); c.HTTPStatus() != 500 || c.ExitCode() != posthouse.ExitFailure {
		t.Errorf("an unknown code has status %d and exit code %d", c.HTTPStatus(), c.ExitCode())
	}
}
