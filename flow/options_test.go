package flow_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/step"
)

// A markedCodec is JSON with a mark before it.
type markedCodec struct{ posthouse.Codec }

func (markedCodec) Name() string { return "marked" }

func (c markedCodec) Marshal(v any) ([]byte, error) {
	data, err := c.Codec.Marshal(v)
	return append([]byte("!"), data...), err
}

func (c markedCodec) Unmarshal(data []byte, v any) error {
	rest, ok := bytes.CutPrefix(data, []byte("!"))
	if !ok {
		return errors.New("the mark is missing")
	}
	return c.Codec.Unmarshal(rest, v)
}

// TestCodecOfInputAndOutput: both are stored as Options.Codec says, and read so.
func TestCodecOfInputAndOutput(t *testing.T) {
	w := newWorld(t)
	a := app(w, func(_ context.Context, n int) (int, error) { return n + 1, nil }, &flow.Options{Codec: markedCodec{posthouse.JSON}})
	if out, err := a.Run(t.Context(), "t", 1); err != nil || out.Output != 2 {
		t.Fatalf("run: %+v, error %v", out, err)
	}
	for s, err := range a.History(t.Context(), "t") {
		if err != nil || s.Input != 1 {
			t.Errorf("snapshot: %+v, error %v", s, err)
		}
	}
	if _, err := app(w, func(_ context.Context, n int) (int, error) { return n, nil }, nil).State(t.Context(), "t"); err == nil {
		t.Error("a flow with another codec reads it")
	}
}

// TestRetryOnOfAllSteps: a step without a rule of its own is tried again where the flow's says so.
func TestRetryOnOfAllSteps(t *testing.T) {
	for want, on := range map[int]func(error) bool{1: func(error) bool { return false }, 3: func(err error) bool { return errors.Is(err, errBoom) }} {
		w, tries := newWorld(t), 0
		f := func(ctx context.Context, _ int) (int, error) {
			return step.Do(ctx, "a", func(context.Context) (int, error) { tries++; return 0, errBoom })
		}
		_, err := app(w, f, &flow.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}, RetryOn: on}).Run(t.Context(), "t", 0)
		if !errors.Is(err, errBoom) || tries != want {
			t.Errorf("%d tries, want %d: %v", tries, want, err)
		}
	}
}

// TestHistoryAfterASnapshot goes on where a page ended.
func TestHistoryAfterASnapshot(t *testing.T) {
	w := newWorld(t)
	a := app(w, func(ctx context.Context, n int) (int, error) {
		return step.Do(ctx, "look", func(context.Context) (int, error) { return n, nil })
	}, nil)
	if _, err := a.Run(t.Context(), "t", 1); err != nil {
		t.Fatal(err)
	}
	all, err := collect(a.History(t.Context(), "t"))
	if err != nil || len(all) < 2 {
		t.Fatalf("%d snapshots, error %v", len(all), err)
	}
	rest, err := collect(a.History(t.Context(), "t", flow.HistoryOptions{After: all[0].Cursor()}))
	if err != nil || len(rest) != len(all)-1 || rest[0].ID != all[1].ID {
		t.Errorf("after the first there are %d of %d snapshots, error %v", len(rest), len(all), err)
	}
}
