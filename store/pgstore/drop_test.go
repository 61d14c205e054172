package pgstore_test

import (
	"testing"

	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/pgstore"
)

// TestDrop: a dropped store is gone, and its neighbour in another schema is not.
func TestDrop(t *testing.T) {
	servertest.Drop(t, "drop_gone", "drop_kept", func(schema string, readOnly bool) (servertest.Dropper, error) {
		return pgstore.Open(t.Context(), pgtest.URL(t), &pgstore.Options{Schema: schema, ReadOnly: readOnly})
	})
}
