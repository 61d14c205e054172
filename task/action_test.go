package task_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/task"
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

// TestActionsListsAll fails if an action is not listed: a verdict with it would be refused.
func TestActionsListsAll(t *testing.T) {
	var listed []string
	for _, a := range task.Actions() {
		listed = append(listed, string(a))
	}
	if all := declared(t, "action.go", "Action"); !slices.Equal(all, listed) {
		t.Errorf("the constants are %v, Actions lists %v", all, listed)
	}
}

// TestDocsTellTheActions fails if a client of another language would not find an action. Workers
// give await and interrupt themselves.
func TestDocsTellTheActions(t *testing.T) {
	for page, quote := range map[string]string{"../docs/workers.md": "", "../worker/command/doc.go": `"action":"`} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range task.Actions() {
			told := strings.Contains(string(text), quote+string(a)+`"`) || quote == "" && strings.Contains(string(text), "`"+string(a)+"`")
			if !told && a != task.Await && a != task.Abandon {
				t.Errorf("%s does not tell what the action %s does", page, a)
			}
		}
	}
}
