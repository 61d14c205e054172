package step_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

var errBoom = errors.New("boom")

// ran counts how often each step's function ran.
type ran struct {
	mu sync.Mutex
	n  map[string]int
}

func (r *ran) add(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == nil {
		r.n = map[string]int{}
	}
	r.n[name]++
	return r.n[name]
}

func (r *ran) want(t *testing.T, want string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := fmt.Sprint(r.n); got != want {
		t.Fatalf("ran %s, want %s", got, want)
	}
}

// Finished steps of a group are not run again when another one failed, and all
// errors are told.
func TestGroupRunsAgainOnlyWhatFailed(t *testing.T) {
	h, r := newHost(t), ran{}
	program := func(ctx context.Context) error {
		g := step.NewGroup(ctx, nil)
		do := func(name string, failures int) *step.Future[string] {
			return step.Go(g, name, func(context.Context) (string, error) {
				if r.add(name) <= failures {
					return "", fmt.Errorf("%s: %w", name, errBoom)
				}
				return name + "!", nil
			})
		}
		a, b, c := do("a", 0), do("b", 2), do("c", 1)
		if err := g.Wait(); err != nil {
			return err
		}
		if got := a.Value() + b.Value() + c.Value(); got != "a!b!c!" {
			t.Errorf("got %s", got)
		}
		if v, err := b.Get(); v != "b!" || err != nil {
			t.Error(v, err)
		}
		return nil
	}
	err := h.run(program)
	if !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "b: boom\nc: boom") {
		t.Fatal("the errors are not joined in order:", err)
	}
	if err := h.run(program); err == nil || strings.Contains(err.Error(), "c:") {
		t.Fatal(err)
	}
	for range 2 {
		if err := h.run(program); err != nil {
			t.Fatal(err)
		}
	}
	r.want(t, "map[a:1 b:3 c:2]")
}

