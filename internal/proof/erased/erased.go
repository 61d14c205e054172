// Package erased looks for what was deleted in the bytes of a store's files: what no API shows may be there
// to read all the same.
package erased

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
)

// Marker is in everything that is written and then deleted.
const Marker = "erase-me-4711-grapefruit"

// TB is what a test gives.
type TB interface {
	must.TB
	Errorf(format string, args ...any)
}

// Run writes threads and slots with the marker to the store in a directory, deletes one after the other, and
// looks for it in all files each time, while the store is open.
func Run(t TB, dir string, store posthouse.Store) {
	ctx := context.Background()
	l := must.Get(ledger.Open(store, nil))(t)
	kept := must.Get(l.Commit(ctx, draft("kept", "something else")))(t)
	for _, thread := range []string{"small", "large"} {
		text := Marker
		if thread == "large" {
			text = strings.Repeat(Marker+" ", 3000)
		}
		for range 8 {
			must.Get(l.Commit(ctx, draft(thread, text)))(t)
		}
	}
	key := posthouse.SlotKey{Thread: "sealed", Step: "$key-1"}
	must.Get(store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("key of " + Marker)}))(t)
	if places := Find(t, dir, Marker); len(places) == 0 {
		t.Fatalf("the marker is in no file of %s: nothing is tried", dir)
	}
	must.Get(store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision}))(t)
	if places := Find(t, dir, "key of "+Marker); len(places) > 0 {
		t.Errorf("the deleted slot is in %q", places)
	}
	for _, thread := range []string{"large", "small"} {
		must.Get(retain.DeleteThread(ctx, l, thread, nil))(t)
	}
	if places := Find(t, dir, Marker); len(places) > 0 {
		t.Errorf("what the deleted threads had is in %q", places)
	}
	must.Get(l.Get(ctx, kept.Checkpoint.ID))(t)
	must.Do(t, l.Close())
}

func draft(thread, text string) *ledger.Draft {
	payload, _ := json.Marshal(map[string]string{"text": text})
	return &ledger.Draft{
		Thread: thread, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, State: posthouse.State{"note": {Codec: "json", Data: payload}},
		},
		Gates: []posthouse.Gate{{Name: "ask", Text: text[:min(len(text), 500)], Payload: payload}},
	}
}

// Find returns the files below a directory that have a text, as it is or in UTF-16.
func Find(t TB, dir, text string) (places []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(text)) {
			places = append(places, filepath.Base(path))
		}
		return err
	}))
	return places
}
