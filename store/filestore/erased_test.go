package filestore_test

import (
	"testing"

	"github.com/posthouse/posthouse/internal/proof/erased"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/store/filestore"
)

// TestErasedBytesAreGone: no file of the store has what was deleted.
func TestErasedBytesAreGone(t *testing.T) {
	dir := t.TempDir()
	s := must.Get(filestore.Open(t.Context(), dir, nil))(t)
	erased.Run(t, dir, s)
	must.Do(t, s.Close())
}
