package engine_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A clock that moves when told to.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ms.Store(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC).UnixMilli())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMilli(c.ms.Load()) }
func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

func open(t testing.TB, store posthouse.Store, o *ledger.Options) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(store, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func begin(t testing.TB, l *ledger.Ledger, thread string) *session.Session {
	t.Helper()
	s, err := session.Begin(context.Background(), l, session.Options{Thread: thread})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func commit(t testing.TB, s *session.Session, c posthouse.Change, d ledger.Draft) *posthouse.Committed {
	t.Helper()
	d.Checkpoint = &c
	done, err := s.Commit(context.Background(), &d)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// input starts a thread: the checkpoint that the first node follows.
func input(t testing.TB, s *session.Session) {
	t.Helper()
	commit(t, s, posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"work"}}, ledger.Draft{})
}

func task(t testing.TB, s *session.Session, node string) *engine.Task {
	t.Helper()
	tk, err := engine.TaskWithKey(context.Background(), s, s.Key(node), false)
	if err != nil {
		t.Fatal(err)
	}
	return tk
}

func value(s string) posthouse.Value {
	return posthouse.Value{Codec: "json", Data: []byte(strconv.Quote(s))}
}

// A journal notes which functions really ran.
type journal struct {
	mu  sync.Mutex
	ran []string
}

func (j *journal) do(ctx context.Context, tk *engine.Task, name string, fail error) (string, error) {
	v, err := tk.Do(ctx, name, posthouse.EffectUnset, func(context.Context) (posthouse.Value, error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.ran = append(j.ran, name)
		return value(name + strconv.Itoa(len(j.ran))), fail
	})
	return string(v.Data), err
}

// again ends the session and starts the node's execution over, as a restart does.
func again(t testing.TB, l *ledger.Ledger, s *session.Session) (*session.Session, *engine.Task) {
	t.Helper()
	if err := s.End(context.Background()); err != nil {
		t.Fatal(err)
	}
	s = begin(t, l, s.Thread())
	return s, task(t, s, "work")
}

func TestRecordedStepNeverRunsAgain(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	var j journal
	tk := task(t, s, "work")
	if got := tk.Key(); got != "1/work" && got != "2/work" {
		t.Fatalf("key %q", got)
	}
	var first []string
	for range 3 {
		v, err := j.do(ctx, tk, "llm", nil)
		if err != nil {
			t.Fatal(err)
		}
		first = append(first, v)
	}
	_, tk = again(t, l, s)
	for i := range 3 {
		v, err := j.do(ctx, tk, "llm", nil)
		if err != nil || v != first[i] {
			t.Fatalf("occurrence %d: got %s, %v; recorded was %s", i, v, err, first[i])
		}
	}
	if len(j.ran) != 3 {
		t.Fatalf("ran %v", j.ran)
	}
	if v, err := j.do(ctx, tk, "llm", nil); err != nil || v != `"llm4"` {
		t.Fatalf("the fourth call: %s, %v", v, err)
	}
}

func TestFailedStepIsNotRecorded(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	boom := errors.New("boom")
	var j journal
	tk := task(t, s, "work")
	if _, err := j.do(ctx, tk, "pay", boom); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	for range 2 {
		s, tk = again(t, l, s)
		v, err := j.do(ctx, tk, "pay", nil)
		if err != nil || v != `"pay2"` {
			t.Fatalf("got %s, %v", v, err)
		}
	}
}

// In a loop over items that continues past a failure, each item keeps its result. The failed
// item is not tried again, also if its error ends the execution: others are on record after it.
func TestOccurrenceCountsFailedCalls(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	tk := task(t, s, "work")
	item := func(tk *engine.Task, i int, fail bool) (string, error) {
		v, err := tk.Do(ctx, "item", 0, func(context.Context) (posthouse.Value, error) {
			if fail {
				return posthouse.Value{}, errors.New("no")
			}
			return value(strconv.Itoa(i)), nil
		})
		return string(v.Data), err
	}
	for i := range 3 {
		if _, err := item(tk, i, i == 0); (err != nil) != (i == 0) {
			t.Fatal(i, err)
		}
	}
	s, tk = again(t, l, s)
	_, failed := item(tk, 0, false)
	if failed == nil || failed.Error() != "no" {
		t.Fatalf("item 0 after a crash: %v", failed)
	}
	if err, broken := tk.Records().EndedBy(errors.Join(errors.New("ended"), failed)); broken || !strings.Contains(err.Error(), "step item is not made again: item[1]") {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, &ledger.Draft{Steps: tk.Records().Held()}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, tk = again(t, l, s)
		for i := range 3 {
			if v, err := item(tk, i, false); (err != nil) != (i == 0) || i > 0 && v != strconv.Quote(strconv.Itoa(i)) {
				t.Fatalf("item %d: %s, %v", i, v, err)
			}
		}
	}
}

func TestReorderingIsDetected(t *testing.T) {
	for _, tc := range []struct {
		name            string
		record, replay  []string
		asked, recorded string
	}{
		{"swapped", []string{"a", "b"}, []string{"b", "a"}, "b", "a"},
		{"renamed", []string{"a", "b"}, []string{"a", "c"}, "c", "b"},
		{"inserted", []string{"a", "b"}, []string{"a", "x", "b"}, "x", "b"},
		{"left out", []string{"a", "a", "b"}, []string{"a", "b"}, "b", "a[1]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx := context.Background()
			l := open(t, memstore.New(), nil)
			s := begin(t, l, "t1")
			input(t, s)
			var j journal
			tk := task(t, s, "work")
			for _, n := range tc.record {
				if _, err := j.do(ctx, tk, n, nil); err != nil {
					t.Fatal(err)
				}
			}
			_, tk = again(t, l, s)
			var err error
			for _, n := range tc.replay {
				_, err = j.do(ctx, tk, n, nil)
				if err != nil {
					break
				}
			}
			var oe *engine.OrderError
			if !errors.As(err, &oe) || !errors.Is(err, posthouse.ErrInvalid) {
				t.Fatalf("got %v", err)
			}
			if oe.Asked != tc.asked || oe.Recorded != tc.recorded || !strings.Contains(err.Error(), tc.asked) {
				t.Fatalf("asked %q, recorded %q: %v", oe.Asked, oe.Recorded, err)
			}
			if len(j.ran) != len(tc.record) {
				t.Fatalf("something ran: %v", j.ran)
			}
			if _, err := j.do(ctx, tk, tc.recorded, nil); !errors.As(err, &oe) {
				t.Fatalf("a program that swallowed the error got on: %v", err)
			}
		})
	}
}

