package baseline_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/posthouse/posthouse/internal/baseline"
)

func TestBaseline(t *testing.T) {
	db, err := baseline.Open(filepath.Join(t.TempDir(), "base.db"))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for thread := range int64(20) {
		wg.Go(func() {
			for seq := range int64(10) {
				if err := db.Append(t.Context(), thread, seq, []byte{byte(thread), byte(seq)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := db.Append(t.Context(), 3, 4, []byte("again")); err == nil {
		t.Error("the same row was written twice")
	}
	if b, err := db.Get(7, 9); err != nil || b[0] != 7 || b[1] != 9 {
		t.Errorf("Get: %v %v", b, err)
	}
	if _, err := db.Get(7, 10); err == nil {
		t.Error("Get of what is not there: no error")
	}
	if n, err := db.Scan(5, 2, 100); err != nil || n != 8 {
		t.Errorf("Scan: %d %v", n, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if _, err := baseline.Open(t.TempDir()); err == nil {
		t.Error("a directory was opened")
	}
}
