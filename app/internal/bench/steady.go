package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse/notify"
)

const (
	defaultDuration = 30 * time.Second
	steadyClients   = 4    // that ask and decide, at most 25 times a second each
	steadyListeners = 50   // that follow all events
	steadyLooks     = 60   // at memory
	steadyThreads   = 5000 // before, more than the Ledger keeps in memory
)

// steady keeps a server busy for Options.Duration, and looks at its live memory and at what it does
// at the same time. The first half is for caches to fill.
func steady(s *session) (err error) {
	var told atomic.Int64
	r, err := newReceiver(func(*notify.Event) { told.Add(1) })
	if err != nil {
		return err
	}
	defer r.server.close()
	v, err := s.serve(r.endpoint())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	length := cmp.Or(s.opt.Duration, defaultDuration) / time.Duration(s.opt.Scale)
	ctx, stop := context.WithCancelCause(s.ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop(nil)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for range steadyListeners {
		body, err := subscribe(ctx, transport, v.URL, v.token)
		if err != nil {
			return err
		}
		work.Go(func() {
			_, _ = io.Copy(io.Discard, body) // until the end
			_ = body.Close()
		})
	}
	if err := together(s.n(steadyThreads), func(n int) error {
		_, err := v.app.Run(s.ctx, fmt.Sprintf("before-%d", n), payment{To: "ACME"})
		return err
	}); err != nil {
		return err
	}
	var done atomic.Int64
	for c := range steadyClients {
		work.Go(func() {
			pace := time.NewTicker(time.Second / 25)
			defer pace.Stop()
			for n := 0; ctx.Err() == nil; n++ {
				select {
				case <-pace.C:
				case <-ctx.Done():
					return
				}
				if err := v.whole(ctx, fmt.Sprintf("order-%d-%d", c, n)); err != nil {
					stop(err)
				}
				done.Add(1)
			}
		})
	}
	looks, err := s.watchMemory(ctx, length, &done)
	if err != nil {
		return err
	}
	half := looks[len(looks)/2:]
	early, late := half[:(len(half)+1)/2], half[len(half)/2:]
	heap := func(l *look) float64 { return float64(l.heap) / 1e6 }
	s.note("threads asked, decided and ended", "threads/s", float64(done.Load())/length.Seconds(), 0)
	s.note("messages to the webhook", "messages/s", float64(told.Load())/length.Seconds(), 0)
	s.atMost("memory of the last quarter over the third", "MB", median(late, heap), median(early, heap), median(late, heap)/median(early, heap), 1.1)
	rate := func(l *look) float64 { return l.rate }
	s.note("rate of the last quarter, of the third", "threads/s", median(late, rate), median(early, rate))
	return nil
}

// whole is a thread from its request to its end.
func (v *service) whole(ctx context.Context, thread string) error {
	id, err := v.ask(ctx, thread)
	if err == nil {
		err = v.call(ctx, http.MethodPost, "/api/gates/"+string(id)+"/approve", map[string]string{"reason": "bench"}, nil)
	}
	if ctx.Err() != nil {
		return nil // it is over
	}
	return err
}

// A look is what was seen at one time.
type look struct {
	heap uint64  // bytes that live
	rate float64 // threads a second since the look before
}

// watchMemory looks at memory for a while, after a collection each time.
func (s *session) watchMemory(ctx context.Context, length time.Duration, done *atomic.Int64) ([]look, error) {
	var looks []look
	tick := time.NewTicker(length / steadyLooks)
	defer tick.Stop()
	for at, before := s.opt.Now(), int64(0); len(looks) < steadyLooks; {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		now, n := s.opt.Now(), done.Load()
		looks = append(looks, look{m.HeapAlloc, float64(n-before) / now.Sub(at).Seconds()})
		at, before = now, n
		s.opt.Progress(s.current, fmt.Sprintf("%d threads, %.0f MB, look %d of %d", n, float64(m.HeapAlloc)/1e6, len(looks), steadyLooks))
	}
	return slices.Clip(looks), nil
}