// A program that went on after a failed step takes the same way the next time.
func TestFallbackIsKept(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	var j journal
	program := func(tk *engine.Task, fail error) []string {
		var got []string
		v, err := j.do(ctx, tk, "primary", fail)
		if err != nil {
			v, err = j.do(ctx, tk, "fallback", nil)
			if err != nil {
				t.Fatal(err)
			}
		}
		got = append(got, v)
		v, err = j.do(ctx, tk, "last", nil)
		if err != nil {
			t.Fatal(err)
		}
		return append(got, v)
	}
	one := program(task(t, s, "work"), errors.New("down"))
	var tk *engine.Task
	for _, fail := range []error{errors.New("still down"), nil, errors.New("down again")} {
		s, tk = again(t, l, s)
		if two := program(tk, fail); !slices.Equal(one, two) {
			t.Fatalf("%v, then %v", one, two)
		}
		if err := tk.Records().Disorder(true); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"primary", "fallback", "last"}; !slices.Equal(j.ran, want) {
		t.Fatalf("ran %v", j.ran)
	}
}

func TestStepsAtOnceMustSaySo(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	tk := task(t, s, "work")
	_, err := tk.Do(ctx, "a", 0, func(context.Context) (posthouse.Value, error) {
		return tk.Do(ctx, "b", 0, func(context.Context) (posthouse.Value, error) { return value("b"), nil })
	})
	if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "Unordered") {
		t.Fatal(err)
	}
}

func TestUnorderedStepsReplayInAnyOrder(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	var runs atomic.Int64
	all := func(tk *engine.Task, order []int) (out [8]string) {
		ctx := engine.Unordered(ctx)
		var wg sync.WaitGroup
		for _, i := range order {
			wg.Go(func() {
				v, err := tk.Do(ctx, "part-"+strconv.Itoa(i), 0, func(context.Context) (posthouse.Value, error) {
					runs.Add(1)
					return value(strconv.Itoa(i)), nil
				})
				if err != nil {
					t.Error(err)
				}
				out[i] = string(v.Data)
			})
		}
		wg.Wait()
		return out
	}
	order := []int{0, 1, 2, 3, 4, 5, 6, 7}
	tk := task(t, s, "work")
	one := all(tk, order)
	if _, err := tk.Do(ctx, "join", 0, func(context.Context) (posthouse.Value, error) { return value("j"), nil }); err != nil {
		t.Fatal(err)
	}
	_, tk = again(t, l, s)
	slices.Reverse(order)
	if two := all(tk, order); one != two || runs.Load() != 8 {
		t.Fatalf("%v, then %v in %d runs", one, two, runs.Load())
	}
	if v, err := tk.Do(ctx, "join", 0, nil); err != nil || string(v.Data) != `"j"` {
		t.Fatal(v, err)
	}
}

