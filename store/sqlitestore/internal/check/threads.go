package check

import (
	"runtime"
	"sync"

	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// threads checks the threads, several at once, and yields what it finds in the order of
// their numbers. It returns false if the check must end.
func (k *checker) threads(yield func(error) bool) bool {
	type found struct {
		errs []error
		rows int
		stop bool // the check itself failed
	}
	// Each thread has a channel of its own, where its result waits for those before it.
	results := make(chan chan found, 4*k.Readers)
	var group sync.WaitGroup
	defer group.Wait()
	done := make(chan struct{})
	defer close(done)
	slots := make(chan struct{}, max(1, min(k.Readers-1, runtime.GOMAXPROCS(0))))
	check := func(id int64) found {
		own := &checker{ctx: k.ctx}
		err := k.Read(k.ctx, "check", func(c *db.Conn) error { return own.thread(c, id) })
		if err != nil {
			own.found = append(own.found, err)
		}
		return found{own.found, own.gateRows, err != nil && !layout.Refused(err)}
	}
	group.Go(func() {
		defer close(results)
		for id := int64(0); ; {
			err := k.Read(k.ctx, "check", func(c *db.Conn) (err error) {
				id, err = layout.NextThread(c, id)
				return err
			})
			out := make(chan found, 1)
			if err != nil {
				out <- found{[]error{err}, 0, !layout.Refused(err)}
			} else if id == 0 {
				return
			}
			select {
			case results <- out:
			case <-done:
				return
			}
			if err != nil {
				return
			}
			slots <- struct{}{}
			group.Go(func() {
				out <- check(id)
				<-slots
			})
		}
	})
	for out := range results {
		f := <-out
		k.gateRows += f.rows
		for _, err := range f.errs {
			if !yield(err) {
				return false
			}
		}
		if f.stop {
			return false
		}
	}
	return true
}
