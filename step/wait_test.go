package step_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/step"
)

type approval struct {
	Amount int `json:"amount"`
}

// TestSignalIsTyped, in the first execution and in every other.
func TestSignalIsTyped(t *testing.T) {
	h := newHost(t)
	signal := func(value string) {
		t.Helper()
		if _, err := h.l.Signal(context.Background(), "order-1", posthouse.Signal{Name: "paid", Value: json.RawMessage(value)}); err != nil {
			t.Fatal(err)
		}
	}
	signal(`{"amount":12}`)
	signal(`"a word"`)
	for range 2 {
		err := h.run(func(ctx context.Context) error {
			a, err := step.Signal[approval](ctx, "paid", step.SignalOptions{})
			if err != nil || a.Amount != 12 {
				t.Errorf("%+v, %v", a, err)
			}
			newest, err := step.Signal[string](ctx, "paid", step.SignalOptions{Latch: true})
			if err != nil || newest != "a word" {
				t.Errorf("newest %q, error %v", newest, err)
			}
			_, err = step.Signal[int](ctx, "paid", step.SignalOptions{})
			return err
		})
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != "value" {
			t.Errorf("a word as a number: %v", err)
		}
	}
}

// TestWaitsThatAreRefused: before anything is recorded.
func TestWaitsThatAreRefused(t *testing.T) {
	for name, wait := range map[string]func(context.Context, string) error{
		"sleep": func(ctx context.Context, n string) error { return step.Sleep(ctx, n, time.Hour) },
		"until": func(ctx context.Context, n string) error { return step.Until(ctx, n, time.Now().Add(time.Hour)) },
		"signal": func(ctx context.Context, n string) error {
			_, err := step.Signal[any](ctx, n, step.SignalOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := wait(context.Background(), "x"); !errors.Is(err, posthouse.ErrInvalid) {
				t.Errorf("outside a task: %v", err)
			}
			h := newHost(t)
			for _, n := range []string{"", "a>b", "a\nb", "\xff", strings.Repeat("n", 200)} {
				if err := h.run(func(ctx context.Context) error { return wait(ctx, n) }); !errors.Is(err, posthouse.ErrInvalid) {
					t.Errorf("name %.10q: %v", n, err)
				}
			}
			if err := h.run(func(ctx context.Context) error { return wait(ctx, "fine") }); !errors.Is(err, posthouse.ErrWaiting) {
				t.Errorf("a good one: %v", err)
			}
		})
	}
	h := newHost(t)
	for _, d := range []time.Duration{-1, math.MaxInt64} {
		err := h.run(func(ctx context.Context) error {
			_, err := step.Signal[any](ctx, "x", step.SignalOptions{Timeout: d})
			return err
		})
		if !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("timeout %v: %v", d, err)
		}
	}
	if err := h.run(func(ctx context.Context) error { return step.Sleep(ctx, "x", -time.Hour) }); err != nil {
		t.Errorf("a sleep of less than nothing: %v", err)
	}
}

// TestSignalsAsInDagnats: a latched wait returns at once what is already there,
// any number of times, the newest of several; anybody may send, also before the
// run is there; a wait without an answer ends with its timeout. The queue is
// ours: each value is taken once.
func TestSignalsAsInDagnats(t *testing.T) {
	ctx := context.Background()
	h := newHost(t)
	send := func(name, value string) {
		t.Helper()
		if _, err := h.l.Signal(ctx, "order-1", posthouse.Signal{Name: name, Value: json.RawMessage(value)}); err != nil {
			t.Fatal(err)
		}
	}
	send("limit", "10")
	send("limit", "20")
	var read, taken []int
	program := func(ctx context.Context) error {
		read, taken = nil, nil
		for range 2 {
			v, err := step.Signal[int](ctx, "limit", step.SignalOptions{Latch: true})
			if err != nil {
				return err
			}
			read = append(read, v)
		}
		for {
			v, err := step.Signal[int](ctx, "limit", step.SignalOptions{Timeout: time.Millisecond})
			if err != nil {
				return err
			}
			taken = append(taken, v)
		}
	}
	for range 2 {
		if err := h.run(program); !errors.Is(err, posthouse.ErrWaiting) {
			t.Fatal(err)
		}
		if !slices.Equal(read, []int{20, 20}) || !slices.Equal(taken, []int{10, 20}) {
			t.Errorf("read %v, took %v", read, taken)
		}
	}
	other := posthouse.Signal{Name: "limit", Early: true}
	if _, err := h.l.Signal(ctx, "no run of this name\nyet", other); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a name that no thread can have: %v", err)
	}
	if _, err := h.l.Signal(ctx, "not-yet", other); err != nil {
		t.Error(err)
	}
}
