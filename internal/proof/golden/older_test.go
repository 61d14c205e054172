package golden_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestOlderStoreIsOnlyReadOnceItIsUpToDate: who may only read a store of an earlier version is told what
// brings it up to date, and changes nothing.
func TestOlderStoreIsOnlyReadOnceItIsUpToDate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "older.db")
	before := must.Get(os.ReadFile("testdata/d691f92/signed.db"))(t)
	must.Do(t, os.WriteFile(path, before, 0o600))
	_, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Options{ReadOnly: true})
	must.Fail(t, err, posthouse.ErrUnsupported)
	if !strings.Contains(err.Error(), "has schema version 2; this program reads version") {
		t.Errorf("it says %v", err)
	}
	if after := must.Get(os.ReadFile(path))(t); string(after) != string(before) {
		t.Error("the file was changed")
	}
	must.Do(t, must.Get(sqlitestore.Open(t.Context(), path, nil))(t).Close())
	must.Do(t, must.Get(sqlitestore.Open(t.Context(), path, &sqlitestore.Options{ReadOnly: true}))(t).Close())
}
