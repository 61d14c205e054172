package snippets_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the snippets into the pages")

const root = "../.."

var block = regexp.MustCompile("(?ms)^```go([^\n]*)\n(.*?)^```$")

// pages are README.md and the documentation.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{root + "/README.md"}
	for _, pattern := range []string{root + "/docs/*.md", root + "/docs/guarantees/*.md", root + "/docs/howto/*.md"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

// TestPages compares each block of Go in the documentation with the code that
// it names.
func TestPages(t *testing.T) {
	blocks := 0
	pages := pages(t)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(page) == "tutorial.md" {
			continue // its blocks are files, which internal/proof/e2e/tutorial builds and runs
		}
		now := block.ReplaceAllStringFunc(string(text), func(old string) string {
			blocks++
			m := block.FindStringSubmatch(old)
			code, err := snippet(strings.TrimSpace(m[1]))
			if err != nil {
				t.Errorf("%s: %v", filepath.Base(page), err)
				return old
			}
			if code != m[2] && !*update {
				t.Errorf("%s does not say what%s does; go test ./docs/snippets -update mends it", filepath.Base(page), m[1])
			}
			return "```go" + m[1] + "\n" + code + "```"
		})
		if *update && now != string(text) {
			if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if blocks < 50 {
		t.Errorf("found only %d blocks of Go in %d pages", blocks, len(pages))
	}
}

// TestSnippetsAreShown finds regions that no page shows any more.
func TestSnippetsAreShown(t *testing.T) {
	var all bytes.Buffer
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	begin := regexp.MustCompile(`(?m)^\s*//doc:(\S+)$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range begin.FindAllSubmatch(text, -1) {
			if name := string(m[1]); name != "end" && !bytes.Contains(all.Bytes(), []byte("```go "+file+"#"+name+"\n")) {
				t.Errorf("no page shows %s#%s", file, name)
			}
		}
	}
}

// snippet returns the code that a block names.
func snippet(ref string) (string, error) {
	file, name, ok := strings.Cut(ref, "#")
	if !ok {
		return "", fmt.Errorf("a block of Go names no code: %q", ref)
	}
	if text, err := os.ReadFile(file); err == nil {
		return region(string(text), ref, name)
	}
	fset := token.NewFileSet()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return "", err
	}
	f, err := parser.ParseFile(fset, file, text, parser.ParseComments)
	if err != nil {
		return "", err
	}
	for _, d := range f.Decls {
		from, to := d.Pos(), d.End()
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil || d.Name.Name != name {
				continue
			}
		case *ast.GenDecl:
			spec, ok := d.Specs[0].(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				continue
			}
		}
		return string(text[fset.Position(from).Offset:fset.Position(to).Offset]) + "\n", nil
	}
	return "", fmt.Errorf("%s does not declare %s", file, name)
}

// region returns the lines between a region's marks, unindented.
func region(text, ref, name string) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	var out []string
	in := false
	for _, line := range lines {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "//doc:"+name && in, trimmed == "//doc:"+name && len(out) > 0:
			return "", fmt.Errorf("%s begins twice", ref)
		case trimmed == "//doc:"+name:
			in = true
		case trimmed == "//doc:end":
			in = false
		case in:
			out = append(out, line)
		}
	}
	for len(out) > 0 && out[0] == "\n" { // before a comment, which gofmt keeps apart
		out = out[1:]
	}
	if in || len(out) == 0 {
		return "", fmt.Errorf("%s is not there, or does not end", ref)
	}
	indent := -1
	for _, line := range out {
		if rest := strings.TrimLeft(line, "\t"); rest != "\n" && (indent < 0 || len(line)-len(rest) < indent) {
			indent = len(line) - len(rest)
		}
	}
	for i, line := range out {
		if line != "\n" {
			out[i] = line[indent:]
		}
	}
	return strings.Join(out, ""), nil
}

// must and ok stand for a program's handling of errors.
func must[T any](v T, err error) T {
	ok(err)
	return v
}

func ok(err error) {
	if err != nil {
		panic(err)
	}
}
