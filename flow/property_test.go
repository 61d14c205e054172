package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
)

// A faulty lets effects fail at chosen places of a pass: before they happen.
type faulty struct {
	*world
	mu    sync.Mutex
	at    int // how many effects of this pass succeed before one fails; negative: none fails
	fails bool
}

func (f *faulty) try(name string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at == 0 {
		f.at, f.fails = -1, true
		return "", errBoom
	}
	f.at--
	f.effect(name)
	return name, nil
}

// perform runs one operation of a random program and returns what it adds to
// the output.
func (f *faulty) perform(ctx context.Context, op string, place int) (string, error) {
	name := fmt.Sprint(op, place)
	do := func(ctx context.Context, name string) (string, error) {
		return step.Do(ctx, name, func(context.Context) (string, error) { return f.try(name) })
	}
	asked := func(ctx context.Context, name string) (string, error) {
		a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "q"})
		if err != nil {
			return "", err
		}
		v, err := do(ctx, name)
		return v + string(a.Verdict), err
	}
	switch op {
	case "do":
		return do(ctx, name)
	case "same":
		return step.Do(ctx, "same", func(context.Context) (string, error) { return f.try(name) })
	case "ask":
		return asked(ctx, name)
	case "sleep":
		return "", step.Sleep(ctx, "nap", time.Hour)
	case "signal":
		return step.Signal[string](ctx, "s", step.SignalOptions{})
	case "survive": // goes on past a failure
		v, err := do(ctx, name)
		if err == nil || errors.Is(err, errBoom) {
			return name, nil
		}
		return v, err
	case "retry":
		return step.DoWith(ctx, name, step.Options{Retry: step.Retry{Max: 3, Delay: time.Minute}}, func(ctx context.Context) (string, error) {
			if _, err := do(ctx, name+"-first"); err != nil {
				return "", err
			}
			return f.try(name + "-second")
		})
	}
	list, err := step.Map(ctx, "map", []string{"x", "y", "z"}, func(ctx context.Context, item string) (string, error) {
		switch op {
		case "map":
			return f.try(name + item)
		case "map-nested":
			return do(ctx, name+item)
		default: // map-ask
			return asked(ctx, name+item)
		}
	}, step.GroupOptions{Limit: 2})
	return strings.Join(list, ","), err
}

// TestRandomFlows: whatever fails and whenever its process is another one, a
// flow ends as it would have without that, and does each thing once.
func TestRandomFlows(t *testing.T) {
	ops := []string{"do", "same", "ask", "sleep", "signal", "survive", "retry", "map", "map-nested", "map-ask"}
	rapid.Check(t, func(rt *rapid.T) {
		program := rapid.SliceOfN(rapid.SampledFrom(ops), 1, 8).Draw(rt, "program")
		faults := rapid.SliceOfN(rapid.IntRange(0, 12), 0, 6).Draw(rt, "faults")
		few := rapid.Bool().Draw(rt, "few")
		want, _ := runProgram(rt, t, program, nil, few)
		got, w := runProgram(rt, t, program, faults, few)
		if got != want {
			rt.Fatalf("output %q, without faults %q", got, want)
		}
		for name, n := range w.did {
			if n != 1 {
				rt.Fatalf("%s happened %d times", name, n)
			}
		}
	})
}

func runProgram(rt *rapid.T, t *testing.T, program []string, faults []int, few bool) (string, *world) {
	w := newWorld(t)
	f := &faulty{world: w, at: -1}
	fl := flow.New("order", func(ctx context.Context, _ int) (string, error) {
		var out []string
		for i, op := range program {
			v, err := f.perform(ctx, op, i)
			if err != nil {
				return "", err
			}
			out = append(out, v)
		}
		return strings.Join(out, " "), nil
	})
	ctx, signals := t.Context(), 0
	for pass := 0; pass < 200; pass++ {
		f.at = -1
		if pass < len(faults) {
			f.at = faults[pass]
		}
		l := w.ledger() // another process
		a := must(fl.Open(l, &flow.Options{FewCheckpoints: few, HoldFor: -1}))(t)
		res, err := a.Run(ctx, "t", 1, flow.RunOptions{Run: "r"})
		switch {
		case errors.Is(err, errBoom):
			continue
		case err != nil:
			rt.Fatalf("pass %d: %v", pass, err)
		case res.Status == posthouse.StatusDone:
			return res.Output, w
		case res.Status != posthouse.StatusWaiting || len(res.Waiting) == 0:
			rt.Fatalf("pass %d: %+v", pass, res)
		}
		switch g := res.Waiting[pass%len(res.Waiting)]; g.Kind {
		case posthouse.GateTimer:
			w.advance(g.ExpiresAt.Sub(w.clock()))
		case posthouse.GateSignal:
			signals++
			must(l.Signal(ctx, "t", posthouse.Signal{Name: "s", Value: fmt.Appendf(nil, `"s%d"`, signals)}))(t)
		default:
			approve(t, l, g.ID)
		}
		if err := l.Close(); err != nil {
			rt.Fatal(err)
		}
	}
	rt.Fatal("it does not end")
	return "", nil
}
