package filestore

import (
	"fmt"
	"iter"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestPagesReadFewBytes counts the reads of files for a page of 50, among 1,000 entries and
// among 10,000. Lists and the inbox are in memory and read no file. A page of a log reads
// only the entries it shows. A test of store/internal/memindex counts the items that lists
// in memory pass.
func TestPagesReadFewBytes(t *testing.T) {
	const each = 100
	for _, threads := range []int{10, 100} {
		d := newDisk()
		d.segment = 16 << 10 // so that the logs are in files of their own
		s, err := openOn(t.Context(), d, false)
		if err != nil {
			t.Fatal(err)
		}
		b := storetest.NewBuilder()
		for i := range threads {
			l := b.Log(fmt.Sprintf("t%04d", i))
			var batches []*posthouse.Batch
			for n := range each {
				items := []storetest.Item{l.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning}, "state")}
				if n == each-1 {
					items = append(items, l.Gate(b.GateID(), b.Now()))
				}
				batch := l.Next(items...)
				l.Took(batch)
				batches = append(batches, batch)
			}
			if err := s.AppendAll(t.Context(), batches); err != nil {
				t.Fatal(err)
			}
		}
		s.drains.wait()
		for name, page := range map[string]struct {
			read func() int
			most int
		}{
			"list":         {func() int { return shown(t, s.List(t.Context(), posthouse.Query{Limit: 50, Descending: true})) }, 0},
			"history":      {func() int { return shown(t, s.List(t.Context(), posthouse.Query{Thread: "t0000", Limit: 50})) }, 0},
			"inbox":        {func() int { return shown(t, s.Threads(t.Context(), posthouse.ThreadQuery{Gates: true, Limit: 50})) }, 0},
			"threads":      {func() int { return shown(t, s.Threads(t.Context(), posthouse.ThreadQuery{Waiting: true, Limit: 50})) }, 0},
			"a log":        {func() int { return shown(t, s.Read(t.Context(), "t0000", posthouse.Range{From: 20, Limit: 50})) }, 50},
			"end of a log": {func() int { return shown(t, s.Read(t.Context(), "t0000", posthouse.Range{Reverse: true, Limit: 1})) }, 1},
		} {
			d.mu.Lock()
			d.reads = 0
			d.mu.Unlock()
			found := page.read()
			if d.reads > page.most || found == 0 || page.most > 0 && d.reads == 0 {
				t.Errorf("%s among %d entries: %d are shown, and files are read %d times; at most %d are allowed", name, threads*each, found, d.reads, page.most)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func shown[T any](t *testing.T, all iter.Seq2[T, error]) (n int) {
	t.Helper()
	for _, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
