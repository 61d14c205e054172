package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/posthouse/posthouse"
)

func lifecycleCases() []Case {
	return []Case{
		{
			Name: "close/later calls fail with ErrClosed",
			Rule: "After Close every call fails with ErrClosed, and Close again is no error.",
			Run:  closeLater,
		}, {
			Name: "close/while in use",
			Rule: "Close may be called at any time: each call around it succeeds or fails with ErrClosed, and nothing blocks, panics or leaks.",
			Run:  closeBusy,
		}, {
			Name: "cancel/a cancelled context stops each call",
			Rule: "With a context that has ended every call fails with its error and writes nothing; the store goes on working.",
			Run:  cancelled,
		}, {
			Name: "cancel/during appends the outcome can be settled",
			Rule: "An append whose context ends half-way fails with that error or ErrUnknown, or succeeds; appending it again succeeds, and the log has it once.",
			Run:  cancelDuring,
		},
	}
}

// calls calls every method once, to see how each fails.
func (t *T) calls(ctx context.Context, s posthouse.Store) map[string]error {
	t.Helper()
	l := t.Builder.Log("calls")
	errs := map[string]error{}
	key := posthouse.SlotKey{Thread: "calls", Step: "s"}
	errs["Append"] = s.Append(ctx, l.Next(l.Checkpoint(posthouse.Header{}, "x")))
	_, errs["Read"] = Collect(t, s.Read(ctx, "t1", posthouse.Range{}))
	_, errs["Read of an unknown thread"] = Collect(t, s.Read(ctx, "nobody", posthouse.Range{}))
	_, errs["Find"] = s.Find(ctx, "x")
	_, errs["List"] = Collect(t, s.List(ctx, posthouse.Query{}))
	_, errs["List of a thread"] = Collect(t, s.List(ctx, posthouse.Query{Thread: "t1"}))
	_, errs["Threads"] = Collect(t, s.Threads(ctx, posthouse.ThreadQuery{}))
	_, errs["Threads by due time"] = Collect(t, s.Threads(ctx, posthouse.ThreadQuery{DueBefore: 1}))
	_, errs["Slot get"] = s.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
	_, errs["Slot put"] = s.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut})
	_, errs["Slot delete"] = s.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
	_, errs["Remove"] = s.Remove(ctx, posthouse.Removal{Thread: "t1", All: true})
	if w, ok := s.(posthouse.Watcher); ok {
		_, errs["Watch"] = Collect(t, w.Watch(ctx, ""))
	}
	if c, ok := s.(posthouse.Checker); ok {
		for err := range c.Check(ctx) {
			errs["Check"] = err
		}
	}
	return errs
}

func closeLater(t *T) {
	t.log("t1", 3)
	t.OK(t.Store.Close())
	for name, err := range t.calls(t.ctx, t.Store) {
		t.WantCode(name, err, posthouse.CodeClosed)
	}
	t.OK(t.Store.Close())
}

func closeBusy(t *T) {
	s := t.Fresh()
	var wg sync.WaitGroup
	var appended atomic.Int64
	for i := range 4 {
		wg.Go(func() {
			l := t.Builder.Log(fmt.Sprint("t", i))
			for {
				b := l.Next(l.Checkpoint(posthouse.Header{}, "x"))
				if err := s.Append(t.ctx, b); err != nil {
					t.WantCode("Append", err, posthouse.CodeClosed)
					return
				}
				l.Took(b)
				appended.Add(1)
				if _, err := Collect(t, s.Read(t.ctx, l.Info.Thread, posthouse.Range{Reverse: true, Limit: 2})); err != nil {
					t.WantCode("Read", err, posthouse.CodeClosed)
					return
				}
			}
		})
	}
	l := t.Builder.Log("mine")
	for appended.Load() < 50 {
		b := l.Next(l.Step("s", []byte("x")))
		t.OK(s.Append(t.ctx, b))
		l.Took(b)
	}
	t.OK(s.Close())
	wg.Wait()
}

func cancelled(t *T) {
	l, es := t.log("t1", 3)
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	for name, err := range t.calls(ctx, t.Store) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want context.Canceled", name, err)
		}
	}
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), es)
	t.WantEntries("Read", t.Read("calls", posthouse.Range{}), nil)
	t.wantNoSlot(posthouse.SlotKey{Thread: "calls", Step: "s"})
	t.mustAppend(l, l.Step("next", []byte("the store goes on")))
}

func cancelDuring(t *T) {
	l := t.Builder.Log("t1")
	var es []*posthouse.Entry
	for range 100 {
		b := l.Next(l.Checkpoint(posthouse.Header{}, "state"))
		ctx, cancel := context.WithCancel(t.ctx)
		done := make(chan error)
		go func() { done <- t.Store.Append(ctx, b) }()
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) && !isCode(err, posthouse.CodeUnknown) {
			t.Errorf("Append: %v", err)
		}
		t.OK(t.Store.Append(t.ctx, b))
		l.Took(b)
		es = append(es, b.Entry)
	}
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), es)
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), l.Info)
}
