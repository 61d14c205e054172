package natstask

import "sync"

// A shift is the work between the begin and the end of serving. The zero value has begun.
type shift struct {
	mu   sync.Mutex
	over bool
	work sync.WaitGroup
}

// do calls fn beside the caller. It reports false, and does nothing, once the shift is over.
func (s *shift) do(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over { // no call may begin while end waits
		return false
	}
	s.work.Go(fn)
	return true
}

// end ends the shift, and waits for what has begun. Cancel is called between the two.
func (s *shift) end(cancel func()) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	cancel()
	s.work.Wait()
}
