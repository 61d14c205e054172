package posthouse_test

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// docLink matches a link of a doc comment: a name in brackets, perhaps with its type and package.
var docLink = regexp.MustCompile(`\[(\*?[A-Za-z]\w*(?:\.[A-Za-z]\w*){0,2})\]`)

// TestDocLinksResolve looks up each link of a comment to a symbol of this module. A link to a
// symbol that was renamed or moved is plain text in go doc, and misleads who reads it.
func TestDocLinksResolve(t *testing.T) {
	symbols := map[string]map[string]bool{} // by package
	for _, f := range goFiles(t) {
		if symbols[f.pkg] == nil {
			symbols[f.pkg] = map[string]bool{}
		}
		addSymbols(symbols[f.pkg], f.ast)
	}
	byName := map[string][]string{} // packages
	for _, f := range goFiles(t) {
		name := f.ast.Name.Name
		if !f.test && !slices.Contains(byName[name], f.pkg) {
			byName[name] = append(byName[name], f.pkg)
		}
	}
	links := 0
	for _, f := range goFiles(t) {
		for _, group := range docComments(f.ast) {
			for _, m := range docLink.FindAllStringSubmatch(group.Text(), -1) {
				link := strings.TrimPrefix(m[1], "*")
				first, rest, dotted := strings.Cut(link, ".")
				own := ast.IsExported(first)
				switch {
				case own && (!dotted || has(symbols[f.pkg], link)):
					links++ // one word in brackets need not be a link
					continue
				case own:
				case !dotted || len(byName[first]) == 0 || !ast.IsExported(strings.Split(rest, ".")[0]):
					continue // text, or another module's
				}
				found := false
				for _, pkg := range append(imported(f, first), byName[first]...) {
					found = found || has(symbols[pkg], rest)
				}
				if !found && !isForeign(f, first) {
					t.Errorf("%s: [%s] names nothing", f.at(group.Pos()), m[1])
				}
				links++
			}
		}
	}
	if links < 500 {
		t.Errorf("only %d links were found", links)
	}
}

// has reports whether a package declares a name or member. A type that embeds another may have
// any member.
func has(symbols map[string]bool, name string) bool {
	typ, _, member := strings.Cut(name, ".")
	return symbols[name] || member && symbols[typ+".*"]
}

// isForeign reports whether a file imports a package of another module under a name.
func isForeign(f *goFile, name string) bool {
	for _, spec := range f.ast.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		if _, ours := inModule(imp); !ours && path.Base(imp) == name {
			return true
		}
	}
	return false
}

// imported returns the packages of this module that a file imports under a name.
func imported(f *goFile, name string) (found []string) {
	for _, spec := range f.ast.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		rel, ours := inModule(imp)
		if ours && (spec.Name != nil && spec.Name.Name == name || spec.Name == nil && path.Base(imp) == name) {
			found = append(found, rel)
		}
	}
	return found
}

// docComments returns the comments that go doc shows: of the package and its declarations, with
// those of fields and methods.
func docComments(f *ast.File) (docs []*ast.CommentGroup) {
	add := func(groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if g != nil {
				docs = append(docs, g)
			}
		}
	}
	add(f.Doc)
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncDecl:
			add(x.Doc)
			return false
		case *ast.GenDecl:
			add(x.Doc)
		case *ast.TypeSpec:
			add(x.Doc, x.Comment)
		case *ast.ValueSpec:
			add(x.Doc, x.Comment)
		case *ast.Field:
			add(x.Doc, x.Comment)
		}
		return true
	})
	return docs
}

// addSymbols adds what a file declares: names, and members as Type.Member.
func addSymbols(to map[string]bool, f *ast.File) {
	for _, d := range f.Decls {
		switch x := d.(type) {
		case *ast.FuncDecl:
			if x.Recv == nil {
				to[x.Name.Name] = true
			} else {
				to[baseName(x.Recv.List[0].Type)+"."+x.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range x.Specs {
				switch y := s.(type) {
				case *ast.ValueSpec:
					for _, n := range y.Names {
						to[n.Name] = true
					}
				case *ast.TypeSpec:
					to[y.Name.Name] = true
					addMembers(to, y.Name.Name, y.Type)
				}
			}
		}
	}
}

func addMembers(to map[string]bool, name string, t ast.Expr) {
	var fields *ast.FieldList
	switch x := t.(type) {
	case *ast.StructType:
		fields = x.Fields
	case *ast.InterfaceType:
		fields = x.Methods
	default:
		return
	}
	for _, field := range fields.List {
		if len(field.Names) == 0 {
			to[name+".*"] = true
		}
		for _, n := range field.Names {
			to[name+"."+n.Name] = true
		}
	}
}

// baseName returns the name of a receiver's type, without pointer and type parameters.
func baseName(t ast.Expr) string {
	switch x := t.(type) {
	case *ast.StarExpr:
		return baseName(x.X)
	case *ast.IndexExpr:
		return baseName(x.X)
	case *ast.IndexListExpr:
		return baseName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}
