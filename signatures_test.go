package posthouse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// doors are the public symbols that show an internal type all the same, each with its reason.
var doors = map[string]string{
	"ledger.Ledger.Core": "upkeep beside the Ledger is functions over what both share",
}

// TestPublicSignaturesShowNoInternalTypes walks every exported symbol of each package that users
// can import. It refuses types of packages that they cannot import, also as the target of an
// alias, and constants and variables that only repeat those of such a package.
func TestPublicSignaturesShowNoInternalTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs the export data of each package")
	}
	for _, f := range goFiles(t) {
		if f.test || isInternal(module+"/"+f.pkg) || f.ast.Name.Name == "main" {
			continue
		}
		for _, name := range repeated(f.ast) {
			t.Errorf("%s: %s only repeats a name of an internal package: define it here", f.path, name)
		}
	}
	exports, public := exportData(t)
	load := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("no export data")
		}
		return os.Open(exports[path])
	})
	for _, p := range public {
		pkg, err := load.Import(p)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		w := signatures{base: pkg, name: strings.TrimPrefix(strings.TrimPrefix(p, module), "/")}
		w.walk()
		for _, found := range w.found {
			if symbol, _, _ := strings.Cut(found, ": shows "); doors[symbol] == "" {
				t.Error(found)
			}
		}
	}
}

// exportData returns the export data of each package by its path, and which packages of this
// module users can import.
func exportData(t *testing.T) (exports map[string]string, public []string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Name", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports = map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p struct{ ImportPath, Export, Name string }
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if (p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/")) && p.Name != "main" && p.Export != "" && !isInternal(p.ImportPath) {
			public = append(public, p.ImportPath)
		}
	}
	slices.Sort(public)
	return exports, public
}

func isInternal(path string) bool { return strings.Contains(path+"/", "/internal/") }

// repeated returns the exported types, constants and variables of a file that are no more than
// a name of an internal package, as in "type Claim = core.Claim".
func repeated(f *ast.File) (names []string) {
	internal := map[string]bool{} // by the name of the import
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		internal[name] = strings.HasPrefix(p, module+"/") && isInternal(p)
	}
	is := func(x ast.Expr) bool {
		sel, ok := x.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		pkg, ok := sel.X.(*ast.Ident)
		return ok && internal[pkg.Name]
	}
	for _, d := range f.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && spec.Assign.IsValid() && is(spec.Type) {
					names = append(names, spec.Name.Name)
				}
			case *ast.ValueSpec:
				for i, v := range spec.Values {
					if spec.Names[i].IsExported() && is(v) {
						names = append(names, spec.Names[i].Name)
					}
				}
			}
		}
	}
	return names
}

// A signatures walk collects the symbols of a package that show an internal type.
type signatures struct {
	base  *types.Package
	name  string // of the package, relative to the module
	found []string
	seen  map[types.Type]bool
}

func (w *signatures) walk() {
	scope := w.base.Scope()
	for _, name := range scope.Names() {
		o := scope.Lookup(name)
		if !o.Exported() {
			continue
		}
		w.seen = map[types.Type]bool{}
		if _, ok := o.(*types.TypeName); !ok {
			w.visit(name, o.Type())
			continue
		}
		named, ok := types.Unalias(o.Type()).(*types.Named)
		if !ok || named.Obj().Pkg() != w.base {
			w.visit(name, o.Type())
			continue
		}
		w.visit(name, named.Underlying())
		for m := range named.Methods() {
			if m.Exported() {
				w.visit(name+"."+m.Name(), m.Signature())
			}
		}
	}
}

// visit looks at a type and at what it is made of, but not into other packages' types: those
// are walked themselves.
func (w *signatures) visit(symbol string, t types.Type) {
	t = types.Unalias(t)
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		if p := t.Obj().Pkg(); p != nil && strings.HasPrefix(p.Path(), module+"/") && isInternal(p.Path()) {
			w.found = append(w.found, fmt.Sprintf("%s.%s: shows %s.%s", w.name, symbol, strings.TrimPrefix(p.Path(), module+"/"), t.Obj().Name()))
		}
		for a := range t.TypeArgs().Types() {
			w.visit(symbol, a)
		}
	case *types.Signature:
		w.visit(symbol, t.Params())
		w.visit(symbol, t.Results())
		for p := range t.TypeParams().TypeParams() {
			w.visit(symbol, p.Constraint())
		}
	case *types.Tuple:
		for v := range t.Variables() {
			w.visit(symbol, v.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				delete(w.seen, types.Unalias(f.Type()))
				w.visit(symbol+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			w.visit(symbol+"."+m.Name(), m.Signature())
		}
		for e := range t.EmbeddedTypes() {
			w.visit(symbol, e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.visit(symbol, term.Type())
		}
	case *types.Map:
		w.visit(symbol, t.Key())
		w.visit(symbol, t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.visit(symbol, t.Elem())
	}
}
