package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// failNth fails the n-th statement that contains what.
func failNth(t *testing.T, s *sqlitestore.Store, n int, what string, err error) (failed *bool) {
	t.Helper()
	failed = new(bool)
	count := 0
	ok := s.FailStatement(t.Context(), func(sql string) error {
		if strings.Contains(sql, what) && (what != "" || !strings.Contains(sql, "wal_checkpoint")) { // what was erased is durable before the log is folded in, which is tried again
			if count++; count == n {
				*failed = true
				return err
			}
		}
		return nil
	})
	if ok != nil {
		t.Fatal(ok)
	}
	return failed
}

// TestPoisonedAfterAFailedCommit: the outcome of the commit is not known, and
// nothing is written until the store is opened again.
func TestPoisonedAfterAFailedCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
	l := newLine("t", idSource())
	fill(t, s, l, 3, 100)
	failNth(t, s, 1, "COMMIT", sqlite.ResultIOErrFsync.ToError())
	lost := l.node([]byte("lost"))
	if err := s.Append(t.Context(), lost); !errors.Is(err, posthouse.ErrUnknown) {
		t.Fatalf("the failed commit: %v", err)
	}
	for name, err := range map[string]error{
		"Append": s.Append(t.Context(), lost), "Compact": second(s.Compact(t.Context())),
		"Remove": second(s.Remove(t.Context(), posthouse.Removal{Thread: "t", All: true})),
		"Slot":   second(s.Slot(t.Context(), posthouse.SlotKey{Thread: "t", Step: "s"}, posthouse.SlotOp{Verb: posthouse.SlotPut})),
	} {
		if !errors.Is(err, posthouse.ErrReadOnly) || !strings.Contains(err.Error(), "open the store again") {
			t.Errorf("afterwards %s: %v", name, err)
		}
	}
	verify(t, s, "t", 3) // reading goes on
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, nil)
	if err := s.Append(t.Context(), lost); err != nil {
		t.Errorf("opened anew: %v", err)
	}
	verify(t, s, "t", 4)
}

