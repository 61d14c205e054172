package ends

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// saved appends a checkpoint to a thread, and notes its end.
func saved(t *testing.T, s posthouse.Store, thread string, log *Log) {
	t.Helper()
	led, err := ledger.Open(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if log != nil {
		led.Core().Config.Reached = log.Reached
	}
	if _, err := led.Save(t.Context(), &posthouse.Checkpoint{Header: posthouse.Header{Thread: thread}}, nil); err != nil {
		t.Fatal(err)
	}
}

func missing(t *testing.T, s posthouse.Store, path string) []End {
	t.Helper()
	have, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := Missing(t.Context(), s, have)
	if err != nil {
		t.Fatal(err)
	}
	return gone
}

// A store that was put back lacks ends that were seen. One that continues, or from which another process
// removed a thread, lacks no end.
func TestMissing(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "ends.jsonl")
	store, backup := memstore.New(), memstore.New()
	log, err := Open(path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	saved(t, store, "a", log)
	if _, err := transfer.CopyStore(ctx, store, backup, nil); err != nil {
		t.Fatal(err)
	}
	saved(t, store, "a", log)
	saved(t, store, "b", log)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if gone := missing(t, store, path); len(gone) != 0 {
		t.Errorf("the store lacks %v", gone)
	}
	if gone := missing(t, backup, path); len(gone) != 2 {
		t.Errorf("the backup lacks %v", gone)
	}
	saved(t, backup, "a", nil) // as many entries, and another one
	saved(t, backup, "a", nil)
	if gone := missing(t, backup, path); len(gone) != 2 {
		t.Errorf("another history lacks %v", gone)
	}
	led, err := ledger.Open(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := retain.DeleteThread(ctx, led, "b", nil); err != nil {
		t.Fatal(err)
	}
	if gone := missing(t, store, path); len(gone) != 0 {
		t.Errorf("after a deletion by another process the store lacks %v", gone)
	}
}

// The file keeps the newest threads, survives a torn line, and does not grow.
func TestNewest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ends.jsonl")
	log, err := Open(path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * Max {
		log.Reached(strconv.Itoa(i), posthouse.Position{Seq: 1}, posthouse.Hash{})
	}
	log.Reached("0", posthouse.Position{Seq: 2}, posthouse.Hash{})
	log.Reached("gone", posthouse.Position{Seq: 2}, posthouse.Hash{})
	log.Reached("gone", posthouse.Position{}, posthouse.Hash{})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"thread":"to`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	have, err := Load(path)
	if err != nil || len(have) != Max || have[len(have)-1].Thread != "0" || have[len(have)-1].Seq != 2 {
		t.Fatalf("%d ends, the last %v: %v", len(have), have[len(have)-1], err)
	}
	if _, err := Open(path, have, nil); err != nil {
		t.Fatal(err)
	}
	if again, err := Load(path); err != nil || len(again) != Max {
		t.Errorf("%d ends after it was opened again: %v", len(again), err)
	}
}
