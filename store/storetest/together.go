package storetest

import "sync"

// Together runs n functions that start at the same moment.
func Together(n int, run func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			run(i)
		})
	}
	close(start)
	wg.Wait()
}
