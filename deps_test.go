package posthouse_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/posthouse/posthouse"

// testModules may be imported by tests.
var testModules = []string{
	"github.com/nats-io", // a server in this process, and the client that examples show
	"github.com/klauspost/compress/zstd", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/rogpeppe/go-internal", "github.com/coder/websocket",
	"github.com/standard-webhooks/standard-webhooks/libraries", // signatures are checked by the project that specifies them
	"github.com/redis/rueidis",                                 // a client beside store/redisstore and its own
}

// A goFile is a parsed file of this module.
type goFile struct {
	path string // slash-separated, relative to the module
	pkg  string // its directory, "." for the root
	test bool
	src  []byte
	ast  *ast.File
	fset *token.FileSet
}

func (f *goFile) at(pos token.Pos) string {
	return f.path + ":" + strconv.Itoa(f.fset.Position(pos).Line)
}

// goFiles returns the files of this module, which are read once.
func goFiles(t *testing.T) []*goFile {
	t.Helper()
	if testing.Short() {
		t.Skip("one goroutine reads the whole source")
	}
	files, err := readGoFiles()
	if err != nil || len(files) == 0 {
		t.Fatalf("%d Go files, error %v", len(files), err)
	}
	return files
}

var readGoFiles = sync.OnceValues(func() (files []*goFile, err error) {
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || nested == nil) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f := &goFile{path: filepath.ToSlash(path), test: strings.HasSuffix(path, "_test.go"), fset: token.NewFileSet()}
		f.pkg = filepath.ToSlash(filepath.Dir(path))
		f.src, err = os.ReadFile(path)
		if err != nil {
			return err
		}
		f.ast, err = parser.ParseFile(f.fset, f.path, f.src, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
})

func lawFor(pkg string) *law {
	for i := range laws {
		l := &laws[i]
		if pkg == l.pkg || strings.HasSuffix(l.pkg, "/") && strings.HasPrefix(pkg+"/", l.pkg) {
			return l
		}
	}
	return nil
}

func (l *law) allows(imp string) bool {
	if rel, ok := inModule(imp); ok {
		return slices.ContainsFunc(l.inside, func(a string) bool {
			return a == "*" || a == rel || strings.HasSuffix(a, "/") && strings.HasPrefix(rel, a)
		})
	}
	return slices.ContainsFunc(l.third, func(m string) bool { return m == "*" || within(imp, m) })
}

// inModule returns the package's path relative to this module.
func inModule(imp string) (string, bool) {
	if imp == module {
		return ".", true
	}
	return strings.CutPrefix(imp, module+"/")
}

func within(imp, mod string) bool { return imp == mod || strings.HasPrefix(imp, mod+"/") }

func standard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

// TestImportLawNamesEachPackageOnce refuses a second line for a package: it would never be read.
func TestImportLawNamesEachPackageOnce(t *testing.T) {
	seen := map[string]bool{}
	for i := range laws {
		l := &laws[i]
		if seen[l.pkg] {
			t.Errorf("package %s has a second line in the import law", l.pkg)
		}
		seen[l.pkg] = true
	}
}

func TestImportLaw(t *testing.T) {
	for _, f := range goFiles(t) {
		l := lawFor(f.pkg)
		if l == nil {
			t.Errorf("%s: package %s has no line in the import law; add one with its reason", f.path, f.pkg)
			continue
		}
		for _, spec := range f.ast.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			if standard(imp) || imp == "C" {
				if imp == "C" {
					t.Errorf("%s imports C: the binary is built without cgo", f.at(spec.Pos()))
				}
				continue
			}
			if f.test {
				// A test may use any package below its own: examples of a model
				// need a store. It may not drag in a module for itself.
				_, ours := inModule(imp)
				if !ours && !l.allows(imp) && !slices.ContainsFunc(testModules, func(m string) bool { return within(imp, m) }) {
					t.Errorf("%s: the test imports %s, which is not among the modules for tests", f.at(spec.Pos()), imp)
				}
				continue
			}
			if !l.allows(imp) {
				t.Errorf("%s: package %s may not import %s: %s", f.at(spec.Pos()), f.pkg, imp, l.reason)
			}
		}
	}
}

func TestShippedCodeDoesNotImportTesting(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			if imp, _ := strconv.Unquote(spec.Path.Value); within(imp, "testing") {
				t.Errorf("%s imports %s: test code does not ship", f.at(spec.Pos()), imp)
			}
		}
	}
}

func TestNoInit(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: no init functions: what a program uses, it names", f.at(fn.Pos()))
			}
		}
	}
}

func generated(src []byte) bool {
	return bytes.HasPrefix(src, []byte("// Code generated ")) && bytes.Contains(src[:min(len(src), 200)], []byte("DO NOT EDIT."))
}

// TestPackagesAreDocumented asks every package for a comment.
func TestPackagesAreDocumented(t *testing.T) {
	docs := map[string]string{}
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		docs[f.pkg] += f.ast.Doc.Text()
	}
	for pkg, doc := range docs {
		if strings.TrimSpace(doc) == "" {
			t.Errorf("package %s has no comment; write a doc.go", pkg)
		}
	}
}

// TestNothingIsSkipped keeps a green run honest: a test may be passed over for
// -short, for want of a browser where POSTHOUSE_REQUIRE_SERVICES does not ask for one, for want of
// an earlier commit where POSTHOUSE_REQUIRE_HISTORY does not, and for no other reason.
func TestNothingIsSkipped(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.test && !within(f.pkg, "store/storetest") && f.pkg != "store/stresstest" && f.pkg != "store/lineartest" && !within(f.pkg, "ledger/ledgertest") {
			continue
		}
		allowed := map[ast.Node]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if cond, ok := n.(*ast.IfStmt); ok && (mentionsShort(cond.Cond) || mentionsServices(cond.Cond)) {
				for _, s := range cond.Body.List {
					if e, ok := s.(*ast.ExprStmt); ok {
						allowed[e.X] = true
					}
				}
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || allowed[n] {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				t.Errorf("%s skips: a test that cannot run must fail and say what it needs", f.at(n.Pos()))
			}
			return true
		})
	}
}

func mentionsServices(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && (lit.Value == `"POSTHOUSE_REQUIRE_SERVICES"` || lit.Value == `"POSTHOUSE_REQUIRE_HISTORY"`) {
			found = true
		}
		return !found
	})
	return found
}

func mentionsShort(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Short" {
			found = true
		}
		return !found
	})
	return found
}

// TestTimeIsInjected keeps the clock in Options.Now and waiting in signals. In
// a bubble of testing/synctest time is the test's own, and a sleep waits for
// nothing.
func TestTimeIsInjected(t *testing.T) {
	for _, f := range goFiles(t) {
		wiring := strings.HasPrefix(f.pkg+"/", "app/") || strings.HasPrefix(f.pkg, "cmd/") || strings.HasPrefix(f.pkg, "examples/") || f.pkg == "internal/proof/e2e"
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if ok && x.Name == "synctest" && sel.Sel.Name == "Test" {
				return false
			}
			if !ok || x.Name != "time" {
				return true
			}
			switch {
			case sel.Sel.Name == "Sleep":
				t.Errorf("%s sleeps: wait for a signal, or use testing/synctest", f.at(n.Pos()))
			case sel.Sel.Name == "Now" && !f.test && !wiring:
				t.Errorf("%s reads the clock: time comes from Options.Now", f.at(n.Pos()))
			}
			return true
		})
	}
}
