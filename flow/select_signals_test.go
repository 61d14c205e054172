package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A signals test sends signals to the thread t of a flow, each step of the test in another process.
type signals struct {
	*testing.T
	w     *world
	store posthouse.Store
	fn    flow.Func[string, string]
	led   *ledger.Ledger
}

// onStores runs a test on a store in memory and on SQLite.
func onStores(t *testing.T, test func(*testing.T, posthouse.Store)) {
	for _, kind := range []string{"memory", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			s := posthouse.Store(newWorld(t).store)
			if kind == "sqlite" {
				s = must.Get(sqlitestore.Open(t.Context(), t.TempDir()+"/p.db", nil))(t)
				t.Cleanup(func() { s.Close() })
			}
			test(t, s)
		})
	}
}

func (s *signals) open() *flow.App[string, string] {
	if s.led != nil {
		s.led.Close()
	}
	s.led = must.Get(ledger.Open(s.store, &ledger.Options{Owner: "me", Now: s.w.clock}))(s.T)
	s.T.Cleanup(func() { s.led.Close() })
	return must.Get(flow.New("f", s.fn).Open(s.led, nil))(s.T)
}

func (s *signals) send(names ...string) {
	s.Helper()
	for _, n := range names {
		name, value, _ := strings.Cut(n, "=")
		must.Get(s.led.Signal(s.Context(), "t", posthouse.Signal{Name: name, Value: json.RawMessage(fmt.Sprintf("%q", value)), By: "bank"}))(s.T)
	}
}

func (s *signals) run(input string) string {
	s.Helper()
	r := must.Get(s.open().Run(s.Context(), "t", input))(s.T)
	return string(r.Status) + " " + r.Output
}

func (s *signals) resume() string {
	s.Helper()
	r := must.Get(s.open().Resume(s.Context(), "t"))(s.T)
	return string(r.Status) + " " + r.Output
}

func (s *signals) wants(what, got, want string) {
	s.Helper()
	if got != want {
		s.Errorf("%s: %q, want %q", what, got, want)
	}
	r := must.Get(sign.Verify(s.Context(), s.store, nil, nil))(s.T)
	if len(r.Faults) > 0 {
		s.Fatalf("%s: the log has faults: %+v", what, r.Faults)
	}
}

func signalCase(name string) step.Case[string] {
	return step.When(name, func(ctx context.Context) (string, error) {
		return step.Signal[string](ctx, name, step.SignalOptions{})
	})
}

// rest takes all signals x until "end".
func rest(ctx context.Context, out []string) (string, error) {
	for {
		v, err := step.Signal[string](ctx, "x", step.SignalOptions{})
		if err != nil {
			return "", err
		}
		out = append(out, v)
		if v == "end" {
			return strings.Join(out, " "), nil
		}
	}
}

// Of two cases that are ready the earlier on record wins, whatever the order in the code, and the
// signal of the other is there for the next wait.
func TestSelectTakesTheEarlierOnRecord(t *testing.T) {
	nested := func(names ...string) step.Case[string] {
		return step.When("nested", func(ctx context.Context) (string, error) {
			var cases []step.Case[string]
			for _, n := range names {
				cases = append(cases, signalCase(n))
			}
			won, err := step.Select(ctx, "inner", cases...)
			return won.Case + "=" + won.Value, err
		})
	}
	sleep := step.When("s", func(ctx context.Context) (string, error) { return "", step.Sleep(ctx, "s", time.Hour) })
	two := step.When("two", func(ctx context.Context) (string, error) {
		a, err := step.Signal[string](ctx, "y", step.SignalOptions{})
		if err != nil {
			return "", err
		}
		b, err := step.Signal[string](ctx, "x", step.SignalOptions{})
		return a + b, err
	})
	at := step.When("now", func(context.Context) (string, error) { return "now", nil })
	for _, c := range []struct {
		name          string
		cases         []step.Case[string]
		before, after string // signals that come before the program begins, and once it waits
		want          string
	}{
		{"x first", []step.Case[string]{signalCase("y"), signalCase("x")}, "", "x=1 y=2 x=end", "x:1 end"},
		{"y first", []step.Case[string]{signalCase("x"), signalCase("y")}, "", "y=2 x=1 x=end", "y:2 1 end"},
		{"y before it begins", []step.Case[string]{signalCase("x"), signalCase("y")}, "y=2 x=1", "x=end", "y:2 1 end"},
		{"x before it begins", []step.Case[string]{signalCase("y"), signalCase("x")}, "x=1 y=2", "x=end", "x:1 end"},
		{"nested, y first", []step.Case[string]{nested("x", "z"), signalCase("y")}, "", "y=2 z=3 x=1 x=end", "y:2 1 end"},
		{"nested, z first", []step.Case[string]{signalCase("y"), nested("x", "z")}, "", "z=3 y=2 x=1 x=end", "nested:z=3 1 end"},
		{"nested on record", []step.Case[string]{signalCase("y"), nested("x", "z")}, "y=2 z=3 x=1", "x=end", "y:2 1 end"},
		{"two signals", []step.Case[string]{two, signalCase("z")}, "", "y=2 z=3 x=1 x=end", "z:3 1 end"},
		{"two signals before", []step.Case[string]{signalCase("z"), two}, "", "x=1 y=2 z=3 x=end", "two:21 end"},
		{"ready at once", []step.Case[string]{signalCase("x"), at}, "x=1", "x=end", "x:1 end"},
		{"nothing there", []step.Case[string]{signalCase("y"), at}, "", "x=1 x=end", "now:now 1 end"},
		{"a time beside", []step.Case[string]{sleep, signalCase("x")}, "", "x=1 x=2 x=end", "x:1 2 end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onStores(t, func(t *testing.T, store posthouse.Store) {
				s := &signals{T: t, w: newWorld(t), store: store}
				s.fn = func(ctx context.Context, _ string) (string, error) {
					if err := step.Sleep(ctx, "begin", time.Minute); err != nil {
						return "", err
					}
					won, err := step.Select(ctx, "first", c.cases...)
					if err != nil {
						return "", err
					}
					return rest(ctx, []string{won.Case + ":" + won.Value})
				}
				s.run("")
				s.send(strings.Fields(c.before)...)
				s.w.advance(time.Minute)
				s.resume()
				s.send(strings.Fields(c.after)...)
				s.resume()
				s.wants("the output", s.resume(), "done "+c.want)
			})
		})
	}
}

