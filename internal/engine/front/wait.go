package front

import (
	"cmp"
	"context"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// Wait waits until a branch's run has ended, stopped or waits for a person, wherever it runs, and
// returns the branch's head. A person may be asked in a thread that the branch waits for. It returns
// ctx's error if that ends first, and [posthouse.ErrNotFound] for an unknown thread or branch.
func (f *Front[O, In, R, C]) Wait(ctx context.Context, thread, branch string) (*C, error) {
	head, err := settled(ctx, f.Ledger, cmp.Or(thread, posthouse.DefaultThread), branch)
	if err != nil {
		return nil, err
	}
	return f.At(ctx, head)
}

// settled returns the head of a branch once nothing goes on by itself.
func settled(ctx context.Context, l *ledger.Ledger, thread, branch string) (posthouse.ID, error) {
	w := newWatches(ctx, l)
	defer w.end()
	w.add(thread)
	for {
		threads := map[string]bool{}
		head, err := look(ctx, l, thread, branch, threads)
		if head != "" || err != nil {
			return head, err
		}
		added := false // what happened before its watch began is looked at once more
		for t := range threads {
			added = w.add(t) || added
		}
		if added {
			continue
		}
		if err := w.next(ctx); err != nil {
			return "", err
		}
	}
}

// look returns the head of a branch that has settled, "" for one that has not. It adds the threads
// that this depends on.
func look(ctx context.Context, l *ledger.Ledger, thread, branch string, threads map[string]bool) (posthouse.ID, error) {
	info, err := l.Thread(ctx, thread)
	if err != nil {
		return "", err
	}
	b, ok := info.Branch(cmp.Or(branch, posthouse.MainBranch))
	switch {
	case !ok:
		return "", engine.UnknownThread(thread, branch)
	case b.Status.Runnable():
		return "", nil
	case b.Status != posthouse.StatusWaiting:
		return b.Head, nil
	}
	asked, err := openQuestions(ctx, l, info, b.Branch, threads)
	if err != nil || len(asked) == 0 {
		return "", err
	}
	return b.Head, nil
}

// watches tell when something happens on one of several threads.
type watches struct {
	ledger *ledger.Ledger
	ctx    context.Context
	cancel context.CancelFunc
	of     map[string]bool
	news   chan struct{} // one that is not taken stands for all that follow
	failed chan error
	all    sync.WaitGroup
}

func newWatches(ctx context.Context, l *ledger.Ledger) *watches {
	w := &watches{ledger: l, of: map[string]bool{}, news: make(chan struct{}, 1), failed: make(chan error, 1)}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// add watches a thread from now on. It reports whether it was not watched before.
func (w *watches) add(thread string) bool {
	if w.of[thread] {
		return false
	}
	w.of[thread] = true
	events := w.ledger.Watch(w.ctx, ledger.WatchQuery{Thread: thread, Cursor: "now"})
	w.all.Go(func() {
		for e, err := range events {
			if e == nil && err != nil {
				select {
				case w.failed <- err:
				default: // another watch has failed before
				}
				return
			}
			select {
			case w.news <- struct{}{}:
			default:
			}
		}
	})
	return true
}

// next waits for news.
func (w *watches) next(ctx context.Context) error {
	select {
	case <-w.news:
		return nil
	case err := <-w.failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *watches) end() {
	w.cancel()
	w.all.Wait()
}
