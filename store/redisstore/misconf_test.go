package redisstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestServerThatCannotSave has a server fail to write its snapshot, upon which it refuses
// all writes with MISCONF. They fail as read-only and write nothing, reads go on, and writes
// of the same store too once the server can save.
func TestServerThatCannotSave(t *testing.T) {
	server := redistest.Start(t)
	c := connect(t, server.URL())
	s := openAt(t, server.URL(), redisstore.Options{})
	l := storetest.NewBuilder().Log("a")
	servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{}, "state"))
	m := do(t, c, "CONFIG", "GET", "dir")
	dir, err := m.AsStrMap()
	if err != nil {
		t.Fatal(err)
	}
	inTheWay := filepath.Join(dir["dir"], "dump.rdb", "in the way") // a directory cannot be replaced by the snapshot
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	snapshot := func(want string) {
		t.Helper()
		do(t, c, "BGSAVE")
		for text := ""; !strings.Contains(text, "rdb_bgsave_in_progress:0") || !strings.Contains(text, "rdb_last_bgsave_status:"+want); {
			m := do(t, c, "INFO", "persistence")
			text, _ = m.ToString()
		}
	}
	do(t, c, "CONFIG", "SET", "save", "3600 1000000") // a server without snapshots does not care
	snapshot("err")
	b := l.Next(l.Checkpoint(posthouse.Header{}, "more"))
	key := posthouse.SlotKey{Thread: "a", Step: "s"}
	slot := posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("v")}
	for range 2 {
		if err := s.Append(t.Context(), b); !errors.Is(err, posthouse.ErrReadOnly) || !strings.Contains(err.Error(), "MISCONF") || !strings.Contains(err.Error(), "disk") {
			t.Errorf("Append: %v", err)
		}
		if _, err := s.Slot(t.Context(), key, slot); !errors.Is(err, posthouse.ErrReadOnly) {
			t.Errorf("Slot: %v", err)
		}
	}
	servertest.WantSound(t, s, "a", 1)
	if err := os.RemoveAll(filepath.Dir(inTheWay)); err != nil {
		t.Fatal(err)
	}
	snapshot("ok")
	if err := s.Append(t.Context(), b); err != nil {
		t.Errorf("Append once it can save: %v", err)
	}
	if v, err := s.Slot(t.Context(), key, slot); err != nil || v.Revision != 1 {
		t.Errorf("Slot once it can save: %+v %v", v, err)
	}
	servertest.WantSound(t, s, "a", 2)
}
