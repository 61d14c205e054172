package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

var errInjected = errors.New("injected")

// A failing store fails its n-th call; an iterator, its n-th element. Several goroutines may use it.
type failing struct {
	posthouse.Store
	n atomic.Int64
}

func failAt(s posthouse.Store, n int) *failing {
	f := &failing{Store: s}
	f.n.Store(int64(n))
	return f
}

func (s *failing) due() bool { return s.n.Add(-1) == 0 }

func (s *failing) Append(ctx context.Context, b *posthouse.Batch) error {
	if s.due() {
		return errInjected
	}
	return s.Store.Append(ctx, b)
}

func failSeq[T any](s *failing, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range seq {
			if s.due() {
				var zero T
				yield(zero, errInjected)
				return
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

func (s *failing) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return failSeq(s, s.Store.Read(ctx, thread, r))
}

func (s *failing) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return failSeq(s, s.Store.List(ctx, q))
}

func (s *failing) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return failSeq(s, s.Store.Threads(ctx, q))
}

func (s *failing) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	if s.due() {
		return posthouse.Ref{}, errInjected
	}
	return s.Store.Find(ctx, id)
}

func (s *failing) Slot(ctx context.Context, k posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if s.due() {
		return posthouse.Slot{}, errInjected
	}
	return s.Store.Slot(ctx, k, op)
}

func (s *failing) Remove(ctx context.Context, r posthouse.Removal) (posthouse.Removed, error) {
	if s.due() {
		return posthouse.Removed{}, errInjected
	}
	return s.Store.Remove(ctx, r)
}

// TestEveryStoreErrorIsTold fails the n-th call of each operation, n = 1, 2,
// ..., until it passes: no failure is swallowed (P18).
func TestEveryStoreErrorIsTold(t *testing.T) {
	ctx := context.Background()
	drain := func(seq func(func(any, error) bool)) (err error) {
		seq(func(_ any, e error) bool { err = e; return e == nil })
		return err
	}
	for name, op := range map[string]func(l *ledger.Ledger, w *waitingThread) error{
		"get":    func(l *ledger.Ledger, w *waitingThread) error { _, err := l.Get(ctx, w.last); return err },
		"header": func(l *ledger.Ledger, w *waitingThread) error { _, err := l.GetHeader(ctx, w.last); return err },
		"latest": func(l *ledger.Ledger, w *waitingThread) error {
			_, err := l.Latest(ctx, ledger.LatestQuery{Thread: "t"})
			return err
		},
		"latest of": func(l *ledger.Ledger, w *waitingThread) error {
			_, err := l.Latest(ctx, ledger.LatestQuery{Coordination: "t"})
			return err
		},
		"fork": func(l *ledger.Ledger, w *waitingThread) error { _, err := l.Fork(ctx, w.waiting, nil); return err },
		"fork away": func(l *ledger.Ledger, w *waitingThread) error {
			_, err := l.Fork(ctx, w.waiting, &ledger.ForkOptions{Thread: "u"})
			return err
		},
		"delete": func(l *ledger.Ledger, w *waitingThread) error {
			_, err := retain.Delete(ctx, l, w.waiting, &retain.DeleteOptions{Mode: retain.DeleteSubtree})
			return err
		},
		"delete all": func(l *ledger.Ledger, w *waitingThread) error {
			_, err := retain.DeleteThread(ctx, l, "t", nil)
			return err
		},
		"delete coordination": func(l *ledger.Ledger, w *waitingThread) error {
			_, err := retain.DeleteCoordination(ctx, l, "t", nil)
			return err
		},
		"gate": func(l *ledger.Ledger, w *waitingThread) error { _, err := l.Gate(ctx, w.decided); return err },
		"gates": func(l *ledger.Ledger, w *waitingThread) error {
			return drain(anySeq(l.Gates(ctx, ledger.GateQuery{})))
		},
		"list": func(l *ledger.Ledger, w *waitingThread) error {
			return drain(anySeq(l.ListStates(ctx, posthouse.Query{})))
		},
		"log": func(l *ledger.Ledger, w *waitingThread) error {
			return drain(anySeq(l.Log(ctx, "t", posthouse.Range{})))
		},
		"threads": func(l *ledger.Ledger, w *waitingThread) error {
			return drain(anySeq(l.Threads(ctx, posthouse.ThreadQuery{})))
		},
		"decide": func(l *ledger.Ledger, w *waitingThread) error {
			_, err := l.Decide(ctx, w.open, posthouse.Decision{Verdict: posthouse.Approve, By: "a"})
			return err
		},
		"execution": func(l *ledger.Ledger, w *waitingThread) error {
			_, err := executionOf(ctx, l, &posthouse.Header{ID: w.waiting, Thread: "t", Branch: "main", Seq: w.seq, ParentSeq: w.seq - 2, Kind: posthouse.KindWait}, "2/a")
			return err
		},
		"save": func(l *ledger.Ledger, w *waitingThread) error {
			_, err := l.Save(ctx, &posthouse.Checkpoint{Header: posthouse.Header{Thread: "t", Parent: w.waiting}, State: posthouse.State{"m": {Codec: "raw", Data: make([]byte, 700)}}}, nil)
			return err
		},
		"replace": func(l *ledger.Ledger, w *waitingThread) error {
			_, err := l.Save(ctx, &posthouse.Checkpoint{Header: posthouse.Header{ID: w.waiting, Parent: w.last}, State: posthouse.State{}}, &ledger.SaveOptions{Replace: true})
			return err
		},
		"run": func(l *ledger.Ledger, w *waitingThread) error {
			c, err := l.Claim(ctx, "t", "again")
			if err != nil {
				return err
			}
			_, err = l.Commit(ctx, &ledger.Draft{Thread: "t", Claim: c, Steps: []posthouse.Step{{Name: "s", Value: posthouse.Value{Data: make([]byte, 100)}}}})
			return errors.Join(err, c.Release(ctx))
		},
		"beat": func(l *ledger.Ledger, w *waitingThread) error { return l.Core().Heartbeat(ctx) },
	} {
		t.Run(name, func(t *testing.T) { failEveryCall(t, nil, op) })
		t.Run(name+", sealed", func(t *testing.T) { failEveryCall(t, keyring(t, "k1"), op) })
	}
}

