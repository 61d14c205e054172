package runs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/posthouse/posthouse/runs"
)

// declared returns the constants of a type that a file declares.
func declared(t *testing.T, file, kind string) (list []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		s, ok := n.(*ast.ValueSpec)
		if !ok || len(s.Values) != 1 {
			return true
		}
		of, _ := s.Type.(*ast.Ident)
		if lit, ok := s.Values[0].(*ast.BasicLit); ok && of != nil && of.Name == kind {
			v, _ := strconv.Unquote(lit.Value)
			list = append(list, v)
		}
		return true
	})
	return list
}

// TestStreamModesListsAll fails if a mode is not listed: a run would refuse it.
func TestStreamModesListsAll(t *testing.T) {
	var listed []string
	for _, m := range runs.StreamModes() {
		listed = append(listed, string(m))
	}
	if all := declared(t, "stream.go", "StreamMode"); !slices.Equal(all, listed) {
		t.Errorf("the constants are %v, StreamModes lists %v", all, listed)
	}
}
