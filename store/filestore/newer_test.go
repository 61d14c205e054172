package filestore_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/filestore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestNewerFormat opens what a newer version wrote, also one that was killed: it is refused with
// both versions named, and no file is changed.
func TestNewerFormat(t *testing.T) {
	for _, killed := range []bool{false, true} {
		dir := t.TempDir()
		s, l := open(t, dir, nil), storetest.NewBuilder().Log("a")
		for range 20 {
			b := l.Next(l.Step("s", []byte("result")))
			if err := s.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			l.Took(b)
		}
		if killed { // the journal has not been drained
			whole := dir
			dir = t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/format", []byte("posthouse files 2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := contents(t, dir)
		for _, o := range []filestore.Options{{}, {ReadOnly: true}} {
			_, err := filestore.Open(t.Context(), dir, &o)
			if !errors.Is(err, posthouse.ErrNewer) || !strings.Contains(err.Error(), "format 2") || !strings.Contains(err.Error(), "up to 1") {
				t.Errorf("killed %v, ReadOnly %v: %v", killed, o.ReadOnly, err)
			}
		}
		if after := contents(t, dir); !maps.Equal(before, after) {
			t.Errorf("killed %v: files were changed", killed)
		}
	}
}

// contents are the files of a store, but for its lock.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "lock" {
			return err
		}
		data, err := fs.ReadFile(root, path)
		files[path] = string(data)
		return err
	})
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	return files
}
