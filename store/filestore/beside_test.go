package filestore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/filestore"
	"github.com/posthouse/posthouse/store/storetest"
)

// busy appends to two threads, as often as it may, and removes from them. count is how
// many entries are acknowledged.
func busy(ctx context.Context, t *testing.T, s *filestore.Store, may <-chan struct{}, count *atomic.Int64) {
	b := storetest.NewBuilder()
	logs := []*storetest.Log{b.Log("kept"), b.Log("cut")}
	for n := 0; ; n++ {
		select {
		case <-may:
		case <-ctx.Done():
			return
		}
		l := logs[n%2]
		batch := l.Next(l.Checkpoint(posthouse.Header{}, "state"), l.Step("s", storetest.Filler(300, "x")))
		if err := s.Append(t.Context(), batch); err != nil {
			t.Error(err)
			return
		}
		if l.Took(batch); l == logs[0] {
			count.Add(1)
		}
		if n%100 == 99 {
			for _, r := range []posthouse.Removal{{Thread: "kept", Bodies: []posthouse.BodyRef{{Seq: uint64(n / 4)}}}, {Thread: "cut", Below: uint64(n/2) - 3}} {
				if _, err := s.Remove(t.Context(), r); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}
}

// entriesOf counts a thread's entries, which follow each other and are whole.
func entriesOf(t *testing.T, s posthouse.Store, thread string) (n int64) {
	t.Helper()
	last := uint64(0)
	for e, err := range s.Read(t.Context(), thread, posthouse.Range{}) {
		if err == nil {
			err = e.Check()
		}
		if err == nil && last != 0 && e.Seq != last+1 {
			err = fmt.Errorf("entry %d follows %d", e.Seq, last)
		}
		if err != nil {
			t.Fatalf("thread %s: %v", thread, err)
		}
		last = e.Seq
		n++
	}
	return n
}

// TestReadingAndCopyingABusyStore reads and backs up a store that another Store writes,
// drains and removes from: what was acknowledged before is there, and all is whole.
func TestReadingAndCopyingABusyStore(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir+"/store", filestore.WithSegment(64<<10))
	r := open(t, dir+"/store", &filestore.Options{ReadOnly: true})
	ctx, stop := context.WithCancel(t.Context())
	var count atomic.Int64
	var group sync.WaitGroup
	may := make(chan struct{}, 600) // writes until the next round: a reader reads all that there is again and again
	more := func() {
		for range cap(may) - len(may) {
			may <- struct{}{}
		}
	}
	more()
	group.Go(func() { busy(ctx, t, w, may, &count) })
	for count.Load() < 20 && !t.Failed() {
		entriesOf(t, r, "cut")
	}
	for round := range 12 {
		more()
		before := count.Load()
		if n := entriesOf(t, r, "kept"); n < before {
			t.Errorf("round %d: the reader has %d entries of %d", round, n, before)
		}
		entriesOf(t, r, "cut")
		before = count.Load()
		from := []*filestore.Store{r, w}[round%2]
		path := fmt.Sprintf("%s/copy%d", dir, round)
		if err := from.Backup(t.Context(), path); err != nil {
			t.Errorf("round %d: %v", round, err)
			continue
		}
		c := open(t, path, nil)
		for err := range c.Check(t.Context()) {
			t.Errorf("round %d, the copy: %v", round, err)
		}
		if n := entriesOf(t, c, "kept"); n < before {
			t.Errorf("round %d: the copy has %d entries of %d", round, n, before)
		}
	}
	stop()
	group.Wait()
	for err := range r.Check(t.Context()) {
		t.Error(err)
	}
}
