package natstask

import "sync"

// Places bound what goes on at once, in all and for each worker.
type places struct {
	most, share int

	mu    sync.Mutex
	taken int
	by    map[string]int
}

func newPlaces(most, share int) *places {
	return &places{most: most, share: share, by: map[string]int{}}
}

// take takes a place for a worker, if one is left for it.
func (p *places) take(worker string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= p.most || p.by[worker] >= p.share {
		return false
	}
	p.taken++
	p.by[worker]++
	return true
}

func (p *places) leave(worker string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.by[worker]--; p.by[worker] == 0 {
		delete(p.by, worker)
	}
}
