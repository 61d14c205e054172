package dispatch_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// A yard is a Dispatcher over a flow. The flow's input is the group that its task is for.
type yard struct {
	testing.TB
	l       *ledger.Ledger
	d       *dispatch.Dispatcher
	app     *flow.App[string, int]
	session string // of a worker of group a
}

func newYard(t testing.TB, o *dispatch.Options) *yard {
	t.Helper()
	l, err := ledger.Open(memstore.New(), &ledger.Options{LeaseTTL: 10 * time.Minute}) // no test waits for its end
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{TB: t, l: l}
	y.app, err = flow.New("f", func(ctx context.Context, group string) (int, error) {
		return step.RemoteWith[int](ctx, "get", "fetch", group, runs.RemoteOptions{Group: group})
	}).Open(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	y.d, err = dispatch.New(l, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- y.d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	y.session = y.connect("a")
	return y
}

func (y *yard) connect(group string) string {
	y.Helper()
	s, err := y.d.Connect(y.Context(), task.Hello{Protocol: task.Protocol, Worker: "of " + group, Group: group, Tasks: []string{"fetch"}, Concurrency: 1})
	if err != nil {
		y.Fatal(err)
	}
	return s.ID
}

func (y *yard) open(group string, n int) {
	y.Helper()
	for i := range n {
		if _, err := y.app.Run(y.Context(), fmt.Sprint(group, "-", y.Name(), i), group); err != nil {
			y.Fatal(err)
		}
	}
}

// waiting waits until a group has n tasks that are ready here.
func (y *yard) waiting(group string, n int) {
	y.Helper()
	for deadline := time.After(time.Minute); ; {
		for _, q := range y.d.Gauges().Queues {
			if q.Group == group && q.Ready == n {
				return
			}
		}
		select {
		case <-deadline:
			y.Fatalf("%d tasks of group %s do not come", n, group)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// claims has the worker of group a claim n tasks and complete them, and returns the time of
// the fastest claim.
func (y *yard) claims(n int) time.Duration {
	y.Helper()
	fastest := time.Hour
	for range n {
		begun := time.Now()
		c, err := y.d.Claim(y.Context(), y.session)
		took := time.Since(begun)
		if err != nil || c == nil || c.Group != "a" {
			y.Fatalf("Claim: %+v, error %v", c, err)
		}
		fastest = min(fastest, took)
		if err := y.d.Resolve(y.Context(), c.ID, task.Verdict{Action: task.Complete, Output: []byte("1")}); err != nil {
			y.Fatal(err)
		}
	}
	return fastest
}

// claimsBeside is claims beside so many waiting tasks of another group and the same name.
func claimsBeside(t testing.TB, others, n int) time.Duration {
	t.Helper()
	y := newYard(t, &dispatch.Options{Concurrency: map[string]int{"fetch": 5}})
	y.open("b", others)
	y.open("a", n)
	if others > 0 {
		y.waiting("b", others)
	}
	y.waiting("a", n)
	return y.claims(n)
}

// TestOtherGroupsCostNothing: thousands of tasks that wait for workers of another group make
// no claim slower, neither in its queue nor in the count for the limit. A scan of them would
// take some ten times as long as a claim without them.
func TestOtherGroupsCostNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("opens thousands of tasks")
	}
	const n = 100
	alone, beside := claimsBeside(t, 0, n), claimsBeside(t, 5000, n)
	t.Logf("the fastest of %d claims: %s alone, %s beside 5,000 of another group", n, alone, beside)
	if beside > 4*alone {
		t.Errorf("a claim takes %s, and %s beside tasks of another group", alone, beside)
	}
}

// TestTheLimitIsOfTheName: tasks of all groups count together, and those of other names do not.
func TestTheLimitIsOfTheName(t *testing.T) {
	y := newYard(t, &dispatch.Options{Concurrency: map[string]int{"fetch": 1, "other": 1}, Wait: 20 * time.Millisecond})
	y.open("a", 1)
	y.open("b", 1)
	y.waiting("a", 1)
	y.waiting("b", 1)
	other := y.connect("b")
	c, err := y.d.Claim(t.Context(), y.session)
	if err != nil || c == nil {
		t.Fatalf("Claim: %+v, error %v", c, err)
	}
	if more, err := y.d.Claim(t.Context(), other); more != nil || err != nil {
		t.Errorf("beyond the limit: %+v, %v", more, err)
	}
	if err := y.d.Resolve(t.Context(), c.ID, task.Verdict{Action: task.Complete, Output: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	c, err = y.d.Claim(t.Context(), other)
	if err != nil || c == nil || c.Group != "b" {
		t.Fatalf("below the limit: %+v, %v", c, err)
	}
}

// TestACancelledTaskMakesRoom: a claim that waits because of the limit ends when the task that
// fills it is cancelled, before its worker hears of that.
func TestACancelledTaskMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newYard(t, &dispatch.Options{Concurrency: map[string]int{"fetch": 1}})
		y.open("a", 1)
		y.open("b", 1)
		y.waiting("a", 1)
		y.waiting("b", 1)
		first, err := y.d.Claim(t.Context(), y.session)
		if err != nil || first == nil {
			t.Fatalf("Claim: %+v, error %v", first, err)
		}
		other, next := y.connect("b"), make(chan *task.Claim)
		go func() {
			c, err := y.d.Claim(t.Context(), other)
			if err != nil {
				t.Error(err)
			}
			next <- c
		}()
		synctest.Wait()
		begun := time.Now()
		if _, err := y.l.Cancel(t.Context(), first.Thread, nil); err != nil {
			t.Fatal(err)
		}
		if c := <-next; c == nil || c.Group != "b" || time.Since(begun) > time.Second {
			t.Errorf("after %s: %+v", time.Since(begun), c)
		}
	})
}
