package overview_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/overview"
	"github.com/posthouse/posthouse/store/memstore"
)

// A bulkStore is a store in memory that reads entries of several threads at once. It counts calls.
type bulkStore struct {
	*memstore.Store
	calls atomic.Int64
	fails error // of a read
}

func (s *bulkStore) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	s.calls.Add(1)
	if s.fails != nil {
		return func(yield func(*posthouse.Entry, error) bool) { yield(nil, s.fails) }
	}
	return s.Store.Read(ctx, thread, r)
}

func (s *bulkStore) ReadAll(ctx context.Context, refs []posthouse.Ref, headers bool) iter.Seq2[*posthouse.Entry, error] {
	s.calls.Add(1)
	return func(yield func(*posthouse.Entry, error) bool) {
		for _, r := range refs {
			for e, err := range s.Store.Read(ctx, r.Thread, posthouse.Range{Seqs: []uint64{r.Seq}, Headers: headers}) {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// plain hides ReadAll.
type plain struct{ posthouse.Store }

// TestFaces: a list shows of each thread what Of shows of it, and asks a store that reads several
// threads at once twice, however long the list is.
func TestFaces(t *testing.T) {
	store := &bulkStore{Store: memstore.New()}
	l, one := openOver(t, store, nil), openOver(t, plain{store}, nil)
	for i := range 60 {
		thread := fmt.Sprintf("t%02d", i)
		switch i % 6 {
		case 0:
			commit(t, l, &ledger.Draft{Thread: thread, Checkpoint: noted(fmt.Sprint("paid ", i))})
		case 1:
			commit(t, l, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Error: fmt.Sprint("no account ", i)}})
		case 2:
			c := commit(t, l, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{fmt.Sprint("node ", i)}}})
			commit(t, l, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusDone, Parent: c.Checkpoint.ID}, Branch: "b"})
		case 3:
			commit(t, l, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "refund", Text: fmt.Sprintf("Refund %d EUR?", i)}}})
		case 4:
			commit(t, l, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusDone}})
		case 5:
			commit(t, l, &ledger.Draft{Thread: thread, Checkpoint: noted("to be paid")})
			commit(t, l, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusDone}})
		}
	}
	var page []*posthouse.ThreadInfo
	var want []*overview.Face
	for info, err := range l.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		f, err := overview.Of(t.Context(), l, info)
		if err != nil {
			t.Fatal(err)
		}
		page, want = append(page, info), append(want, f)
	}
	if shown := fmt.Sprint(want[0].Now, ", ", want[1].Now, ", ", want[2].Now, ", ", want[3].Now); shown != "paid 0, no account 1, node 2, Refund 3 EUR?" {
		t.Fatalf("the threads are about: %s", shown)
	}
	for _, c := range []struct {
		about string
		l     *ledger.Ledger
		calls int64
	}{{"at once", l, 2}, {"one by one", one, 90}} {
		before := store.calls.Load()
		have, err := overview.Faces(t.Context(), c.l, page)
		if err != nil {
			t.Fatal(err)
		}
		if n := store.calls.Load() - before; n > c.calls {
			t.Errorf("%s: %d calls of the store for %d threads", c.about, n, len(page))
		}
		for i := range want {
			if !reflect.DeepEqual(have[i], want[i]) {
				t.Errorf("%s: thread %s has the face %+v, by itself %+v", c.about, page[i].Thread, have[i], want[i])
			}
		}
	}
	if have, err := overview.Faces(t.Context(), l, nil); err != nil || len(have) != 0 {
		t.Errorf("no threads: %v, %v", have, err)
	}
	store.fails = errors.New("gone")
	if _, err := overview.Faces(t.Context(), one, page); !errors.Is(err, store.fails) {
		t.Errorf("a store that is gone: %v", err)
	}
}