// TestAPanicInAWriteStopsNoWriter: after a write that panicked, the next writer is
// refused instead of waiting for ever, and the store has no half of the write when
// it is opened again.
func TestAPanicInAWriteStopsNoWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
	l := newLine("t", idSource())
	fill(t, s, l, 3, 100)
	err := s.FailStatement(t.Context(), func(sql string) error {
		if strings.HasPrefix(sql, "INSERT") {
			panic("injected")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lost := l.node([]byte("lost"))
	func() {
		defer func() {
			if p := recover(); p != "injected" {
				t.Errorf("the write panicked with %v", p)
			}
		}()
		err = s.Append(t.Context(), lost)
		t.Errorf("the write returned %v", err)
	}()
	if err := s.Append(t.Context(), lost); !errors.Is(err, posthouse.ErrReadOnly) {
		t.Errorf("afterwards: %v", err)
	}
	verify(t, s, "t", 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, nil)
	verify(t, s, "t", 3)
	if err := s.Append(t.Context(), lost); err != nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestFailsAtEveryStatement fails each statement of each kind of write in
// turn: the write is refused whole, and the store takes no more.
func TestFailsAtEveryStatement(t *testing.T) {
	ids := idSource()
	writes := map[string]func(ctx context.Context, s *sqlitestore.Store, l *line) error{
		"append": func(ctx context.Context, s *sqlitestore.Store, l *line) error {
			return s.Append(ctx, l.node([]byte("x")))
		},
		"new": func(ctx context.Context, s *sqlitestore.Store, _ *line) error {
			return s.Append(ctx, newLine("new", ids).node([]byte("x")))
		},
		"gone head": func(ctx context.Context, s *sqlitestore.Store, l *line) error {
			b := l.node([]byte("x"))
			b.Drop = []posthouse.ID{l.dropped}
			return s.Append(ctx, b)
		},
		"foreign": func(ctx context.Context, s *sqlitestore.Store, l *line) error {
			return s.Append(ctx, l.foreign("foreign-1", "crew"))
		},
		"bodies": func(ctx context.Context, s *sqlitestore.Store, l *line) error {
			return second(s.Remove(ctx, posthouse.Removal{Thread: "t", Bodies: []posthouse.BodyRef{{Seq: 2}}}))
		},
		"below": func(ctx context.Context, s *sqlitestore.Store, l *line) error {
			return second(s.Remove(ctx, posthouse.Removal{Thread: "t", Below: 5}))
		},
		"all": func(ctx context.Context, s *sqlitestore.Store, l *line) error {
			return second(s.Remove(ctx, posthouse.Removal{Thread: "t", All: true}))
		},
		"slot": func(ctx context.Context, s *sqlitestore.Store, l *line) error {
			return second(s.Slot(ctx, posthouse.SlotKey{Thread: "t", Step: "s"}, posthouse.SlotOp{Verb: posthouse.SlotPut}))
		},
		"compact": func(ctx context.Context, s *sqlitestore.Store, l *line) error { return second(s.Compact(ctx)) },
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				dir := t.TempDir()
				path := filepath.Join(dir, "posthouse.db")
				s := open(t, path, nil)
				l := newLine("t", ids)
				fill(t, s, l, 8, 300)
				if name != "compact" && n%2 == 0 {
					if _, err := s.Compact(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				l.dropped = l.head.ID
				before := dump(t, s)
				failed := failNth(t, s, n, "", sqlite.ResultIOErr.ToError())
				err := write(t.Context(), s, l)
				if !*failed {
					if err != nil || n < 3 {
						t.Fatalf("after %d statements: %v", n, err)
					}
					return
				}
				if !errors.Is(err, posthouse.ErrReadOnly) && !errors.Is(err, posthouse.ErrUnknown) {
					t.Fatalf("statement %d: %v", n, err)
				}
				if err := s.Append(t.Context(), newLine("other", ids).node([]byte("x"))); !errors.Is(err, posthouse.ErrReadOnly) {
					t.Fatalf("statement %d: an append afterwards: %v", n, err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, path, nil)
				if after := dump(t, s); after != before {
					t.Fatalf("statement %d: half a write is there:\n%s\nbefore:\n%s", n, after, before)
				}
				noDifference(t, s)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// dump says what a store holds.
func dump(t testing.TB, s posthouse.Store) string {
	t.Helper()
	var b strings.Builder
	for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %+v\n", info.Thread, info.Tail)
		for e, err := range s.Read(t.Context(), info.Thread, posthouse.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%d %s %q\n", e.Seq, e.Hash, e.Bodies)
		}
	}
	for h, err := range s.List(t.Context(), posthouse.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %d\n", h.ID, h.Thread, h.Seq)
	}
	return b.String()
}

// TestFullDisk: an append without room is refused whole, and goes through once
// there is room, without opening the store again.
func TestFullDisk(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), nil)
	l := newLine("t", idSource())
	fill(t, s, l, 3, 1000)
	pages, err := s.Pages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetMaxPages(t.Context(), int(pages)); err != nil {
		t.Fatal(err)
	}
	big := l.node(make([]byte, 100_000))
	for range 3 {
		if err := s.Append(t.Context(), big); !errors.Is(err, posthouse.ErrFull) || !strings.Contains(err.Error(), "free space") {
			t.Fatalf("on a full disk: %v", err)
		}
	}
	verify(t, s, "t", 3)
	if err := s.SetMaxPages(t.Context(), int(pages)+1000); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), big); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	verify(t, s, "t", 4)

	failNth(t, s, 1, "COMMIT", sqlite.ResultFull.ToError())
	next := l.node([]byte("next"))
	if err := s.Append(t.Context(), next); !errors.Is(err, posthouse.ErrFull) {
		t.Errorf("a commit without room: %v", err)
	}
	if err := s.Append(t.Context(), next); err != nil {
		t.Errorf("with room again: %v", err)
	}
	verify(t, s, "t", 5)
}

func TestTooLargeIsTheRequestsOwnFault(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), nil)
	if err := s.SetMaxLength(t.Context(), 50_000); err != nil {
		t.Fatal(err)
	}
	l := newLine("t", idSource())
	fill(t, s, l, 2, 100)
	other := *l
	if err := s.Append(t.Context(), other.node(make([]byte, 60_000))); !errors.Is(err, posthouse.ErrTooLarge) {
		t.Errorf("a row beyond the engine's limit: %v", err)
	}
	fill(t, s, l, 1, 100)
	verify(t, s, "t", 3)
}

// TestOneRefusedInAGroup commits several batches in one transaction. One of them
// is found to be at fault only after it has written.
func TestOneRefusedInAGroup(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), nil)
	ids := idSource()
	first := newLine("first", ids)
	fill(t, s, first, 1, 100)
	taken := first.head

	hold, held := make(chan struct{}), make(chan struct{})
	var once sync.Once
	if err := s.FailStatement(t.Context(), func(sql string) error {
		if strings.HasPrefix(sql, "BEGIN IMMEDIATE") {
			once.Do(func() { close(held); <-hold })
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 10)
	appendTo := func(i int) {
		l := newLine(fmt.Sprintf("t%d", i), ids)
		b := l.node([]byte("x"))
		if i == 4 { // its id is taken: the row's own index says so
			h := *taken
			h.Thread = "t4"
			b = (&line{info: &posthouse.ThreadInfo{Thread: "t4"}, ids: func() posthouse.ID { return taken.ID }}).node([]byte("x"))
		}
		errs[i] = s.Append(t.Context(), b)
	}
	wg.Go(func() { appendTo(0) })
	<-held
	for i := 1; i < len(errs); i++ {
		wg.Go(func() { appendTo(i) })
	}
	close(hold)
	wg.Wait()
	for i, err := range errs {
		if i == 4 {
			if !errors.Is(err, posthouse.ErrExists) || !strings.Contains(err.Error(), `thread "first"`) {
				t.Errorf("the taken id: %v", err)
			}
		} else if err != nil {
			t.Errorf("append %d: %v", i, err)
		}
	}
	noDifference(t, s)
}

// TestGivingUpInTheQueue cancels an append that waits for another's commit.
func TestGivingUpInTheQueue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlitestore.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids := idSource()
		hold := make(chan struct{})
		var once sync.Once
		if err := s.FailStatement(t.Context(), func(string) error { once.Do(func() { <-hold }); return nil }); err != nil {
			t.Fatal(err)
		}
		lead := make(chan error, 1)
		go func() { lead <- s.Append(t.Context(), newLine("a", ids).node(nil)) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		wait := make(chan error, 1)
		go func() { wait <- s.Append(ctx, newLine("b", ids).node(nil)) }()
		synctest.Wait()
		cancel()
		if err := <-wait; !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		close(hold)
		if err := <-lead; err != nil {
			t.Error(err)
		}
		for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
			if err != nil || info.Thread != "a" {
				t.Errorf("thread %q %v", info.Thread, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
