package filestore

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("golden", false, "write the golden stores anew: only when the format gets a new version")

// TestGoldenStores opens stores that version 1 of the format wrote, one closed and one as
// a killed process leaves it: they show what they did then, to a reader and a writer.
func TestGoldenStores(t *testing.T) {
	for _, name := range []string{"closed", "killed"} {
		dir := filepath.Join("testdata", "v1", name)
		if *update {
			writeGolden(t, dir, name == "closed")
		}
		want, err := os.ReadFile(dir + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []*Options{{ReadOnly: true}, nil, nil} {
			if o != nil { // the directory itself stays as it is
				checkGolden(t, name, dir, string(want), o)
				continue
			}
			copied := filepath.Join(t.TempDir(), "store")
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				checkGolden(t, name, copied, string(want), nil)
			}
		}
	}
}

func checkGolden(t *testing.T, name, dir, want string, o *Options) {
	t.Helper()
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer func() { _ = s.Close() }()
	got, err := content(t.Context(), s)
	if err != nil || got != want {
		t.Errorf("%s: it shows other content than it did, %v", name, err)
	}
	for err := range s.Check(t.Context()) {
		t.Errorf("%s: %v", name, err)
	}
}

func writeGolden(t *testing.T, dir string, closed bool) {
	d, text := filled(t, closed)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), fs.ModePerm); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, n := range d.names {
		write(name, n.data)
	}
	if err := os.WriteFile(dir+".txt", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
