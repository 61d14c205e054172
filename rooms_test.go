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

// Limits of one package, without its tests: more than that cannot be read in one
// sitting, and there is a second noun in it.
const (
	maxLines = 8000
	maxFiles = 60
)

// What one type may have. A function that takes the type first, after a context, is a method
// that is written differently, so it counts as one. Fields of embedded structs of the same
// package count, too.
const (
	maxMethods  = 60
	maxExported = 32 // of the methods proper
	maxFields   = 20
)

// budgets are the lines of each backend, without its tests; docs/adr/0006 says why.
var budgets = map[string]int{
	"store/pgstore": 3450, "store/filestore": 3400, "store/natsstore": 3900, "store/natsstore/internal/embedded": 650, "store/redisstore": 2600, "store/s3store": 2900,
}

// wide are the types that may have more fields than others, each with its reason. Options may
// have as many as there is to say: their names end in Options, Limits or Config.
var wide = map[string]string{
	"posthouse.Gate":              "a record: the log and the API have it as it is",
	"posthouse.gateBody":          "a gate as it is written",
	"posthouse.Checkpoint":        "a record",
	"posthouse.Header":            "a record",
	"posthouse.ThreadInfo":        "a record: the summary of a thread",
	"posthouse.Change":            "a record: a checkpoint that is asked for",
	"internal/commit.Plan":        "a record: what a commit is asked to write",
	"store/pgstore.row":           "a row of a table",
	"inbox.Query":                 "a list has a filter a field",
	"server/internal/outline.Row": "an answer: a checkpoint as a list draws it",
	"gate/internal/schema.node":   "the words of JSON Schema, one field each",
	"internal/proof/chaos.Line":   "a line of docs/record",
	"internal/proof/chaos.trial":  "a run of the harness, beside the product",
}

// many are the types that may have more methods than others, each with its reason.
var many = map[string]string{
	"store/storetest.T":      "cases take it, as tests take a testing.T",
	"worker/workertest.Task": "a double has what a handler may call, and no more",
}

// An addition is what ten changes take that CONTRIBUTING and ARCHITECTURE lead to a package for.
type addition struct {
	what         string
	lines, files int
	methods      map[string]int // by type
}

// growing are the packages that people are told to add to. Each has room for ten more.
var growing = map[string]addition{
	".":                        {"kinds of record, each with its fields, its check and its fold; some with a file", 50, 3, nil},
	"app/internal/cli/threads": {"commands", 1000, 10, nil},
	"app/internal/cli/stores":  {"commands", 1000, 10, nil},
	"app/internal/cli/tasks":   {"commands", 1000, 10, nil},
	"dispatch":                 {"verbs of workers", 300, 2, nil},
	"flow":                     {"modes of streams", 200, 0, nil},
	"graph":                    {"modes of streams", 150, 0, nil},
	"internal/commit":          {"stages of a commit", 900, 8, nil},
	"ledger/ledgertest":        {"cases", 450, 3, nil},
	"runs":                     {"modes of streams", 100, 0, nil},
	"server":                   {"routes", 500, 4, nil},
	"store/storetest":          {"cases", 450, 3, nil},
	"store/stresstest":         {"cases", 600, 4, nil},
	"task":                     {"verbs of workers", 150, 0, nil},
	"worker":                   {"verbs of workers", 300, 0, map[string]int{"execution": 10}},
	"worker/workertest":        {"verbs of workers", 200, 0, map[string]int{"Task": 10}},
}

// A room is a package as the law of sizes sees it.
type room struct {
	lines, files int
	types        map[string]*size
}

// A size is a type's.
type size struct {
	methods, exported, fields int
	embeds                    []string // structs of the same package
	declared                  bool
}

// largest returns the type with the most methods.
func (r *room) largest() string {
	names := slices.Sorted(maps.Keys(r.types))
	if len(names) == 0 {
		return "-"
	}
	t := slices.MaxFunc(names, func(a, b string) int { return r.types[a].methods - r.types[b].methods })
	return fmt.Sprintf("%s %d+%d", t, r.types[t].exported, r.types[t].methods-r.types[t].exported)
}

// A sizes check compares figures with their limits.
type sizes struct{ t *testing.T }

// atMost holds one figure to its limit, and warns from 90 % of it on.
func (s *sizes) atMost(what string, have, limit int, advice string) {
	s.t.Helper()
	switch {
	case have > limit:
		s.t.Errorf("%s: %d; the limit is %d: %s", what, have, limit, advice)
	case have*10 >= limit*9:
		s.t.Logf("warning: %s: %d, and the limit is %d", what, have, limit)
	}
}

func TestFilesAreSmall(t *testing.T) {
	const most = 600
	for _, f := range goFiles(t) {
		if n := bytes.Count(f.src, []byte("\n")); n > most && !generated(f.src) {
			t.Errorf("%s has %d lines; the limit is %d: it holds more than one noun", f.path, n, most)
		}
	}
}

