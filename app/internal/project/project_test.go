package project

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestPaths: a module's path is what Go takes, and its program is called by the last element.
func TestPaths(t *testing.T) {
	for path, name := range map[string]string{
		"refunds": "refunds", "example.com/acme/refunds": "refunds", "example.com/refunds/v2": "refunds", "a_b~c-d.e": "a_b~c-d.e",
	} {
		got, err := PathOf(path, ".")
		if err != nil || got != path || nameOf(got) != name {
			t.Errorf("%s is %q of %q, %v", path, nameOf(got), got, err)
		}
	}
	if got, err := PathOf("", "some/where/lamps"); got != "lamps" || err != nil {
		t.Errorf("the directory's name is taken as %q, %v", got, err)
	}
	for _, path := range []string{
		"a b", "a//b", "/a", "a/", "a/..", "../a", ".", ".a", "a.", "-a", "a\nb", "é", "a\"b", "std", "cmd/x", "v2", Module, Module + "/x", strings.Repeat("x", 201),
	} {
		if got, err := PathOf(path, "."); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%.30q is taken as %q, %v", path, got, err)
		}
	}
	if _, err := PathOf("", "some/my refunds"); !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.(*posthouse.Error).Hint, "--module") {
		t.Errorf("a directory's name that is no path: %v", err)
	}
}

// TestWriteLeavesFilesAlone: a directory with files is refused, and one that cannot be filled is
// left as it was.
func TestWriteLeavesFilesAlone(t *testing.T) {
	from := &Source{Version: "v0.3.0"}
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, ".env"), "mine")
	if _, err := Write(dir, "x", from); !errors.Is(err, posthouse.ErrExists) || !strings.Contains(err.Error(), ".env") {
		t.Errorf("a directory with a file: %v", err)
	}
	if _, err := Write(filepath.Join(dir, ".env"), "x", from); err == nil {
		t.Error("a file is taken for a directory")
	}
	if _, err := Write(filepath.Join(dir, "new"), "x", &Source{Checkout: filepath.Join(dir, "none")}); err == nil {
		t.Error("a checkout that is gone is taken")
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("there are %v, %v", names, err)
	}
	names, err := Write(filepath.Join(dir, "a", "b"), "example.com/lamps", from)
	if err != nil || len(names) != 9 {
		t.Fatalf("it writes %v, %v", names, err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "a", "b", "go.mod"))
	if err != nil || !strings.Contains(string(mod), "\nrequire "+Module+" v0.3.0\n") || strings.Contains(string(mod), "replace") {
		t.Errorf("go.mod is %s, %v", mod, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, "a", "b", name))
		if err != nil || bytes.Contains(data, []byte("starter")) || bytes.Contains(data, []byte("NAME")) {
			t.Errorf("%s has a name that is another's: %v\n%s", name, err, data)
		}
	}
}

// TestSource: a checkout that is named goes first, then what Go recorded, then the checkout around the
// working directory.
func TestSource(t *testing.T) {
	checkout := t.TempDir()
	mustWrite(t, filepath.Join(checkout, "go.mod"), "module "+Module+" // ours\n\ngo 1.26.0\n")
	if s, err := SourceOf(checkout, "v1.2.3"); err != nil || s.Checkout != checkout {
		t.Errorf("it is %+v, %v", s, err)
	}
	other := t.TempDir()
	if _, err := SourceOf(other, "v1.2.3"); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a directory without posthouse: %v", err)
	}
	t.Chdir(other)
	_, file, _, _ := runtime.Caller(0)
	switch s, err := SourceOf("", ""); {
	case filepath.IsAbs(file): // this test knows where it was built
		if err != nil || !isCheckout(s.Checkout) || s.Checkout != filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(file)))) {
			t.Errorf("it was built from a checkout, and is %+v, %v", s, err)
		}
	case !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.(*posthouse.Error).Hint, "--posthouse"):
		t.Errorf("nothing is known, and it is %+v, %v", s, err)
	}
	for file, want := range map[string]string{
		filepath.Join(checkout, "app", "internal", "project", "source.go"): checkout,
		filepath.Join(other, "app", "internal", "project", "source.go"):    "",
		"github.com/posthouse/posthouse/app/internal/project/source.go":    "",
		filepath.Join(checkout, "source.go"):                               "",
	} {
		if got := builtFrom(file); got != want {
			t.Errorf("built as %s, it is from %q, want %q", file, got, want)
		}
	}
	below := filepath.Join(checkout, "a", "b")
	mustWrite(t, filepath.Join(below, "x"), "")
	t.Chdir(below)
	if s, err := SourceOf("", ""); err != nil || filepath.Base(s.Checkout) != filepath.Base(checkout) {
		t.Errorf("below a checkout it is %+v, %v", s, err)
	}
	for _, c := range []struct {
		info    debug.BuildInfo
		version string
		want    *Source
	}{
		{debug.BuildInfo{Main: debug.Module{Path: Module, Version: "(devel)"}}, "0.4.0", &Source{Version: "v0.4.0"}},
		{debug.BuildInfo{Main: debug.Module{Path: Module, Version: "v0.4.1"}}, "", &Source{Version: "v0.4.1"}},
		{debug.BuildInfo{Main: debug.Module{Path: Module, Version: "v0.0.0-20261126151717-abcdefabcdef+dirty"}}, "", nil},
		{debug.BuildInfo{Main: debug.Module{Path: Module, Version: "v0.5.1-0.20261126151717-abcdefabcdef"}}, "", nil},
		{debug.BuildInfo{Main: debug.Module{Path: "shop", Version: "v7.0.0"}, Deps: []*debug.Module{{Path: "x"}, {Path: Module, Version: "v0.4.2"}}}, "v7.0.0", &Source{Version: "v0.4.2"}},
		{debug.BuildInfo{Main: debug.Module{Path: "shop"}, Deps: []*debug.Module{{Path: Module, Version: "v0.0.0", Replace: &debug.Module{Path: checkout}}}}, "", &Source{Checkout: checkout}},
		{debug.BuildInfo{Main: debug.Module{Path: "shop"}, Deps: []*debug.Module{{Path: Module, Version: "v0.0.0", Replace: &debug.Module{Path: "../gone"}}}}, "", nil},
	} {
		got := recorded(&c.info, c.version)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%+v %q is %+v, want %+v", c.info.Main, c.version, got, c.want)
		}
	}
}

