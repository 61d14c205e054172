package dispatch_test

import (
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

type kind struct {
	name string
	open func(t *testing.T) posthouse.Store
}

// stores are memory and SQLite.
func stores(*testing.T) []kind {
	return []kind{
		{"memory", func(*testing.T) posthouse.Store { return memstore.New() }},
		{"sqlite", func(t *testing.T) posthouse.Store {
			s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		}},
	}
}
