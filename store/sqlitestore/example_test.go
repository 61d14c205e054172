package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// One process writes; others read beside it. A backup is a store of its own.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "posthouse")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "posthouse.db")

	store, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	led, err := ledger.Open(store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer led.Close()
	state, err := posthouse.Opaque(nil, "brewing")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := led.Save(ctx, posthouse.Root("tea", state), nil); err != nil { // on the disk when it returns
		fmt.Println(err)
		return
	}

	_, err = sqlitestore.Open(ctx, path, nil)
	fmt.Println("a second writer:", errors.Is(err, posthouse.ErrLocked))

	copied := filepath.Join(dir, "backup.db")
	if err := store.Backup(ctx, copied); err != nil {
		fmt.Println(err)
		return
	}
	backup, err := sqlitestore.Open(ctx, copied, &sqlitestore.Options{ReadOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer backup.Close()
	for info, err := range backup.Threads(ctx, posthouse.ThreadQuery{}) {
		fmt.Println("in the backup:", info.Thread, err)
	}
	// Output:
	// a second writer: true
	// in the backup: tea <nil>
}
