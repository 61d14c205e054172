package posthouse_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/lineartest"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/store/stresstest"
)

// guaranteePages are docs/guarantees.md and the pages below it, by name.
func guaranteePages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("docs", "guarantees", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, file := range append(files, filepath.Join("docs", "guarantees.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(file)] = string(text)
	}
	return pages
}

// TestGuaranteesNameTheirTests checks that the tests which docs/guarantees.md and the pages
// below it name exist, that each guarantee names some, and that all pages are linked.
func TestGuaranteesNameTheirTests(t *testing.T) {
	pages := guaranteePages(t)
	tests, rules := testNames(t), map[string]bool{}
	for _, c := range slices.Concat(storetest.Cases(), stresstest.Cases(), lineartest.Cases(), ledgertest.Cases(nil)) {
		rules[c.Name] = true
	}
	for page, doc := range pages {
		if page != "guarantees.md" && !strings.Contains(pages["guarantees.md"], "(guarantees/"+page+")") {
			t.Errorf("docs/guarantees.md does not link to %s", page)
		}
		for _, name := range regexp.MustCompile("`([a-z0-9/]+\\.)?Test[A-Za-z0-9]+`").FindAllString(doc, -1) {
			name = strings.Trim(name, "`")
			if !tests[name] {
				t.Errorf("%s: there is no test %s", page, name)
			}
		}
		for _, m := range regexp.MustCompile("`rule ([^`]+)`").FindAllStringSubmatch(doc, -1) {
			if m[1] == "theme/name" {
				continue // the explanation
			}
			if rule := strings.Join(strings.Fields(m[1]), " "); !rules[rule] {
				t.Errorf("%s: no suite has the rule %q", page, rule)
			}
		}
	}
	_, eleven, _ := strings.Cut(pages["promises.md"], "## The eleven")
	eleven, _, _ = strings.Cut(eleven, "\n## ")
	items := regexp.MustCompile(`(?m)^\d+\. `).Split(eleven, -1)[1:]
	if len(items) != 11 {
		t.Errorf("%d guarantees, want 11", len(items))
	}
	for i, item := range items {
		if !strings.Contains(item, "Test") && !strings.Contains(item, "`rule ") {
			t.Errorf("guarantee %d names no test", i+1)
		}
	}
}

// testNames are the tests of all packages, as the pages of guarantees name them.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, f := range goFiles(t) {
		if !f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				name := fn.Name.Name
				if f.pkg != "." {
					name = f.pkg + "." + name
				}
				names[name] = true
			}
		}
	}
	return names
}
