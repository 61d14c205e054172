package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/filestore"
)

// One process writes; others read beside it, and see what it has committed.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "posthouse")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	store, err := filestore.Open(ctx, filepath.Join(dir, "files"), nil)
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

	_, err = filestore.Open(ctx, filepath.Join(dir, "files"), nil)
	fmt.Println("a second writer:", errors.Is(err, posthouse.ErrLocked))

	reader, err := filestore.Open(ctx, filepath.Join(dir, "files"), &filestore.Options{ReadOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Close()
	for info, err := range reader.Threads(ctx, posthouse.ThreadQuery{}) {
		fmt.Println("a reader sees:", info.Thread, err)
	}
	// Output:
	// a second writer: true
	// a reader sees: tea <nil>
}