// TestAtHand tells a program of a user's from posthouse itself, and from other modules.
func TestAtHand(t *testing.T) {
	for _, c := range []struct {
		mod, file, text string
		want            bool
	}{
		{"module x\nrequire " + Module + " v0.1.0\n", "main.go", "package main\n", true},
		{"module x\nrequire (\n\t" + Module + " v0.0.0 // indirect\n)\n", "a.go", "// Command x.\npackage main\n", true},
		{"module x\nrequire " + Module + " v0.1.0\n", "main.go", "package x // no package main\n", false},
		{"module x\nrequire " + Module + " v0.1.0\n", "x_test.go", "package main\n", false},
		{"module x\nrequire " + Module + "/otel v0.1.0\n", "main.go", "package main\n", false},
		{"module x\n", "main.go", "package main\n", false},
		{"module " + Module + "\n", "main.go", "package main\n", false},
	} {
		dir := t.TempDir()
		mustWrite(t, filepath.Join(dir, "go.mod"), c.mod)
		mustWrite(t, filepath.Join(dir, c.file), c.text)
		if got := AtHand(dir); got != c.want {
			t.Errorf("%q with %s: %q is at hand: %v", c.mod, c.file, c.text, got)
		}
	}
	if AtHand(filepath.Join(t.TempDir(), "none")) {
		t.Error("a directory that is not there is at hand")
	}
}

// TestChangesThatCount: a change of source, of go.mod and of what is embedded is seen, wherever it is
// in the module; tests, data and other modules are passed over.
func TestChangesThatCount(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"go.mod", "main.go", "a/b/b.go", "a/page.html", "a/b/b_test.go", "data/x.db", ".git/x.go", "other/go.mod", "other/x.go", "testdata/x.go"} {
		mustWrite(t, filepath.Join(root, name), "1")
	}
	embeds := []string{filepath.Join(root, "a/page.html"), filepath.Join(root, "none.html")}
	for name, counts := range map[string]bool{
		"go.mod": true, "main.go": true, "a/b/b.go": true, "a/page.html": true, "a/new.go": true, "c/new.go": true, "none.html": true,
		"a/b/b_test.go": false, "data/x.db": false, ".git/x.go": false, "other/x.go": false, "testdata/x.go": false, "README.md": false,
	} {
		before := look(root, embeds)
		if !before.equal(look(root, embeds)) {
			t.Error("nothing has changed, and it is seen")
		}
		mustWrite(t, filepath.Join(root, name), "more than before "+name)
		if got := !before.equal(look(root, embeds)); got != counts {
			t.Errorf("a change of %s is seen: %v", name, got)
		}
	}
	before := look(root, nil)
	if err := os.Remove(filepath.Join(root, "a/b/b.go")); err != nil {
		t.Fatal(err)
	}
	if before.equal(look(root, nil)) {
		t.Error("a file that is gone is not missed")
	}
}

// TestLoopNeedsGo: without a go command nothing is tried.
func TestLoopNeedsGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	l := Loop{Dir: t.TempDir(), Say: t.Logf}
	if err := l.Run(context.Background()); !errors.Is(err, posthouse.ErrUnsupported) || !strings.Contains(err.(*posthouse.Error).Hint, "--watch=false") {
		t.Errorf("it says %v", err)
	}
}
