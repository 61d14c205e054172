package sqlitestore_test

import (
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/erased"
)

// TestErasedBytesAreGone: no file of the store has what was deleted, the write-ahead log neither.
func TestErasedBytesAreGone(t *testing.T) {
	dir := t.TempDir()
	erased.Run(t, dir, open(t, filepath.Join(dir, "posthouse.db"), nil))
}

// TestErasedBytesGoWithTheLastReader: a reader that holds the log keeps copies of what was removed there until it ends,
// and no longer.
func TestErasedBytesGoWithTheLastReader(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "posthouse.db"), nil)
	l := newLine("t", idSource())
	commit(t, s, l.node([]byte(`"`+erased.Marker+`"`)))
	reader, err := sqlite.OpenConn(filepath.Join(dir, "posthouse.db"), sqlite.OpenReadOnly) // as another program may
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"BEGIN", "SELECT count(*) FROM sqlite_schema"} {
		if err := sqlitex.ExecuteTransient(reader, sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "t", All: true}); err != nil {
		t.Fatal(err)
	}
	if len(erased.Find(t, dir, erased.Marker)) == 0 {
		t.Fatal("the reader holds nothing: nothing is tried")
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	limit := time.After(20 * time.Second)
	for tries := time.NewTicker(10 * time.Millisecond); len(erased.Find(t, dir, erased.Marker)) > 0; {
		select {
		case <-tries.C:
		case <-limit:
			t.Fatal("the log was not folded in after its last reader")
		}
	}
}
