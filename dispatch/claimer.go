package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

// maxWaiting bounds how many calls of one session wait for tasks here.
const maxWaiting = 100

// Claim implements [task.Engine].
func (d *Dispatcher) Claim(ctx context.Context, id string) (*task.Claim, error) {
	s, err := d.sessionFor(ctx, id)
	if err != nil {
		return nil, err
	}
	if p := task.PassOf(ctx); p != nil {
		if err := p.Check(&s.hello); err != nil { // it may allow less than before
			return nil, err
		}
	}
	waiting, leave := d.enter(ctx, s)
	defer leave()
	over := time.NewTimer(d.opt.Wait)
	defer over.Stop()
	for waiting.Err() == nil {
		t, ready, news := d.next(s, d.core.Now())
		if t == nil {
			if d.await(waiting, s, ready, news, over.C) {
				continue
			}
			return nil, nil
		}
		if c, err := d.claim(ctx, s, t); c != nil || err != nil {
			return c, err
		}
	}
	return nil, context.Cause(waiting)
}

// await waits for news of tasks, for one that is ready at a time, or for the end of the call. It
// reports false when the call has waited for long enough.
func (d *Dispatcher) await(waiting context.Context, s *session, ready time.Time, news <-chan struct{}, over <-chan time.Time) bool {
	defer d.want(s)()
	var due <-chan time.Time
	if !ready.IsZero() {
		due = time.After(max(ready.Sub(d.core.Now()), time.Millisecond))
	}
	select {
	case <-over:
		return false
	case <-news:
	case <-due:
	case <-waiting.Done():
	}
	return true
}

// A claimer ends a call of Claim that waits.
type claimer struct{ end context.CancelCauseFunc }

// enter notes a call that waits for a session's tasks, until leave is called. Its context ends
// with the session. If more calls wait than the worker has room for, the oldest ends: the
// worker has asked again since, and may not hear its answer.
func (d *Dispatcher) enter(ctx context.Context, s *session) (waiting context.Context, leave func()) {
	waiting, end := context.WithCancelCause(ctx)
	c := &claimer{end}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.claims = append(s.claims, c)
	switch {
	case s.over:
		end(sessionOver(s.id))
	case len(s.claims) > min(s.hello.AtOnce, maxWaiting):
		s.claims[0].end(&posthouse.Error{
			Code: posthouse.CodeUnavailable, Message: "newer calls of the worker wait for tasks, as many as may", Hint: "let no more calls wait than the worker has room for tasks",
		})
		s.claims = slices.Delete(s.claims, 0, 1)
	}
	return waiting, func() {
		end(nil)
		d.mu.Lock()
		defer d.mu.Unlock()
		if i := slices.Index(s.claims, c); i >= 0 {
			s.claims = slices.Delete(s.claims, i, i+1)
		}
	}
}

// endClaims ends the calls that wait for tasks of a session that is over.
func (d *Dispatcher) endClaims(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.over = true
	for _, c := range s.claims {
		c.end(sessionOver(s.id))
	}
	s.claims = nil
}