func TestStepInsideAStep(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	var ran []string
	program := func(tk *engine.Task, fail error) error {
		_, err := tk.Do(ctx, "outer", 0, func(ctx context.Context) (posthouse.Value, error) {
			v, err := tk.Do(ctx, "inner", 0, func(ctx context.Context) (posthouse.Value, error) {
				key, _ := engine.StepKey(ctx)
				ran = append(ran, key)
				return value("in"), nil
			})
			if err == nil {
				err = fail
			}
			return v, err
		})
		if err != nil {
			return err
		}
		_, err = tk.Do(ctx, "next", 0, func(context.Context) (posthouse.Value, error) { return value("n"), nil })
		return err
	}
	tk := task(t, s, "work")
	if err := program(tk, errors.New("outer fails")); err == nil {
		t.Fatal("no error")
	}
	for range 2 {
		s, tk = again(t, l, s)
		if err := program(tk, nil); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"t1/" + tk.Key() + "/outer>inner/0"}; !slices.Equal(ran, want) {
		t.Fatalf("ran %v", ran)
	}
}

func TestPaidWorkIsRecordedAfterCancel(t *testing.T) {
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	tk := task(t, s, "work")
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	v, err := tk.Do(ctx, "pay", 0, func(context.Context) (posthouse.Value, error) {
		cancel(gone)
		return value("paid"), nil
	})
	if err != nil || string(v.Data) != `"paid"` {
		t.Fatal(v, err)
	}
	if _, err := tk.Do(ctx, "mail", 0, func(context.Context) (posthouse.Value, error) {
		t.Error("ran under a cancelled context")
		return posthouse.Value{}, nil
	}); !errors.Is(err, gone) {
		t.Fatal(err)
	}
	_, tk = again(t, l, s)
	if v, err := tk.Do(ctx, "pay", 0, nil); err != nil || string(v.Data) != `"paid"` {
		t.Fatal("a recorded result needs no live context:", v, err)
	}
}

func TestNames(t *testing.T) {
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	tk := task(t, s, "work")
	for _, name := range []string{"", strings.Repeat("x", 201), "a>b", "a\nb", "a\xffb"} {
		if _, err := tk.Do(context.Background(), name, 0, nil); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	long := strings.Repeat("x", 200) // fits alone, but not five times
	var within func(ctx context.Context, n int) (posthouse.Value, error)
	within = func(ctx context.Context, n int) (posthouse.Value, error) {
		if n == 4 {
			if _, err := tk.Gates().Ask(ctx, posthouse.Gate{Name: long}); !errors.Is(err, posthouse.ErrInvalid) {
				t.Error(err)
			}
			return tk.Do(ctx, long, 0, nil)
		}
		return tk.Do(ctx, long, 0, func(ctx context.Context) (posthouse.Value, error) { return within(ctx, n+1) })
	}
	_, err := within(context.Background(), 0)
	if !errors.Is(err, posthouse.ErrInvalid) {
		t.Error(err)
	}
	if _, err := tk.Do(context.Background(), "a", 0, func(context.Context) (posthouse.Value, error) {
		return posthouse.Value{Codec: "posthouse-failed"}, nil
	}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Error(err)
	}
}

func TestGuard(t *testing.T) {
	if err := engine.Guard(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("cause")
	err := engine.Guard(func() error { return deep(50, cause) })
	var p *engine.PanicError
	if !errors.As(err, &p) || !errors.Is(err, cause) {
		t.Fatal(err)
	}
	if !strings.Contains(err.Error(), "engine_test.go:") || !strings.Contains(err.Error(), "cause") {
		t.Fatal(err)
	}
	if strings.Contains(p.Stack, "Guard") || strings.Contains(p.Stack, "runtime/debug") || !strings.HasPrefix(p.Stack, "github.com/posthouse/posthouse/internal/engine_test.deep") || len(p.Stack) > 4000 {
		t.Fatal(p.Stack)
	}
	var m map[string]int
	err = engine.Guard(func() error { m["x"] = 1; return nil })
	if !errors.As(err, &p) || !strings.Contains(err.Error(), "nil map at ") {
		t.Fatal(err)
	}
}

//go:noinline
func deep(n int, err error) error {
	if n == 0 {
		panic(err)
	}
	return deep(n-1, err)
}

func TestDraining(t *testing.T) {
	ctx := context.Background()
	if engine.Draining(ctx) {
		t.Fatal("nobody asked")
	}
	drain := make(chan struct{})
	ctx = engine.WithDrain(ctx, drain)
	if engine.Draining(ctx) {
		t.Fatal("not yet")
	}
	close(drain)
	if !engine.Draining(ctx) {
		t.Fatal("closed")
	}
}