// Each item of a Map keeps its own result, whichever ended first.
func TestMapKeysByPlace(t *testing.T) {
	h, r := newHost(t), ran{}
	items := []int{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	first := true
	program := func(ctx context.Context) error {
		got, err := step.Map(ctx, "square", items, func(_ context.Context, i int) (int, error) {
			if r.add(fmt.Sprint(i)); first && i%3 == 0 {
				return 0, errBoom
			}
			return i * i, nil
		}, step.GroupOptions{Concurrency: 3})
		if err != nil {
			return err
		}
		for i, v := range got {
			if v != items[i]*items[i] {
				t.Errorf("item %d has %d", items[i], v)
			}
		}
		return nil
	}
	if err := h.run(program); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	first = false
	for range 2 {
		if err := h.run(program); err != nil {
			t.Fatal(err)
		}
	}
	r.want(t, "map[10:1 11:1 12:2 13:1 14:1 15:2 16:1 17:1 18:2 19:1]")
}

func TestGroupKeepsToItsLimit(t *testing.T) {
	h := newHost(t)
	var now, most atomic.Int32
	err := h.run(func(ctx context.Context) error {
		_, err := step.Map(ctx, "work", make([]struct{}, 200), func(context.Context, struct{}) (int32, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			return n, nil
		}, step.GroupOptions{Concurrency: 4})
		return err
	})
	if err != nil || most.Load() > 4 {
		t.Fatalf("%d at once: %v", most.Load(), err)
	}
}

// The steps before and after a group are still checked: steps that end in another
// order are no change of the program, other steps are.
func TestOrderIsCheckedAroundAGroup(t *testing.T) {
	h := newHost(t)
	program := func(last string) func(context.Context) error {
		return func(ctx context.Context) error {
			one := func(ctx context.Context, name string) error {
				_, err := step.Do(ctx, name, func(context.Context) (int, error) { return 1, nil })
				return err
			}
			if err := one(ctx, "first"); err != nil {
				return err
			}
			g := step.NewGroup(ctx, nil)
			bDone := make(chan struct{})
			step.Go(g, "a", func(ctx context.Context) (int, error) {
				<-bDone
				return 1, one(ctx, "inner")
			})
			step.Go(g, "b", func(context.Context) (int, error) { defer close(bDone); return 1, nil })
			if err := g.Wait(); err != nil {
				return err
			}
			return one(ctx, last)
		}
	}
	if err := h.run(program("last")); err != nil {
		t.Fatal(err)
	}
	if err := h.run(program("last")); err != nil {
		t.Fatal(err)
	}
	var order *engine.OrderError
	if err := h.run(program("other")); !errors.As(err, &order) || order.Asked != "other" || order.Recorded != "last" {
		t.Fatal(err)
	}
}

// A program that went on past a failed step of a group may take another way
// the next time.
func TestGroupThatWasSurvivedMaySucceedLater(t *testing.T) {
	h, fails := newHost(t), true
	program := func(ctx context.Context) error {
		g := step.NewGroup(ctx, nil)
		a := step.Go(g, "a", func(context.Context) (int, error) {
			if fails {
				return 0, errBoom
			}
			return 1, nil
		})
		next := "instead"
		if g.Wait() == nil && a.Value() == 1 {
			next = "after"
		}
		_, err := step.Do(ctx, next, func(context.Context) (string, error) { return next, nil })
		return err
	}
	if err := h.run(program); err != nil {
		t.Fatal(err)
	}
	fails = false
	if err := h.run(program); err != nil {
		t.Fatal(err)
	}
}

func TestGroupTurnsAPanicIntoAnError(t *testing.T) {
	h := newHost(t)
	err := h.run(func(ctx context.Context) error {
		g := step.NewGroup(ctx, nil)
		step.Go(g, "a", func(context.Context) (int, error) { panic("on the floor") })
		step.Go(g, "b", func(context.Context) (int, error) { return 1, nil })
		return g.Wait()
	})
	var p *engine.PanicError
	if !errors.As(err, &p) || !strings.Contains(err.Error(), "group_test.go") {
		t.Fatal(err)
	}
}

// Steps of a group ask at once, each under an id of its own; those that do not
// ask are done at the same time.
func TestGroupAsksAtOnce(t *testing.T) {
	h, r := newHost(t), ran{}
	program := func(ctx context.Context) error {
		g := step.NewGroup(ctx, nil)
		for _, name := range []string{"a", "b", "c"} {
			step.Go(g, name, func(ctx context.Context) (string, error) {
				if r.add(name); name == "b" {
					return name, nil
				}
				task, _ := engine.From(ctx)
				q, err := task.Gates().Ask(ctx, posthouse.Gate{Name: "ok"})
				if err != nil {
					return "", err
				}
				return string(q.Decision.Verdict), nil
			})
		}
		return g.Wait()
	}
	ctx := context.Background()
	s := h.begin()
	task, err := engine.TaskWithKey(ctx, s, s.Key("work"), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := program(task.With(ctx)); !errors.Is(err, posthouse.ErrWaiting) || len(task.Gates().New()) != 2 {
		t.Fatalf("error %v, task.Gates().New() %v", err, task.Gates().New())
	}
	done, err := s.Commit(ctx, &ledger.Draft{
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: task.Gates().New(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.End(ctx); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, g := range done.Gates {
		names[g.Name] = true
		if _, err := h.l.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
			t.Fatal(err)
		}
	}
	if !names["a>ok"] || !names["c>ok"] {
		t.Fatal(names)
	}
	if err := h.run(program); err != nil {
		t.Fatal(err)
	}
	r.want(t, "map[a:2 b:1 c:2]")
}

func TestGroupOfBadSteps(t *testing.T) {
	if err := newHost(t).run(func(ctx context.Context) error {
		for _, name := range []string{"", "a>b", "$x", strings.Repeat("n", 201)} {
			g := step.NewGroup(ctx, &step.GroupOptions{Concurrency: -1})
			step.Go(g, name, func(context.Context) (int, error) { return 1, nil })
			if err := g.Wait(); !errors.Is(err, posthouse.ErrInvalid) {
				t.Errorf("%q: %v", name, err)
			}
		}
		g := step.NewGroup(ctx, nil)
		step.Go[int](g, "a", nil)
		if err := g.Wait(); !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
		g = step.NewGroup(context.Background(), nil)
		if _, err := step.Go(g, "a", func(context.Context) (int, error) { return 1, nil }).Get(); !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
		_, err := step.Map[int, int](ctx, "m", nil, nil)
		if !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// The clock and ids of an execution are those of its first run.
func TestClockAndIDsAreRecorded(t *testing.T) {
	h := newHost(t)
	var seen []string
	for range 2 {
		if err := h.run(func(ctx context.Context) error {
			now, err := step.Now(ctx)
			if err != nil {
				return err
			}
			id, err := step.NewID(ctx)
			seen = append(seen, now.String()+string(id))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if seen[0] != seen[1] || len(seen[0]) < 40 {
		t.Fatal(seen)
	}
}
