package filestore

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/store/storetest"
)

// A draining system has a file of the journal gone when it is opened the n-th time, as if
// the process that writes had drained it. The next time it is there: another one is.
type draining struct {
	system
	n, opened int
}

func (d *draining) Open(name string, write bool) (file, error) {
	if strings.HasPrefix(name, journalDir) {
		if d.opened++; d.opened == d.n {
			return nil, &fs.PathError{Op: "openat", Path: name, Err: fs.ErrNotExist}
		}
	}
	return d.system.Open(name, write)
}

// TestReadingWhileTheJournalIsDrained has a segment vanish at each place where a store
// that only reads opens one.
func TestReadingWhileTheJournalIsDrained(t *testing.T) {
	disk := newDisk()
	w, err := openOn(t.Context(), disk, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	log := storetest.NewBuilder().Log("t")
	for range 3 {
		b := log.Next(log.Step("s", []byte("x")))
		if err := w.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		log.Took(b)
	}
	for n := 1; ; n++ {
		d := &draining{system: disk, n: n}
		r, err := Open(t.Context(), "/store", &Options{system: d, ReadOnly: true})
		if err != nil {
			t.Fatalf("the %d. file of the journal was gone: %v", n, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if d.opened < n {
			break
		}
	}
}
