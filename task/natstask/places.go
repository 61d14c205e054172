package natstask

import "sync"

// placeSize is how many bytes of a request fill a place: a large one takes several.
const placeSize = 16 << 10

// placesOf returns how many places a request of a size takes.
func placesOf(size int) int { return 1 + size/placeSize }

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

// take takes n places for a worker, if so many are left for it.
func (p *places) take(worker string, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken+n > p.most || p.by[worker]+n > p.share {
		return false
	}
	p.taken += n
	p.by[worker] += n
	return true
}

// leave gives n places of a worker back.
func (p *places) leave(worker string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken -= n
	if p.by[worker] -= n; p.by[worker] == 0 {
		delete(p.by, worker)
	}
}
