package redisstore_test

import (
	"testing"

	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/redisstore"
)

// TestDrop: a dropped store is gone, and its neighbour in another prefix is not.
func TestDrop(t *testing.T) {
	servertest.Drop(t, "drop", "drop:kept", func(prefix string, readOnly bool) (servertest.Dropper, error) {
		return redisstore.Open(t.Context(), redistest.URL(t), &redisstore.Options{Prefix: prefix, ReadOnly: readOnly})
	})
}