func failEveryCall(t *testing.T, c posthouse.Cipher, op func(l *ledger.Ledger, w *waitingThread) error) {
	for n := 1; ; n++ {
		w := newWaitingThread(t, c)
		s := failAt(w.store, n)
		err := op(over(t, s, c), w)
		if s.n.Load() > 0 {
			if err != nil {
				t.Errorf("without a fault: %v", err)
			}
			return
		}
		if !errors.Is(err, errInjected) {
			t.Errorf("the failure of call %d is told as %v", n, err)
		}
		if _, err := readAll(over(t, w.store, c)); err != nil {
			t.Errorf("after the failure of call %d: %v", n, err)
		}
	}
}

func anySeq[T any](seq iter.Seq2[T, error]) func(func(any, error) bool) {
	return func(yield func(any, error) bool) {
		for v, err := range seq {
			if !yield(v, err) {
				return
			}
		}
	}
}

// A waitingThread is a short thread "t" that waits at a gate after a decided one.
type waitingThread struct {
	store                        posthouse.Store
	last, waiting, decided, open posthouse.ID
	seq                          uint64
}

func newWaitingThread(t *testing.T, c posthouse.Cipher) *waitingThread {
	t.Helper()
	ctx := context.Background()
	w := &waitingThread{store: memstore.New()}
	l := over(t, w.store, c)
	first := must.Get(l.Save(ctx, posthouse.Root("t", posthouse.State{"m": {Codec: "raw", Data: make([]byte, 600)}}), nil))(t)
	w.last = first.ID
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Steps: []posthouse.Step{{Task: "2/a", Name: "s", Value: posthouse.Value{Data: make([]byte, 100)}}}}))(t)
	done := must.Get(l.Commit(ctx, &ledger.Draft{
		Thread:     "t",
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Parts: []posthouse.Part{{Name: "m", Codec: "raw", Splice: true, Prefix: 600, Data: []byte("x")}}},
		Gates:      []posthouse.Gate{{Name: "one", Task: "2/a", Payload: json.RawMessage(`1`)}, {Name: "two", Task: "2/a", ExpiresAt: time.Now().Add(time.Hour)}},
	}))(t)
	w.waiting, w.seq, w.decided, w.open = done.Checkpoint.ID, done.Seq, done.Gates[0].ID, done.Gates[1].ID
	must.Get(l.Decide(ctx, w.decided, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	return w
}
