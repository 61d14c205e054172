package posthouse_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// What one package may hold, without its tests: more than that cannot be read in
// one sitting, and there is a second noun in it.
const (
	maxLines   = 6500
	maxFiles   = 46
	maxMethods = 36 // exported, of one type
)

// budgets are the lines of each backend, without its tests; docs/adr/0006 says why.
var budgets = map[string]int{
	"store/pgstore": 3680, "store/filestore": 3910, "store/natsstore": 4485, "store/redisstore": 2990, "store/s3store": 3335,
}

// A room is a package as the law of sizes sees it.
type room struct {
	lines, files int
	methods      map[string]int // by type, all
	exported     map[string]int // by type
}

// largest returns the type with the most methods.
func (r *room) largest() string {
	names := slices.Sorted(maps.Keys(r.methods))
	if len(names) == 0 {
		return "-"
	}
	t := slices.MaxFunc(names, func(a, b string) int { return r.methods[a] - r.methods[b] })
	return fmt.Sprintf("%s %d+%d", t, r.exported[t], r.methods[t]-r.exported[t])
}

// TestRoomsAreSmall holds packages and types below their limits. With -v it prints
// lines, files, the pairs of files that use each other, and the largest type with its
// exported and other methods.
func TestRoomsAreSmall(t *testing.T) {
	rooms, parsed := map[string]*room{}, map[string][]*goFile{}
	for _, f := range goFiles(t) {
		if f.test || generated(f.src) {
			continue
		}
		r := rooms[f.pkg]
		if r == nil {
			r = &room{methods: map[string]int{}, exported: map[string]int{}}
			rooms[f.pkg] = r
		}
		r.lines += bytes.Count(f.src, []byte("\n"))
		r.files++
		r.count(f.ast)
		parsed[f.pkg] = append(parsed[f.pkg], f)
	}
	for _, pkg := range slices.Sorted(maps.Keys(rooms)) {
		r := rooms[pkg]
		if r.lines > maxLines || r.files > maxFiles {
			t.Errorf("package %s has %d lines in %d files; the limits are %d and %d: find its second noun", pkg, r.lines, r.files, maxLines, maxFiles)
		}
		if most, ok := budgets[pkg]; ok && r.lines > most {
			t.Errorf("package %s has %d lines; its budget is %d: look at the contract, then at store/internal, then change docs/adr/0006", pkg, r.lines, most)
		}
		for name, n := range r.exported {
			if n > maxMethods {
				t.Errorf("type %s of package %s has %d exported methods; the limit is %d: find its second noun", name, pkg, n, maxMethods)
			}
		}
	}
	for pkg := range budgets {
		if rooms[pkg] == nil {
			t.Errorf("there is a budget for %s, and no such package", pkg)
		}
	}
	if !testing.Verbose() {
		return
	}
	t.Logf("%-28s %6s %5s %5s  %s", "package", "lines", "files", "pairs", "largest type")
	for _, pkg := range slices.SortedFunc(maps.Keys(rooms), func(a, b string) int { return rooms[b].lines - rooms[a].lines }) {
		r := rooms[pkg]
		t.Logf("%-28s %6d %5d %5d  %s", pkg, r.lines, r.files, filePairs(parsed[pkg]), r.largest())
	}
}

// count adds the methods that a file declares.
func (r *room) count(f *ast.File) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil {
			continue
		}
		x := fn.Recv.List[0].Type
		for {
			switch e := x.(type) {
			case *ast.StarExpr:
				x = e.X
				continue
			case *ast.IndexExpr:
				x = e.X
				continue
			case *ast.IndexListExpr:
				x = e.X
				continue
			}
			break
		}
		name := x.(*ast.Ident).Name
		r.methods[name]++
		if fn.Name.IsExported() {
			r.exported[name]++
		}
	}
}

// filePairs counts the ordered pairs of files of one package of which the first uses
// a symbol that the second declares. What comes from other packages is not looked at.
func filePairs(files []*goFile) int {
	fset, info := token.NewFileSet(), &types.Info{Uses: map[*ast.Ident]types.Object{}}
	var asts []*ast.File
	for _, f := range files {
		a, err := parser.ParseFile(fset, f.path, f.src, parser.SkipObjectResolution)
		if err != nil {
			panic(err) // it was parsed before
		}
		asts = append(asts, a)
	}
	conf := types.Config{Importer: strangers{}, Error: func(error) {}}
	pkg, _ := conf.Check(files[0].pkg, fset, asts, info)
	pairs := map[[2]string]bool{}
	for id, o := range info.Uses {
		if o.Pkg() != pkg || !o.Pos().IsValid() {
			continue
		}
		from, to := fset.Position(id.Pos()).Filename, fset.Position(o.Pos()).Filename
		if from != to {
			pairs[[2]string{from, to}] = true
		}
	}
	return len(pairs)
}

// strangers imports every package as one without symbols.
type strangers struct{}

func (strangers) Import(p string) (*types.Package, error) {
	name := path.Base(p)
	if strings.HasPrefix(name, "v") && len(name) < 4 {
		name = path.Base(path.Dir(p))
	}
	pkg := types.NewPackage(p, name)
	pkg.MarkComplete()
	return pkg, nil
}
