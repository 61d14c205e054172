package posthouse_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestVerdictsAreComplete holds the table of verdicts against the constants: each has a row,
// and each row has all that its verdict needs where it is given, recorded and shown.
func TestVerdictsAreComplete(t *testing.T) {
	var declared []posthouse.Verdict
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.ValueSpec)
			if !ok || len(s.Values) != 1 {
				return true
			}
			of, _ := s.Type.(*ast.Ident)
			if lit, ok := s.Values[0].(*ast.BasicLit); ok && of != nil && of.Name == "Verdict" {
				v, _ := strconv.Unquote(lit.Value)
				declared = append(declared, posthouse.Verdict(v))
			}
			return true
		})
	}
	rows, names, tools := posthouse.Verdicts(), []posthouse.Verdict{}, map[string]bool{}
	for i, v := range rows {
		names = append(names, v.Verdict)
		if v.Code != uint64(i+1) {
			t.Errorf("verdict %s is row %d of the table and has code %d", v.Verdict, i+1, v.Code)
		}
		if v.Means == "" || v.Past == "" {
			t.Errorf("verdict %s does not say what it means (%q) or how a decision with it reads (%q)", v.Verdict, v.Means, v.Past)
		}
		if v.Yes && v.No {
			t.Errorf("verdict %s is a yes and a no", v.Verdict)
		}
		if (!v.OnGate && !v.Settle && (v.Vote || v.Yes || v.Value != "")) || (v.OnGate || v.Settle) && !v.Given || v.OnGate && v.Settle {
			t.Errorf("verdict %s may be allowed by a gate: %v; given by people: %v; a vote: %v; a yes: %v; has a value: %v", v.Verdict, v.OnGate, v.Given, v.Vote, v.Yes, v.Value != "")
		}
		if v.OnGate != (v.Tool != "") || v.OnGate != (v.ToolMeans != "") || v.OnGate && tools[v.Tool] {
			t.Errorf("verdict %s may be allowed by a gate: %v; a tool knows it as %q, %q", v.Verdict, v.OnGate, v.Tool, v.ToolMeans)
		}
		tools[v.Tool] = true
	}
	slices.Sort(declared)
	slices.Sort(names)
	if !slices.Equal(declared, names) {
		t.Errorf("the constants are %v, the table has %v", declared, names)
	}
}

// TestVerdictCodesStay fails if a verdict on record would be read as another one.
func TestVerdictCodesStay(t *testing.T) {
	for i, want := range []posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Edit, posthouse.Respond, posthouse.Expire, posthouse.Cancel, posthouse.Happened, posthouse.Redo, posthouse.GiveUp} {
		if got := want.Info().Code; got != uint64(i+1) {
			t.Errorf("verdict %s has code %d, on record it is %d", want, got, i+1)
		}
	}
}

// TestDocsListVerdicts fails if a page does not list the verdicts of the table.
func TestDocsListVerdicts(t *testing.T) {
	var codes []string
	for _, v := range posthouse.Verdicts() {
		codes = append(codes, fmt.Sprintf("%d %s", v.Code, v.Verdict))
	}
	onGate := posthouse.JoinVerdicts(posthouse.GateVerdicts(), ", ")
	votes := posthouse.JoinVerdicts(posthouse.VoteVerdicts(), " and ")
	for _, c := range []struct{ page, line string }{
		{"docs/format.md", "\nuint verdict      " + strings.Join(codes, ", ") + "\n"},
		{"docs/approvals.md", "the same verdicts\n(" + onGate + ")"},
		{"docs/approvals.md", "the verdicts of a quorum are " + votes + ".\n"},
	} {
		text, err := os.ReadFile(c.page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), c.line) {
			t.Errorf("%s does not say %q", c.page, c.line)
		}
	}
}
