package posthouse_test

import (
	"bytes"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// maxHabits is how many habits 1,000 lines of comments may have. It may only shrink.
const maxHabits = 5

// A habit is a wording that makes a reader stop: it hides who acts, or when.
type habit struct {
	name    string
	instead string
	re      *regexp.Regexp
}

var habits = []habit{
	{"what", "begin the sentence with a noun", regexp.MustCompile(`(?:^|[.:;!?)] )What\b[^.:;?]*\??`)},
	{"behind", "say after, or name what is between", regexp.MustCompile(`\b[bB]ehind\b`)},
	{"anew", "say again, since, or at the same time", regexp.MustCompile(`\b(?:anew|[mM]eanwhile|[lL]ikewise)\b`)},
	{"none", "say no and the noun, or if there is no", regexp.MustCompile(`\b(?:[nN]obody|[nN]one|[wW]ithout one)\b`)},
	{"whose", "say with, or that has", regexp.MustCompile(`\b(?:[wW]hose|of which)\b`)},
}

// quoted is a name or a text of a program.
var quoted = regexp.MustCompile(`"[^"]*"`)

// A wording counts the habits of a package by their names.
type wording struct {
	lines int
	found map[string]int
}

func (w *wording) total() (n int) {
	for _, k := range w.found {
		n += k
	}
	return n
}

// perThousand returns the habits in 1,000 lines of comments.
func (w *wording) perThousand() float64 { return float64(w.total()) * 1000 / float64(max(w.lines, 1)) }

// TestCommentsAreInPlainEnglish counts habits of wording in all comments. With -v it
// prints the packages with the most of them, and each place.
func TestCommentsAreInPlainEnglish(t *testing.T) {
	all, packages := &wording{found: map[string]int{}}, map[string]*wording{}
	for _, f := range goFiles(t) {
		if generated(f.src) || f.path == "words_test.go" {
			continue
		}
		w := packages[f.pkg]
		if w == nil {
			w = &wording{found: map[string]int{}}
			packages[f.pkg] = w
		}
		for _, c := range f.ast.Comments {
			for _, p := range paragraphs(c) {
				w.lines += p.lines
				all.lines += p.lines
				text := quoted.ReplaceAllString(p.text, "")
				for _, h := range habits {
					for _, s := range h.re.FindAllString(text, -1) {
						if strings.HasSuffix(s, "?") {
							continue // a question may begin with what
						}
						w.found[h.name]++
						all.found[h.name]++
						if testing.Verbose() {
							t.Logf("%s: %q: %s", f.at(c.Pos()), p.text, h.instead)
						}
					}
				}
			}
		}
	}
	if n := all.perThousand(); n > maxHabits {
		t.Errorf("1,000 lines of comments have %.1f habits %v; the limit is %d: see them with -v, and say who does what", n, all.found, maxHabits)
	}
	t.Logf("%d lines of comments have %d habits %v, %.1f in 1,000", all.lines, all.total(), all.found, all.perThousand())
	for _, pkg := range slices.SortedFunc(maps.Keys(packages), func(a, b string) int { return packages[b].total() - packages[a].total() }) {
		if w := packages[pkg]; w.total() > 0 {
			t.Logf("%-36s %5d lines, %3d habits, %5.1f in 1,000", pkg, w.lines, w.total(), w.perThousand())
		}
	}
}

// A paragraph is the running text of a comment up to an empty line, an item of a list
// or text that is set apart.
type paragraph struct {
	text  string
	lines int
	code  bool // it is indented, and stands as it is
}

// paragraphs divides a comment. Directives and the output of examples are left out.
func paragraphs(c *ast.CommentGroup) (all []paragraph) {
	var lines []string
	for _, part := range c.List {
		if strings.HasPrefix(part.Text, "// Output:") || strings.HasPrefix(part.Text, "// Unordered output:") {
			return nil
		}
		if text, ok := strings.CutPrefix(part.Text, "//"); ok {
			if strings.HasPrefix(text, "go:") || strings.HasPrefix(text, "nolint") || strings.HasPrefix(text, "lint:") {
				continue
			}
			lines = append(lines, text)
			continue
		}
		lines = append(lines, strings.Split(strings.TrimSuffix(strings.TrimPrefix(part.Text, "/*"), "*/"), "\n")...)
	}
	open, list := false, false
	for _, line := range lines {
		text := strings.TrimSpace(line)
		item := strings.HasPrefix(text, "- ")
		code := !item && (strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "  ") && !list)
		switch {
		case text == "":
			open, list = false, false
		case open && !item && code == all[len(all)-1].code:
			p := &all[len(all)-1]
			p.text, p.lines = p.text+" "+text, p.lines+1
		default:
			all = append(all, paragraph{text: text, lines: 1, code: code})
			open = true
		}
		list = list && text != "" || item
	}
	return all
}