// TestRoomsAreSmall holds packages and types below their limits, and warns from 90 % on. With -v
// it prints lines, files, the pairs of files that use each other, and the largest type with its
// exported and other methods.
func TestRoomsAreSmall(t *testing.T) {
	rooms, parsed := map[string]*room{}, map[string][]*goFile{}
	for _, f := range goFiles(t) {
		if f.test || generated(f.src) {
			continue
		}
		r := rooms[f.pkg]
		if r == nil {
			r = &room{types: map[string]*size{}}
			rooms[f.pkg] = r
		}
		r.lines += bytes.Count(f.src, []byte("\n"))
		r.files++
		r.count(f.ast)
		parsed[f.pkg] = append(parsed[f.pkg], f)
	}
	s := &sizes{t}
	for _, pkg := range slices.Sorted(maps.Keys(rooms)) {
		s.room(pkg, rooms[pkg])
	}
	known := map[string]bool{}
	for pkg, r := range rooms {
		for name := range r.types {
			known[qualified(pkg, name)] = true
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(wide)), slices.Collect(maps.Keys(many))) {
		if !known[name] {
			t.Errorf("%s may have many fields or methods, and there is no such type", name)
		}
	}
	for _, pkg := range slices.Concat(slices.Collect(maps.Keys(budgets)), slices.Collect(maps.Keys(growing))) {
		if rooms[pkg] == nil {
			t.Errorf("there is a budget or room to grow for %s, and no such package", pkg)
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

func (s *sizes) room(pkg string, r *room) {
	s.t.Helper()
	room := growing[pkg]
	advice, adviceFiles := "find its second noun", "find its second noun"
	if room.what != "" {
		advice = fmt.Sprintf("ten more %s take %d lines, so find its second noun before they come", room.what, room.lines)
		adviceFiles = fmt.Sprintf("ten more %s take %d files, so find its second noun before they come", room.what, room.files)
	}
	s.atMost("lines of "+pkg, r.lines, maxLines-room.lines, advice)
	s.atMost("files of "+pkg, r.files, maxFiles-room.files, adviceFiles)
	if budget, ok := budgets[pkg]; ok {
		s.atMost("budget of "+pkg, r.lines, budget, "look at the contract, then at store/internal, then change docs/adr/0006")
	}
	for _, name := range slices.Sorted(maps.Keys(r.types)) {
		t := r.types[name]
		if !t.declared {
			continue
		}
		full := qualified(pkg, name)
		if many[full] == "" {
			s.atMost("methods of "+full, t.methods, maxMethods-room.methods[name], "find its second noun")
		}
		if many[full] == "" && ast.IsExported(name) {
			s.atMost("exported methods of "+full, t.exported, maxExported, "find its second noun")
		}
		if wide[full] == "" && !isOptions(name) {
			s.atMost("fields of "+full, r.fields(name), maxFields, "find its second noun")
		}
	}
}

// qualified names a type by its package's path.
func qualified(pkg, name string) string {
	if pkg == "." {
		pkg = "posthouse"
	}
	return pkg + "." + name
}

func isOptions(name string) bool {
	return strings.HasSuffix(name, "Options") || strings.HasSuffix(name, "Limits") || strings.HasSuffix(name, "Config")
}

// fields counts a type's fields, with those of the structs that it embeds.
func (r *room) fields(name string) int {
	t := r.types[name]
	if t == nil {
		return 0
	}
	n := t.fields
	for _, e := range t.embeds {
		n += max(0, r.fields(e)-1)
	}
	return n
}

func (r *room) of(name string) *size {
	if r.types[name] == nil {
		r.types[name] = &size{}
	}
	return r.types[name]
}

// count adds the types, methods and functions that a file declares.
func (r *room) count(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			r.function(d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if ts, ok := spec.(*ast.TypeSpec); ok {
					r.declare(ts)
				}
			}
		}
	}
}

func (r *room) declare(ts *ast.TypeSpec) {
	t := r.of(ts.Name.Name)
	t.declared = true
	st, ok := ts.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range st.Fields.List {
		t.fields += max(1, len(f.Names))
		if e := typeName(f.Type); len(f.Names) == 0 && e != "" {
			t.embeds = append(t.embeds, e)
		}
	}
}

func (r *room) function(fn *ast.FuncDecl) {
	if fn.Recv != nil {
		t := r.of(typeName(fn.Recv.List[0].Type))
		t.methods++
		if fn.Name.IsExported() {
			t.exported++
		}
		return
	}
	params := fn.Type.Params.List
	if len(params) > 0 && isContext(params[0].Type) && len(params[0].Names) < 2 {
		params = params[1:]
	}
	if len(params) == 0 {
		return
	}
	if name := typeName(params[0].Type); name != "" {
		r.of(name).methods++
	}
}

func isContext(x ast.Expr) bool {
	sel, ok := x.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Context"
}

// typeName returns the name of a type of the same package, or of a pointer to it; "" for others.
func typeName(x ast.Expr) string {
	for {
		switch e := x.(type) {
		case *ast.StarExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.IndexListExpr:
			x = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// filePairs counts the ordered pairs of files of one package in which the first uses
// a symbol that the second declares. It ignores symbols of other packages.
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
