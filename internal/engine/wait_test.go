package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

func send(t testing.TB, l *ledger.Ledger, name, value string) {
	t.Helper()
	if _, err := l.Signal(context.Background(), "t1", posthouse.Signal{Name: name, Value: json.RawMessage(value)}); err != nil {
		t.Fatal(err)
	}
}

// TestSleepIsOverWhenItsTimeHasCome and keeps the time of its first call.
func TestSleepIsOverWhenItsTimeHasCome(t *testing.T) {
	ctx, clk := context.Background(), newClock()
	l := open(t, memstore.New(), &ledger.Options{Now: clk.now})
	s := begin(t, l, "t1")
	input(t, s)
	tk := task(t, s, "work")
	if err := tk.Until(ctx, "nap", clk.now().Add(time.Hour)); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal(err)
	}
	gate := park(t, s, tk).Gates[0]
	if gate.Kind != posthouse.GateTimer || gate.Name != "sleep:nap" {
		t.Fatalf("gate %+v", gate)
	}
	clk.advance(time.Hour - time.Millisecond)
	s, tk = again(t, l, s)
	if err := tk.Until(ctx, "nap", clk.now().Add(time.Hour)); !errors.Is(err, posthouse.ErrWaiting) || len(tk.Gates().New()) != 0 {
		t.Fatal("a replay began to sleep anew:", err)
	}
	clk.advance(time.Millisecond)
	for range 2 {
		s, tk = again(t, l, s)
		if err := tk.Until(ctx, "nap", clk.now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if tk.Waiting() {
			t.Fatal("it still waits")
		}
	}
	if g, err := l.Gate(ctx, gate.ID); err != nil || g.Decision == nil || g.Decision.Verdict != posthouse.Expire {
		t.Fatal(g, err)
	}
}

// TestWaitThatIsOverCostsNothing: no entry, nothing to replay, wherever in the
// order it stands.
func TestWaitThatIsOverCostsNothing(t *testing.T) {
	ctx, clk := context.Background(), newClock()
	l := open(t, memstore.New(), &ledger.Options{Now: clk.now})
	s := begin(t, l, "t1")
	input(t, s)
	tk := task(t, s, "work")
	var j journal
	program := func(tk *engine.Task) {
		t.Helper()
		for _, at := range []time.Time{clk.now(), time.Unix(0, 0), {}} {
			if err := tk.Until(ctx, "nap", at); err != nil {
				t.Fatal(err)
			}
			if _, err := j.do(ctx, tk, "work", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	program(tk)
	tail := func() uint64 {
		info, err := l.Thread(ctx, "t1")
		if err != nil {
			t.Fatal(err)
		}
		return info.Tail.Seq
	}
	before := tail()
	_, tk = again(t, l, s)
	program(tk)
	if len(j.ran) != 3 || tail() > before+1 { // the lease given back
		t.Fatalf("ran %v, %d entries", j.ran, tail()-before)
	}
}

// TestWaitsKeepTheirPlaceInTheOrder: a replay that asks for another step first
// fails, as with steps.
func TestWaitsKeepTheirPlaceInTheOrder(t *testing.T) {
	for _, kind := range []string{"sleep", "signal"} {
		for _, tc := range []struct {
			name   string
			replay []string
			ok     bool
		}{
			{"the same", []string{"a", "wait", "b"}, true},
			{"step first", []string{"a", "b", "wait"}, false},
			{"wait first", []string{"wait", "a", "b"}, false},
			{"dropped", []string{"a", "b"}, false},
			{"renamed", []string{"a", "other", "b"}, false},
		} {
			t.Run(kind+"/"+tc.name, func(t *testing.T) {
				ctx, clk := context.Background(), newClock()
				l := open(t, memstore.New(), &ledger.Options{Now: clk.now})
				s := begin(t, l, "t1")
				input(t, s)
				var j journal
				run := func(tk *engine.Task, calls ...string) error {
					for _, c := range calls {
						var err error
						switch {
						case c != "wait" && c != "other":
							_, err = j.do(ctx, tk, c, nil)
						case kind == "sleep":
							err = tk.Until(ctx, c, clk.now().Add(time.Minute))
						default:
							_, err = tk.Signal(ctx, c, false, 0)
						}
						if err != nil {
							return err
						}
					}
					return nil
				}
				tk := task(t, s, "work")
				if err := run(tk, "a", "wait"); !errors.Is(err, posthouse.ErrWaiting) {
					t.Fatal(err)
				}
				park(t, s, tk)
				clk.advance(time.Minute)
				send(t, l, "wait", "1")
				s, tk = again(t, l, s)
				if err := run(tk, "a", "wait", "b"); err != nil {
					t.Fatal(err)
				}
				_, tk = again(t, l, s)
				var order *engine.OrderError
				switch err := run(tk, tc.replay...); {
				case tc.ok && err != nil:
					t.Fatal(err)
				case !tc.ok && !errors.As(err, &order):
					t.Fatalf("the error is %v, want an OrderError", err)
				}
				if len(j.ran) != 2 {
					t.Fatalf("ran %v", j.ran)
				}
			})
		}
	}
}

// TestSignalValuesAreTakenInOrder, those that came before the wait and those
// that end it, and are the same in each execution.
func TestSignalValuesAreTakenInOrder(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	for i := range 3 {
		send(t, l, "go", fmt.Sprint(i))
	}
	program := func(tk *engine.Task) (got string, err error) {
		for range 5 {
			v, err := tk.Signal(ctx, "go", false, 0)
			if err != nil {
				return got, err
			}
			got += string(v)
		}
		v, err := tk.Signal(ctx, "go", true, 0)
		return got + string(v), err
	}
	tk := task(t, s, "work")
	if got, err := program(tk); got != "012" || !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatalf("got %v, error %v", got, err)
	}
	park(t, s, tk)
	send(t, l, "go", "3")
	s, tk = again(t, l, s)
	if got, err := program(tk); got != "0123" || !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatalf("got %v, error %v", got, err)
	}
	send(t, l, "go", "4") // between the call and the commit that parks
	park(t, s, tk)
	for range 2 {
		s, tk = again(t, l, s)
		if got, err := program(tk); got != "012344" || err != nil {
			t.Fatalf("got %v, error %v", got, err)
		}
	}
	send(t, l, "go", "5")
	s, tk = again(t, l, s)
	if got, err := program(tk); got != "012344" || err != nil {
		t.Fatal("a latch that was read changed:", got, err)
	}
	commit(t, s, posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Next: []string{"work"}}, ledger.Draft{})
	if v, err := task(t, s, "work").Signal(ctx, "go", false, 0); string(v) != "5" || err != nil {
		t.Fatal(string(v), err)
	}
}

