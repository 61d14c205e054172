//go:build unix

package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestLockFileIsGone deletes and replaces the lock file: no other process gets
// in, and the one that has the store keeps it.
func TestLockFileIsGone(t *testing.T) {
	for what, harm := range map[string]func(lock string) error{
		"deleted": os.Remove,
		"replaced": func(lock string) error {
			return errors.Join(os.WriteFile(lock+".new", nil, 0o600), os.Rename(lock+".new", lock))
		},
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "posthouse.db")
			for _, state := range []string{"new", "old"} {
				first := open(t, path, nil)
				l := newLine(state, idSource())
				fill(t, first, l, 3, 100)
				if err := harm(path + ".lock"); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					second, err := sqlitestore.Open(t.Context(), path, nil)
					if !errors.Is(err, posthouse.ErrLocked) || !strings.Contains(err.Error(), "open for writing") {
						t.Fatalf("%s database: a second one has it: %v, %v", state, second, err)
					}
				}
				fill(t, first, l, 3, 100)
				verify(t, first, state, 6)
				noDifference(t, first)
				if err := first.Close(); err != nil {
					t.Fatal(err)
				}
			}
			third := open(t, path, nil) // it is free again
			verify(t, third, "new", 6)
			if err := third.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
