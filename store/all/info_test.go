package all_test

import (
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/all"
)

// TestInfo opens a store of each kind that keeps its size, and of memory: all say what they are.
func TestInfo(t *testing.T) {
	dir := t.TempDir()
	for kind, url := range map[string]string{
		"memory": "memory:", "files": "file:" + filepath.Join(dir, "f"), "SQLite": "sqlite:" + filepath.Join(dir, "s.db"), "Postgres": pgtest.URL(t) + "&schema=info",
	} {
		s := must.Get(all.Open(t.Context(), url, nil))(t)
		says, promise, bytes, err := s.(posthouse.Informer).Info(t.Context())
		must.Do(t, err)
		if says != kind || promise == "" || bytes > 0 == (kind == "memory") {
			t.Errorf("%s says %s, %s, %d bytes", kind, says, promise, bytes)
		}
		must.Do(t, s.Close())
	}
}