// TestSignalsAtOnce: tasks of one session that run at once share a queue.
func TestSignalsAtOnce(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	for i := range 40 {
		send(t, l, "go", fmt.Sprint(i))
	}
	got := make(chan string, 60)
	for w := range 20 {
		go func() {
			tk, err := engine.TaskWithKey(ctx, s, fmt.Sprint("w", w), true)
			for range 2 {
				v, e := tk.Signal(ctx, "go", false, 0)
				err = errors.Join(err, e)
				got <- string(v)
			}
			if err != nil {
				got <- err.Error()
			}
		}()
	}
	seen := map[string]bool{}
	for range 40 {
		v := <-got
		if seen[v] || v == "" {
			t.Errorf("%q was taken twice", v)
		}
		seen[v] = true
	}
}

// TestSignalTimeout is the same error in each execution, and a signal that
// comes later is there for the next wait.
func TestSignalTimeout(t *testing.T) {
	ctx, clk := context.Background(), newClock()
	l := open(t, memstore.New(), &ledger.Options{Now: clk.now})
	s := begin(t, l, "t1")
	input(t, s)
	tk := task(t, s, "work")
	if _, err := tk.Signal(ctx, "go", false, time.Minute); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal(err)
	}
	park(t, s, tk)
	clk.advance(time.Minute)
	send(t, l, "go", "1")
	for range 2 {
		s, tk = again(t, l, s)
		_, err := tk.Signal(ctx, "go", false, time.Minute)
		must.Fail(t, err, posthouse.ErrExpired)
		if v, err := tk.Signal(ctx, "go", false, time.Minute); string(v) != "1" || err != nil {
			t.Fatal(string(v), err)
		}
	}
}

// TestCancelledWait is an error of the wait.
func TestCancelledWait(t *testing.T) {
	ctx, clk := context.Background(), newClock()
	l := open(t, memstore.New(), &ledger.Options{Now: clk.now})
	s := begin(t, l, "t1")
	input(t, s)
	program := func(tk *engine.Task) (error, error) {
		_, err := tk.Signal(ctx, "go", false, 0)
		return err, tk.Until(ctx, "nap", clk.now().Add(time.Hour))
	}
	tk := task(t, s, "work")
	if a, b := program(tk); !errors.Is(a, posthouse.ErrWaiting) || !errors.Is(b, posthouse.ErrWaiting) {
		t.Fatal(a, b)
	}
	for _, g := range park(t, s, tk).Gates {
		if _, err := l.Withdraw(ctx, g.ID, ledger.Withdrawal{By: "bob", Operator: true, Reason: "enough"}); err != nil {
			t.Fatal(err)
		}
	}
	_, tk = again(t, l, s)
	a, b := program(tk)
	must.Fail(t, a, posthouse.ErrCancelled)
	must.Fail(t, b, posthouse.ErrCancelled)
}

// TestWaitInsideAStep is named under it.
func TestWaitInsideAStep(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	program := func(tk *engine.Task) (posthouse.Value, error) {
		return tk.Do(ctx, "outer", 0, func(ctx context.Context) (posthouse.Value, error) {
			v, err := tk.Signal(ctx, "go", false, 0)
			return posthouse.Value{Data: v}, err
		})
	}
	tk := task(t, s, "work")
	if _, err := program(tk); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal(err)
	}
	if q := tk.Gates().New(); q[0].Name != "outer>signal:go" {
		t.Fatal(q)
	}
	park(t, s, tk)
	send(t, l, "go", "7")
	_, tk = again(t, l, s)
	if v, err := program(tk); err != nil || string(v.Data) != "7" {
		t.Fatal(v, err)
	}
}

// TestWaitOrDrain sleeps as long as the clock says, or until the context ends or
// the program is asked to stop.
func TestWaitOrDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), nil)
		start := time.Now()
		if come, err := engine.WaitOrDrain(t.Context(), l, start.Add(2500*time.Millisecond)); !come || err != nil || time.Since(start) != 2500*time.Millisecond {
			t.Fatal(come, err, time.Since(start))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("ended")) })
		if come, err := engine.WaitOrDrain(ctx, l, time.Now().Add(time.Hour)); come || err == nil || err.Error() != "ended" {
			t.Fatalf("come %v, error %v", come, err)
		}
		drain := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(drain) })
		start = time.Now()
		if come, err := engine.WaitOrDrain(engine.WithDrain(t.Context(), drain), l, start.Add(time.Hour)); come || err != nil || time.Since(start) != time.Second {
			t.Fatal(come, err, time.Since(start))
		}
	})
}
