package server

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/strict"
)

var update = flag.Bool("update", false, "write what the tests would have to be told otherwise")

const commentsPath = "internal/api/comments.json"

// TestCommentsAreTheSources compares what /openapi.json says of members with the comments of their
// fields. With -update it writes them.
func TestCommentsAreTheSources(t *testing.T) {
	h := open(t, nil)
	found := api.Comments{Fields: map[string]map[string]string{}, Values: map[string][]string{}}
	packages := map[string]*source{}
	types := api.Types(h.server.routes)
	for _, typ := range types {
		if packages[typ.PkgPath()] == nil {
			packages[typ.PkgPath()] = readSource(t, typ.PkgPath())
		}
	}
	for _, typ := range types {
		if typ.Kind() != reflect.Struct {
			values := packages[typ.PkgPath()].valuesOf(typ)
			for _, pkg := range slices.Sorted(maps.Keys(packages)) { // constants of the type that other packages have
				values = append(values, packages[pkg].values[qualified(typ)]...)
			}
			if len(values) > 0 {
				found.Values[api.TypeName(typ)] = values
			}
			continue
		}
		for _, f := range strict.Fields(typ) {
			owner := packages[f.Owner.PkgPath()]
			if owner == nil {
				owner = readSource(t, f.Owner.PkgPath())
				packages[f.Owner.PkgPath()] = owner
			}
			help := owner.fields[f.Owner.Name()+"."+f.GoName]
			if f.Help != "" || help == "" {
				continue
			}
			name := api.TypeName(f.Owner)
			if found.Fields[name] == nil {
				found.Fields[name] = map[string]string{}
			}
			found.Fields[name][f.GoName] = help
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	must.Do(t, enc.Encode(found))
	if *update {
		must.Do(t, os.WriteFile(commentsPath, text.Bytes(), 0o644))
	}
	if have := must.Get(os.ReadFile(commentsPath))(t); !bytes.Equal(have, text.Bytes()) {
		t.Errorf("%s is not what the sources say: go test ./server -run Comments -update", commentsPath)
	}
}

// A source is what the files of a package say of its types.
type source struct {
	fields map[string]string   // by type and field
	values map[string][]string // the constants of a type
	consts map[string]string   // the texts of constants
}

func readSource(t *testing.T, pkg string) *source {
	s := &source{map[string]string{}, map[string][]string{}, map[string]string{}}
	rel, ok := strings.CutPrefix(pkg, "github.com/posthouse/posthouse")
	if !ok {
		return s // another module's
	}
	files := must.Get(filepath.Glob(filepath.Join("..", filepath.FromSlash(rel), "*.go")))(t)
	var parsed []*ast.File
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") {
			parsed = append(parsed, must.Get(parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments))(t))
		}
	}
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok {
				s.constant(v)
			}
			return true
		})
	}
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if st, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range st.Fields.List {
					for _, name := range field.Names {
						s.fields[spec.Name.Name+"."+name.Name] = s.plain(field.Doc.Text() + field.Comment.Text())
					}
				}
			}
			return true
		})
	}
	return s
}

func (s *source) constant(v *ast.ValueSpec) {
	for i, name := range v.Names {
		if i >= len(v.Values) {
			return
		}
		lit, ok := v.Values[i].(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			continue
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			continue
		}
		s.consts[name.Name] = text
		switch typ := v.Type.(type) {
		case *ast.Ident:
			s.values[typ.Name] = append(s.values[typ.Name], text)
		case *ast.SelectorExpr:
			if pkg, ok := typ.X.(*ast.Ident); ok {
				s.values[pkg.Name+"."+typ.Sel.Name] = append(s.values[pkg.Name+"."+typ.Sel.Name], text)
			}
		}
	}
}

var docLink = regexp.MustCompile(`\[\*?([A-Za-z.]+)\]`)

// plain returns a comment as one line for readers who know no Go: a constant is its text.
func (s *source) plain(comment string) string {
	return docLink.ReplaceAllStringFunc(strings.Join(strings.Fields(comment), " "), func(link string) string {
		name := strings.Trim(link, "[]*")
		if text, ok := s.consts[name]; ok {
			return text
		}
		return name
	})
}

// qualified is a type's name in other packages.
func qualified(t reflect.Type) string { return path.Base(t.PkgPath()) + "." + t.Name() }

// valuesOf returns the values of a type that is a text in JSON, if it has constants.
func (s *source) valuesOf(t reflect.Type) (values []string) {
	if t.Kind() == reflect.String {
		return s.values[t.Name()]
	}
	if t.Kind() != reflect.Uint8 {
		return nil
	}
	for n := range uint64(64) {
		v := reflect.New(t)
		v.Elem().SetUint(n)
		m, ok := v.Interface().(encoding.TextMarshaler)
		if !ok {
			return nil
		}
		text, err := m.MarshalText()
		if err != nil {
			continue
		}
		if back, ok := reflect.New(t).Interface().(encoding.TextUnmarshaler); ok && len(text) > 0 && back.UnmarshalText(text) == nil &&
			reflect.ValueOf(back).Elem().Uint() == n {
			values = append(values, string(text))
		}
	}
	return values
}

// TestExamplesHaveTheFormOfTheirTypes reads each example as strictly as a request.
func TestExamplesHaveTheFormOfTheirTypes(t *testing.T) {
	h := open(t, nil)
	seen := 0
	fits := func(r *api.Route, example, form any) {
		raw, ok := example.(json.RawMessage)
		if !ok {
			return
		}
		seen++
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(reflect.New(reflect.TypeOf(form)).Interface()); err != nil {
			t.Errorf("%s %s: the example %s: %v", r.Method, r.Path, raw, err)
		}
		lacks(t, r.Method+" "+r.Path, raw, reflect.TypeOf(form))
	}
	for _, r := range h.server.routes {
		fits(r, r.Example, r.Body)
		for _, a := range r.Answers {
			fits(r, a.Example, a.Body)
		}
	}
	if seen < 15 {
		t.Errorf("there are %d examples", seen)
	}
}

// lacks reports the members that a type always has, and an example of it has not.
func lacks(t *testing.T, what string, raw json.RawMessage, form reflect.Type) {
	t.Helper()
	for form.Kind() == reflect.Pointer {
		form = form.Elem()
	}
	var list []json.RawMessage
	if form.Kind() == reflect.Slice && json.Unmarshal(raw, &list) == nil {
		for _, item := range list {
			lacks(t, what, item, form.Elem())
		}
	}
	var have map[string]json.RawMessage
	if form.Kind() != reflect.Struct || form.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || json.Unmarshal(raw, &have) != nil {
		return
	}
	for _, f := range strict.Fields(form) {
		value, ok := have[f.Name]
		if !ok && !f.Optional {
			t.Errorf("%s: the example lacks %s: %s", what, f.Name, raw)
		}
		if ok {
			lacks(t, what, value, f.Type)
		}
	}
}

// TestEveryMemberIsDescribed finds members of bodies and answers that say nothing of themselves.
func TestEveryMemberIsDescribed(t *testing.T) {
	h := open(t, nil)
	var d struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Description string }
			}
		}
	}
	h.send(ask{method: "GET", path: "/openapi.json", as: "-"}).want(200).into(&d)
	total := 0
	for schema, s := range d.Components.Schemas {
		for name, p := range s.Properties {
			total++
			if p.Description == "" {
				t.Errorf("%s.%s is not described: give its field a comment", schema, name)
			}
		}
	}
	t.Logf("%d members", total)
}
