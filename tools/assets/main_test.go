package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const built = `{
  "index.html": {"file": "assets/index.js", "imports": ["_base.js"], "css": ["assets/index.css"], "assets": ["assets/inter.woff2", "assets/inter-latin-ext.woff2"], "dynamicImports": ["src/threads/screen.tsx"]},
  "_base.js": {"file": "assets/base.js", "imports": ["index.html"]},
  "src/inbox/screen.tsx": {"file": "assets/inbox.js", "imports": ["_base.js"], "css": ["assets/inbox.css"]},
  "src/threads/screen.tsx": {"file": "assets/threads.js"}
}`

// site writes what Vite would have built: files by name, and the manifest.
func site(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFirstFiles: the inbox and all that it imports are loaded first, with the fonts of Latin texts; other screens
// and extended fonts are not.
func TestFirstFiles(t *testing.T) {
	first, err := firstFiles(site(t, map[string]string{manifest: built}))
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(first, func(_ string, is bool) bool { return !is })
	want := []string{"assets/base.js", "assets/inbox.css", "assets/inbox.js", "assets/index.css", "assets/index.js", "assets/inter.woff2", "index.html"}
	if got := slices.Sorted(maps.Keys(first)); !slices.Equal(got, want) {
		t.Errorf("first are %v, want %v", got, want)
	}
	if _, err := firstFiles(site(t, map[string]string{manifest: `{"index.html": {"file": "a.js"}}`})); err == nil {
		t.Error("a build without the inbox has a first load")
	}
}

// TestPackRefusesWhatIsTooLarge: a first load and a file have limits, and what is within them is packed.
func TestPackRefusesWhatIsTooLarge(t *testing.T) {
	font := func(n int) map[string]string {
		return map[string]string{manifest: built, "index.html": "<html>", "assets/index.js": "let a = 1", "assets/inter.woff2": strings.Repeat("x", n)}
	}
	to := filepath.Join(t.TempDir(), "packed")
	if err := pack(site(t, font(maxFirst-1<<10)), to); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(to, "assets", "index.js.gz")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(to, ".vite")); !os.IsNotExist(err) {
		t.Errorf("the manifest was packed: %v", err)
	}
	if err := pack(site(t, font(maxFirst+1)), to); err == nil {
		t.Errorf("%d bytes at first were packed", maxFirst+1)
	}
}
