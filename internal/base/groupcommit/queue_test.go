package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func unit(int) int { return 1 }

func TestALoneCallerRunsAtOnce(t *testing.T) {
	ran := 0
	q := groupcommit.New(10, unit, func(g []*groupcommit.Call[int]) { ran += len(g) })
	for range 3 {
		if err := q.Do(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if ran != 3 {
		t.Errorf("ran %d", ran)
	}
}

func TestWaitersShareAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var groups [][]int
		q := groupcommit.New(3, func(n int) int { return n }, func(g []*groupcommit.Call[int]) {
			var works []int
			for _, c := range g {
				works = append(works, c.Work)
				if c.Work == 0 {
					<-release
				}
				if len(g) > 1 && c == g[1] {
					c.Err = errors.New("refused")
				}
			}
			groups = append(groups, works)
		})
		results := make(map[int]error)
		var mu sync.Mutex
		start := func(work int) {
			go func() {
				err := q.Do(t.Context(), work)
				mu.Lock()
				defer mu.Unlock()
				results[work] = err
			}()
			synctest.Wait()
		}
		for _, work := range []int{0, 1, 2, 3, -1, -2} { // 0 holds the lead
			start(work)
		}
		close(release)
		synctest.Wait()
		if got := fmt.Sprint(groups); got != "[[0] [1 2] [3 -1 -2]]" {
			t.Errorf("groups %s", got)
		}
		for work, err := range results {
			if want := work == 2 || work == -1; (err != nil) != want {
				t.Errorf("%d: %v", work, err)
			}
		}
		if len(results) != 6 {
			t.Errorf("%d results", len(results))
		}
	})
}

func TestACallerWhoGivesUpIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var ran []int
		q := groupcommit.New(10, unit, func(g []*groupcommit.Call[int]) {
			for _, c := range g {
				ran = append(ran, c.Work)
				if c.Work == 0 {
					<-release
				}
			}
		})
		go func() { _ = q.Do(t.Context(), 0) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 1)
		go func() { errs <- q.Do(ctx, 1) }()
		go func() { _ = q.Do(t.Context(), 2) }()
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := q.Do(ctx, 3); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		close(release)
		synctest.Wait()
		if fmt.Sprint(ran) != "[0 2]" {
			t.Errorf("ran %v", ran)
		}
	})
}

// TestTakenWorkIsWaitedFor cancels a caller that has its work in a running group.
func TestTakenWorkIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, entered := make(chan struct{}), make(chan struct{})
		q := groupcommit.New(10, unit, func(g []*groupcommit.Call[int]) {
			entered <- struct{}{}
			<-hold
		})
		go func() { _ = q.Do(t.Context(), 0) }()
		<-entered
		go func() { _ = q.Do(t.Context(), 1) }() // leads the next group
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- q.Do(ctx, 2) }()
		synctest.Wait()
		hold <- struct{}{}
		<-entered // the group of 1 and 2
		cancel()
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("returned while its work ran: %v", err)
		default:
		}
		hold <- struct{}{}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestPanicLeavesTheQueueWorking: a run that panics, or ends its goroutine, is its leader's;
// the others of its group learn that their work's outcome is not known, and the
// next group runs.
func TestPanicLeavesTheQueueWorking(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("no") }, "goexit": runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			hold, ran := make(chan struct{}), 0
			q := groupcommit.New(2, unit, func(g []*groupcommit.Call[int]) {
				switch {
				case g[0].Work == 0:
					<-hold
				case len(g) == 2 && g[0].Work == 1:
					end()
				}
				ran += len(g)
			})
			errs := make([]error, 5)
			for i := range errs {
				go func() {
					defer func() { _ = recover() }()
					errs[i] = errors.New("did not return")
					errs[i] = q.Do(t.Context(), i)
				}()
				synctest.Wait()
			}
			close(hold) // then 1 leads itself and 2, and after them 3 leads itself and 4
			synctest.Wait()
			if errs[0] != nil || errs[1] == nil || !errors.Is(errs[2], groupcommit.ErrAborted) || errs[3] != nil || errs[4] != nil || ran != 3 {
				t.Errorf("%s: %v, ran %d", name, errs, ran)
			}
			if err := q.Do(t.Context(), 5); err != nil {
				t.Errorf("%s: afterwards: %v", name, err)
			}
		})
	}
}

func TestManyCallers(t *testing.T) {
	var sum, groups, inside atomic.Int64
	q := groupcommit.New(100, unit, func(g []*groupcommit.Call[int]) {
		if inside.Add(1) != 1 {
			t.Error("two groups at once")
		}
		for _, c := range g {
			sum.Add(int64(c.Work))
			if c.Work == 13 {
				c.Err = errors.New("unlucky")
			}
		}
		groups.Add(1)
		inside.Add(-1)
	})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%8 == 0 {
				cancel()
			}
			for range 200 {
				err := q.Do(ctx, i)
				if want := i == 13 || i%8 == 0; (err != nil) != want {
					t.Errorf("%d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	want := int64(0)
	for i := range 64 {
		if i%8 != 0 {
			want += int64(i) * 200
		}
	}
	if sum.Load() != want {
		t.Errorf("sum %d, want %d", sum.Load(), want)
	}
}

func Example() {
	table := map[string]int{}
	q := groupcommit.New(512, func(string) int { return 1 }, func(group []*groupcommit.Call[string]) {
		for _, call := range group { // one transaction
			if call.Work == "" {
				call.Err = errors.New("empty key")
				continue
			}
			table[call.Work]++
		}
	})
	fmt.Println(q.Do(context.Background(), "a"), q.Do(context.Background(), ""), table)
	// Output: <nil> empty key map[a:1]
}
