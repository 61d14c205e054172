package sqlitestore

import (
	"context"
	"sync"
	"time"
)

// How long a fold that readers keep from its end waits before it is tried again.
const (
	firstRefold = 20 * time.Millisecond
	lastRefold  = 5 * time.Second
)

// A folding folds the write-ahead log in after bytes were removed: until then it has copies of them.
// While readers hold the log it tries again, in the background.
type folding struct {
	try func(context.Context) (done bool)

	mu      sync.Mutex
	closed  bool
	again   bool          // a fold is tried again
	end     chan struct{} // closed by stop
	running sync.WaitGroup
}

func newFolding(try func(context.Context) bool) *folding {
	return &folding{try: try, end: make(chan struct{})}
}

// removed folds the log in after a removal that is committed. What fails is tried again: the removal
// itself holds.
func (f *folding) removed(ctx context.Context) {
	if f.try(context.WithoutCancel(ctx)) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.again {
		return
	}
	f.again = true
	f.running.Go(f.retry)
}

// retry tries until the log is folded in or the store closes, which folds it in as well.
func (f *folding) retry() {
	for wait := firstRefold; ; wait = min(2*wait, lastRefold) {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-f.end:
			timer.Stop()
			return
		}
		f.mu.Lock()
		f.again = false // a removal from now on may need another
		f.mu.Unlock()
		if f.try(context.Background()) {
			return
		}
		f.mu.Lock()
		other := f.again
		f.again = true
		f.mu.Unlock()
		if other {
			return // it goes on
		}
	}
}

// tryFold reports whether the log was folded in and is empty, or the store takes no more writes. It waits
// for no reader.
func (s *Store) tryFold(ctx context.Context) (done bool) {
	err := s.submit(ctx, "fold the write-ahead log in", request{alone: func(w *writer) error {
		w.SetBusyTimeout(0)
		defer w.SetBusyTimeout(s.opts.BusyTimeout)
		busy, err := w.Number("PRAGMA wal_checkpoint(TRUNCATE)")
		done = err == nil && busy == 0
		return err
	}})
	return done && err == nil || s.lifecycle.Writable(context.Background()) != nil
}

// stop ends what is tried again.
func (f *folding) stop() {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		close(f.end)
	}
	f.mu.Unlock()
	f.running.Wait()
}
