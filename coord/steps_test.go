package coord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// A handler fans out, calls an agent, sleeps and takes signals, each time in
// another process: what is on record is not done again, whatever it waits for.
func TestStepsInAHandler(t *testing.T) {
	var mu sync.Mutex
	now, did, broken := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), map[string]int{}, true
	act := func(name string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if did[name]++; name == "map 2" && broken {
			return "", errors.New("the second item failed")
		}
		return name, nil
	}
	w := &world{}
	handler := func(ctx context.Context, message string, f *coord.Fleet, s *coord.Session) error {
		g := step.NewGroup(ctx, nil)
		a := step.Go(g, "a", func(context.Context) (string, error) { return act("a") })
		b := step.Go(g, "b", func(context.Context) (string, error) { return act("b") })
		if err := g.Wait(); err != nil {
			return err
		}
		mapped, err := step.Map(ctx, "map", []int{1, 2, 3}, func(_ context.Context, i int) (string, error) { return act(fmt.Sprint("map ", i)) })
		if err != nil {
			return err
		}
		r, err := call(ctx, f, "worker", message)
		if err != nil {
			return err
		}
		if err := step.Sleep(ctx, "overnight", time.Hour); err != nil {
			return err
		}
		var sums []int
		for range 2 {
			n, err := step.Signal[int](ctx, "paid", step.SignalOptions{})
			if err != nil {
				return err
			}
			sums = append(sums, n)
		}
		last, err := step.Do(ctx, "last", func(context.Context) (string, error) { return act("last") })
		s.Stream(fmt.Sprint(a.Value(), b.Value(), mapped, r.Text, sums, last))
		return err
	}
	store := memstore.New()
	process := func() (*ledger.Ledger, *coord.Coordinator) {
		l := open(t, store, &ledger.Options{Now: func() time.Time { return now }, Owner: "here"})
		return l, coordinator(t, l, w.fleet(t, "worker"), handler)
	}
	goesOn := func(c *coord.Coordinator, want posthouse.Status) *coord.Reply {
		t.Helper()
		r := must.Get(c.Resume(t.Context(), "t", nil))(t)
		if r.Status != want {
			t.Fatalf("%+v, want %s", r, want)
		}
		return r
	}
	signal := func(l *ledger.Ledger, value string) {
		t.Helper()
		must.Get(l.Signal(t.Context(), "t", posthouse.Signal{Name: "paid", Value: json.RawMessage(value)}))(t)
	}

	_, c := process()
	if _, err := c.Handle(t.Context(), "order", &coord.HandleOptions{Thread: "t"}); err == nil {
		t.Fatal("the failure of an item was lost")
	}
	broken = false
	l, c := process()
	goesOn(c, posthouse.StatusWaiting) // it sleeps
	signal(l, "40")                    // before anybody waits for it
	_, c = process()
	goesOn(c, posthouse.StatusWaiting)
	now = now.Add(time.Hour)
	l, c = process()
	goesOn(c, posthouse.StatusWaiting) // for the second signal
	signal(l, "2")
	_, c = process()
	if r := goesOn(c, posthouse.StatusDone); r.Text != "ab[map 1 map 2 map 3]worker did order[40 2]last" {
		t.Fatal(r.Text)
	}
	if got := fmt.Sprint(did, w.calls); got != "map[a:1 b:1 last:1 map 1:1 map 2:2 map 3:1] [worker]" {
		t.Fatal(got)
	}
}