// TestCommentsNameIdentifiers asks that a word in lowerCamel is an identifier, a string
// or a JSON name of its package or of one that it imports: after a renaming a comment
// must not keep the old name, nor get a new one in the place of a word.
func TestCommentsNameIdentifiers(t *testing.T) {
	names, imports := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, f := range goFiles(t) {
		if names[f.pkg] == nil {
			names[f.pkg], imports[f.pkg] = map[string]bool{}, map[string]bool{}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				imp, _ := strconv.Unquote(n.Path.Value)
				if rel, ok := inModule(imp); ok {
					imports[f.pkg][rel] = true
				}
				return false
			case *ast.Ident:
				names[f.pkg][n.Name] = true
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					for _, w := range lowerCamel(n.Value) {
						names[f.pkg][w] = true
					}
				}
			}
			return true
		})
	}
	known := func(pkg, word string) bool {
		if names[pkg][word] {
			return true
		}
		for imp := range imports[pkg] {
			if names[imp][word] {
				return true
			}
		}
		return false
	}
	foreign := map[string]bool{} // names of other products' tests, which tables of tests list
	for _, f := range goFiles(t) {
		if f.pkg != originTables {
			continue
		}
		for _, c := range f.ast.Comments {
			for _, p := range paragraphs(c) {
				for _, w := range lowerCamel(p.text) {
					foreign[w] = true
				}
			}
		}
	}
	if len(foreign) < 50 {
		t.Fatalf("package %s lists %d names of other products' tests; it had more than 100", originTables, len(foreign))
	}
	for _, f := range goFiles(t) {
		if generated(f.src) || f.test && f.pkg == "docs/snippets" {
			continue // those compare with other products, and name their functions
		}
		for _, c := range f.ast.Comments {
			for _, p := range paragraphs(c) {
				if p.code {
					continue
				}
				for _, w := range lowerCamel(quoted.ReplaceAllString(p.text, "")) {
					if !known(f.pkg, w) && !(f.test && foreign[w]) {
						t.Errorf("%s: a comment names %s, which the package does not have", f.at(c.Pos()), w)
					}
				}
			}
		}
	}
}

// originTables is the package that lists the tests of other products beside ours.
const originTables = "internal/proof/e2e/origins"

// lowerCamel returns the words of a text that are written lowerCamel.
func lowerCamel(text string) (words []string) {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		if unicode.IsLower(rune(w[0])) && strings.IndexFunc(w, unicode.IsUpper) > 0 {
			words = append(words, w)
		}
	}
	return words
}

// TestConditionsDoNotAssign asks for two lines where a condition needs a variable that
// is there already: a reader of "if x = f(); y" takes it for a declaration.
func TestConditionsDoNotAssign(t *testing.T) {
	for _, f := range goFiles(t) {
		if generated(f.src) || !bytes.Contains(f.src, []byte("; ")) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.IfStmt); ok {
				if a, ok := s.Init.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
					t.Errorf("%s: a condition assigns with a plain = before it tests: write two lines", f.at(s.Pos()))
				}
			}
			return true
		})
	}
}
