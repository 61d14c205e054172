package shared_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/base/shared"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A desk counts calls, which end when the test lets them.
type desk struct {
	calls shared.Calls[string, int]
	begun int
	end   chan struct{}
}

func (d *desk) call(ctx context.Context) (int, error) {
	d.begun++
	n := d.begun
	select {
	case <-d.end:
		return n, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// ask asks in a goroutine, and returns once it runs or waits.
func (d *desk) ask(ctx context.Context, key string) <-chan string {
	answer := make(chan string, 1)
	go func() {
		n, err := d.calls.Do(ctx, key, d.call)
		answer <- fmt.Sprint(n, err)
	}()
	synctest.Wait()
	return answer
}

// TestCallersShareTheNextCall: who asks while a call runs is answered by one that begins later, together with all
// who wait, and never by the one that runs.
func TestCallersShareTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{end: make(chan struct{})}
		first := d.ask(t.Context(), "a")
		var waiting []<-chan string
		for range 20 {
			waiting = append(waiting, d.ask(t.Context(), "a"))
		}
		other := d.ask(t.Context(), "b")
		if d.begun != 2 {
			t.Fatalf("%d calls run, want one of each key", d.begun)
		}
		d.end <- struct{}{}
		d.end <- struct{}{}
		synctest.Wait()
		if got := <-first + " " + <-other; got != "1 <nil> 2 <nil>" {
			t.Errorf("the first two are answered %q", got)
		}
		d.end <- struct{}{}
		for _, w := range waiting {
			if got := <-w; got != "3 <nil>" {
				t.Errorf("one of those who waited is answered %q, want the third call's", got)
			}
		}
		if d.begun != 3 {
			t.Errorf("%d calls ran, want 3", d.begun)
		}
	})
}

// TestACallEndsWhenAllHaveLeft: a call goes on while one of its callers is there, whichever began it, and is told
// to stop when the last one leaves. One without callers does not begin.
func TestACallEndsWhenAllHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{end: make(chan struct{})}
		blocker := d.ask(t.Context(), "a")
		one, leaveOne := context.WithCancelCause(t.Context())
		two, leaveTwo := context.WithCancelCause(t.Context())
		answers := []<-chan string{d.ask(one, "a"), d.ask(two, "a")}
		d.end <- struct{}{}
		synctest.Wait()
		<-blocker
		gone := errors.New("gone")
		leaveOne(gone)
		synctest.Wait()
		// One of the two runs the call and stays until its end, for the other.
		stays := two
		if d.begun != 2 || stays.Err() != nil {
			t.Fatalf("%d calls began", d.begun)
		}
		third, leaveThird := context.WithCancelCause(t.Context())
		never := d.ask(third, "a")
		leaveThird(gone)
		if got := <-never; got != "0 gone" {
			t.Errorf("who left before its turn is answered %q", got)
		}
		leaveTwo(gone)
		for _, a := range answers {
			if got := <-a; got != "0 gone" && got != "0 context canceled" {
				t.Errorf("after all left, one is answered %q", got)
			}
		}
		synctest.Wait()
		if d.begun != 2 {
			t.Errorf("%d calls began; the third had no caller", d.begun)
		}
		last := d.ask(t.Context(), "a")
		d.end <- struct{}{}
		if got := <-last; got != "3 <nil>" {
			t.Errorf("after that it is answered %q", got)
		}
	})
}

// TestOneLeavesAndTheOthersAreAnswered: a caller whose context ends does not take the answer from others, even if it
// runs the call.
func TestOneLeavesAndTheOthersAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i := range 2 { // whichever of the two runs the call
			d := &desk{end: make(chan struct{})}
			blocker := d.ask(t.Context(), "a")
			var leave [2]context.CancelFunc
			var answers [2]<-chan string
			for j := range leave {
				ctx, cancel := context.WithCancel(t.Context())
				leave[j], answers[j] = cancel, d.ask(ctx, "a")
			}
			d.end <- struct{}{}
			<-blocker
			leave[i]()
			synctest.Wait()
			d.end <- struct{}{}
			if got := <-answers[1-i]; got != "2 <nil>" {
				t.Errorf("the one that stays is answered %q", got)
			}
			leave[1-i]()
			<-answers[i]
		}
	})
}

// TestACallThatNoCallerTakes: a caller whose context is done already may leave though it is its turn. The next one has
// its turn then.
func TestACallThatNoCallerTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls shared.Calls[string, int]
		one := func(context.Context) (int, error) { return 1, nil }
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for range 50 { // select takes either of what is ready
			_, _ = calls.Do(over, "a", one)
			if n, err := calls.Do(t.Context(), "a", one); n != 1 || err != nil {
				t.Fatalf("the next caller is answered %d, %v", n, err)
			}
		}
	})
}

// TestAPanicIsOfOneCaller: the caller that runs the call panics, others get an error, and the next call runs.
func TestAPanicIsOfOneCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls shared.Calls[string, int]
		begin := make(chan struct{})
		go func() {
			_, _ = calls.Do(t.Context(), "a", func(context.Context) (int, error) { <-begin; return 0, nil })
		}()
		synctest.Wait()
		var panics, failed atomic.Int32
		for range 3 {
			go func() {
				defer func() {
					if recover() != nil {
						panics.Add(1)
					}
				}()
				if _, err := calls.Do(t.Context(), "a", func(context.Context) (int, error) { panic("no") }); err != nil {
					failed.Add(1)
				}
			}()
		}
		synctest.Wait()
		close(begin)
		synctest.Wait()
		if panics.Load() != 1 || failed.Load() != 2 {
			t.Errorf("%d callers panicked and %d failed, want 1 and 2", panics.Load(), failed.Load())
		}
		if n, err := calls.Do(t.Context(), "a", func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
			t.Errorf("after that: %d, %v", n, err)
		}
	})
}

// TestAnswersAreNotOlderThanQuestions has many callers ask, leave and change what is asked for, all at once.
func TestAnswersAreNotOlderThanQuestions(t *testing.T) {
	var calls shared.Calls[int, int64]
	var now, running atomic.Int64
	var work sync.WaitGroup
	for g := range 8 {
		work.Go(func() {
			for i := range 500 {
				ctx, cancel := context.WithCancel(t.Context())
				if (g+i)%3 == 0 {
					go cancel()
				}
				asked := now.Add(1)
				got, err := calls.Do(ctx, 0, func(context.Context) (int64, error) {
					if running.Add(1) != 1 {
						t.Error("two calls of one key run at once")
					}
					defer running.Add(-1)
					return now.Load(), nil
				})
				if err == nil && got < asked {
					t.Errorf("a question of %d is answered with %d", asked, got)
				}
				cancel()
			}
		})
	}
	work.Wait()
}

func ExampleCalls() {
	var sums shared.Calls[string, int]
	n, err := sums.Do(context.Background(), "all", func(context.Context) (int, error) { return 1 + 2, nil })
	fmt.Println(n, err)
	// Output: 3 <nil>
}