// A signal that a wait took which the program was not given is there for the next wait, also where
// another input, a cancellation or a fork came before the program looked.
func TestSignalsThatNobodyWasGiven(t *testing.T) {
	takes := func(ctx context.Context, in string) (string, error) { return rest(ctx, []string{in + ":"}) }
	for name, meddle := range map[string]func(s *signals){
		"input": func(s *signals) { s.run("b") },
		"cancel and input": func(s *signals) {
			must.Get(s.led.Cancel(s.Context(), "t", nil))(s.T)
			s.run("b")
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, store posthouse.Store) {
				s := &signals{T: t, w: newWorld(t), store: store, fn: takes}
				s.run("a")
				s.send("x=1", "x=2")
				meddle(s)
				s.send("x=end")
				s.wants("after the input", s.resume(), "done b: 1 2 end")
			})
		})
	}
	t.Run("what was read is not given again", func(t *testing.T) {
		onStores(t, func(t *testing.T, store posthouse.Store) {
			s := &signals{T: t, w: newWorld(t), store: store, fn: takes}
			s.run("a")
			s.send("x=1")
			s.resume() // it reads 1, and waits
			s.send("x=2")
			s.run("b")
			s.send("x=end")
			s.wants("after the input", s.resume(), "done b: 2 end")
		})
	})
	t.Run("another wait of the name", func(t *testing.T) {
		onStores(t, func(t *testing.T, store posthouse.Store) {
			s := &signals{T: t, w: newWorld(t), store: store}
			s.fn = func(ctx context.Context, _ string) (string, error) {
				g := step.NewGroup(ctx, nil)
				first := step.Go(g, "first", func(ctx context.Context) (string, error) {
					won, err := step.Select(ctx, "first", signalCase("x"), signalCase("y"))
					return won.Case + ":" + won.Value, err
				})
				other := step.Go(g, "other", func(ctx context.Context) (string, error) {
					return step.Signal[string](ctx, "x", step.SignalOptions{})
				})
				if err := g.Wait(); err != nil {
					return "", err
				}
				return first.Value() + " " + other.Value(), nil
			}
			s.run("")
			s.send("y=2", "x=1") // the select's wait was asked first: it takes x
			s.resume()
			s.wants("one x is enough", s.resume(), "done y:2 1")
		})
	})
}

// A signal that does not fit fails the run. The advice of the error helps: another signal takes its
// place once the thread is resumed. A program that took the error keeps what it was given.
func TestAnotherSignalInPlaceOfOneThatDoesNotFit(t *testing.T) {
	onStores(t, func(t *testing.T, store posthouse.Store) {
		s := &signals{T: t, w: newWorld(t), store: store}
		did := 0
		s.fn = func(ctx context.Context, in string) (string, error) {
			if _, err := step.Do(ctx, "ship", func(context.Context) (int, error) { did++; return did, nil }); err != nil {
				return "", err
			}
			n, err := step.Signal[int](ctx, "paid", step.SignalOptions{})
			if err != nil && in == "takes the error" && errors.Is(err, posthouse.ErrInvalid) {
				n, err = step.Signal[int](ctx, "paid", step.SignalOptions{})
				return fmt.Sprint("then ", n), err
			}
			return fmt.Sprint(n), err
		}
		s.run("")
		s.send("paid=forty", "paid=fifty")
		for range 2 {
			_, err := s.open().Resume(s.Context(), "t")
			if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "send another") {
				t.Fatalf("a value that does not fit: %v", err)
			}
		}
		must.Get(s.led.Signal(s.Context(), "t", posthouse.Signal{Name: "paid", Value: []byte("40"), By: "bank"}))(t)
		for range 2 {
			s.wants("after another signal", s.resume(), "done 40")
		}
		if did != 1 {
			t.Errorf("it shipped %d times", did)
		}
		s.run("takes the error")
		s.send("paid=forty")
		must.Get(s.led.Signal(s.Context(), "t", posthouse.Signal{Name: "paid", Value: []byte("50"), By: "bank"}))(t)
		s.wants("a program that takes the error", s.resume(), "done then 50")
	})
}
