package step_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A host runs a function as a node does, as often as it is told to.
type host struct {
	t testing.TB
	l *ledger.Ledger
}

func newHost(t testing.TB) *host {
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t, l}
	s := h.begin()
	if _, err := s.Commit(context.Background(), &ledger.Draft{Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}}); err != nil {
		t.Fatal(err)
	}
	if err := s.End(context.Background()); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *host) begin() *session.Session {
	s, err := session.Begin(context.Background(), h.l, session.Options{Thread: "order-1"})
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *host) run(fn func(context.Context) error) error {
	ctx := context.Background()
	s := h.begin()
	defer func() {
		if err := s.End(ctx); err != nil {
			h.t.Error(err)
		}
	}()
	task, err := engine.TaskWithKey(ctx, s, s.Key("work"), false)
	if err != nil {
		h.t.Fatal(err)
	}
	return fn(task.With(ctx))
}

type message struct {
	Text   string            `json:"text"`
	Meta   map[string]string `json:"meta,omitempty"`
	hidden int
}

// The first execution and the replay see the same value: the decoded one.
func TestSameValueBothTimes(t *testing.T) {
	h := newHost(t)
	ran := 0
	for range 3 {
		err := h.run(func(ctx context.Context) error {
			m, err := step.Do(ctx, "llm", func(context.Context) (*message, error) {
				ran++
				return &message{Text: "hi", hidden: 7}, nil
			})
			if err == nil && (m.Text != "hi" || m.hidden != 0) {
				t.Errorf("got %+v", m)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if ran != 1 {
		t.Fatalf("ran %d times", ran)
	}
}

func TestNilAndEmptyResults(t *testing.T) {
	h := newHost(t)
	ran := 0
	for range 2 {
		err := h.run(func(ctx context.Context) error {
			p, err := step.Do(ctx, "nil", func(context.Context) (*message, error) { ran++; return nil, nil })
			if err != nil || p != nil {
				t.Error(p, err)
			}
			e, err := step.Do(ctx, "empty", func(context.Context) (struct{}, error) { ran++; return struct{}{}, nil })
			if err != nil || e != struct{}{} {
				t.Error(e, err)
			}
			b, err := step.DoWith(ctx, "raw", step.Options{Codec: posthouse.Raw, Effect: posthouse.EffectRead},
				func(context.Context) ([]byte, error) { ran++; return nil, nil })
			if err != nil || len(b) != 0 {
				t.Error(b, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if ran != 3 {
		t.Fatalf("ran %d times", ran)
	}
}

func TestErrorsAreNotRecorded(t *testing.T) {
	h := newHost(t)
	boom := errors.New("boom")
	ran := 0
	for i := range 3 {
		err := h.run(func(ctx context.Context) error {
			_, err := step.Do(ctx, "pay", func(context.Context) (int, error) {
				if ran++; ran == 1 {
					return 1, boom
				}
				return 2, nil
			})
			return err
		})
		if (i == 0) != errors.Is(err, boom) || i > 0 && err != nil {
			t.Fatal(i, err)
		}
	}
	if ran != 2 {
		t.Fatalf("ran %d times", ran)
	}
}

// TestEffects: whatever its class, what succeeded is replayed and what failed is
// not, and the class is on record with the result.
func TestEffects(t *testing.T) {
	boom := errors.New("boom")
	for name, effect := range map[string]posthouse.Effect{
		"unset": posthouse.EffectUnset, "pure": posthouse.EffectPure, "read": posthouse.EffectRead,
		"write": posthouse.EffectWrite, "external": posthouse.EffectExternal, "human": posthouse.EffectHuman,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			ran := 0
			for i := range 4 {
				got := 0
				err := h.run(func(ctx context.Context) (err error) {
					got, err = step.DoWith(ctx, "act", step.Options{Effect: effect}, func(context.Context) (int, error) {
						if ran++; ran < 3 {
							return 0, boom
						}
						return ran, nil
					})
					return err
				})
				if i < 2 && !errors.Is(err, boom) || i >= 2 && (err != nil || got != 3) {
					t.Fatalf("run %d: %d, %v", i, got, err)
				}
			}
			if ran != 3 {
				t.Errorf("ran %d times", ran)
			}
			recorded := 0
			for e, err := range h.l.Log(t.Context(), "order-1", posthouse.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range e.Records {
					if r.Step != nil {
						if recorded++; r.Step.Effect != effect || r.Step.Name != "act" {
							t.Errorf("on record is %+v", r.Step)
						}
					}
				}
			}
			if recorded != 1 {
				t.Errorf("%d results on record", recorded)
			}
		})
	}
}

func TestBadUse(t *testing.T) {
	ctx := context.Background()
	_, err := step.Do(ctx, "llm", func(context.Context) (int, error) { return 1, nil })
	if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "below a node") {
		t.Fatal(err)
	}
	if step.Key(ctx) != "" {
		t.Fatal(step.Key(ctx))
	}
	h := newHost(t)
	err = h.run(func(ctx context.Context) error {
		if _, err := step.Do[int](ctx, "llm", nil); !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
		if _, err := step.Do(ctx, "", func(context.Context) (int, error) { return 1, nil }); !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
		if _, err := step.Do(ctx, "nan", func(context.Context) (float64, error) { return math.NaN(), nil }); !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
		if _, err := step.Do(ctx, "utf8", func(context.Context) (string, error) { return "\xff", nil }); !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A result that its type or codec no longer fits is an error that says so, and
// not a zero value.
func TestChangedTypeOrCodec(t *testing.T) {
	h := newHost(t)
	do := func(fn func(ctx context.Context) error) error { return h.run(fn) }
	if err := do(func(ctx context.Context) error {
		_, err := step.DoWith(ctx, "a", step.Options{Codec: odd{}}, func(context.Context) (string, error) { return "x", nil })
		return err
	}); err != nil {
		t.Fatal(err)
	}
	err := do(func(ctx context.Context) error {
		_, err := step.Do(ctx, "a", func(context.Context) (string, error) { return "x", nil })
		return err
	})
	if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "odd") {
		t.Fatal(err)
	}
}

type odd struct{}

func (odd) Name() string                       { return "odd" }
func (odd) Marshal(v any) ([]byte, error)      { return []byte(v.(string)), nil }
func (odd) Unmarshal(data []byte, v any) error { *v.(*string) = string(data); return nil }

func TestKey(t *testing.T) {
	h := newHost(t)
	var keys []string
	for range 2 {
		err := h.run(func(ctx context.Context) error {
			for range 2 {
				_, err := step.Do(ctx, "pay", func(ctx context.Context) (int, error) {
					keys = append(keys, step.Key(ctx))
					if len(keys) == 2 {
						return 0, errors.New("once")
					}
					return 1, nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if (err != nil) != (len(keys) == 2) {
			t.Fatal(err)
		}
	}
	if len(keys) != 3 || keys[0] == keys[1] || keys[1] != keys[2] || !strings.HasPrefix(keys[0], "order-1/") || !strings.HasSuffix(keys[1], "/work/pay/1") {
		t.Fatal(keys)
	}
}

// TestKeyOfANewGeneration: a released thread acts again under its name.
func TestKeyOfANewGeneration(t *testing.T) {
	h := newHost(t)
	var keys []string
	for range 3 {
		if err := h.run(func(ctx context.Context) error {
			_, err := step.Do(ctx, "pay", func(ctx context.Context) (int, error) {
				keys = append(keys, step.Key(ctx))
				return 1, nil
			})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.l.Release(t.Context(), "order-1", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := h.l.Save(t.Context(), posthouse.Root("order-1", nil), nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys) != 3 || !strings.HasPrefix(keys[0], "order-1/") || !strings.HasPrefix(keys[1], "order-1@2/") || !strings.HasPrefix(keys[2], "order-1@3/") {
		t.Fatal(keys)
	}
}

func TestUnordered(t *testing.T) {
	h := newHost(t)
	for range 2 {
		err := h.run(func(ctx context.Context) error {
			ctx = step.Unordered(ctx)
			var wg sync.WaitGroup
			for _, n := range []string{"a", "b", "c"} {
				wg.Go(func() {
					if v, err := step.Do(ctx, n, func(context.Context) (string, error) { return n, nil }); err != nil || v != n {
						t.Error(v, err)
					}
				})
			}
			wg.Wait()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRenamedResultsAreRefused reads a result that an earlier version of the program recorded
// under other names, in a step, in a group, and with a conversion.
func TestRenamedResultsAreRefused(t *testing.T) {
	type old struct{ Lines []struct{ Amount int } }
	type now struct{ Lines []struct{ Cents int } }
	h := newHost(t)
	record := func(ctx context.Context) error {
		_, err := step.Do(ctx, "price", func(context.Context) (old, error) { return old{[]struct{ Amount int }{{500}}}, nil })
		return err
	}
	if err := h.run(func(ctx context.Context) error { return errors.Join(record(ctx), posthouse.ErrWaiting) }); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal(err)
	}
	again := func(context.Context) (now, error) { t.Error("the step ran again"); return now{}, nil }
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "Amount") {
			t.Errorf("error %v", err)
		}
	}
	_ = h.run(func(ctx context.Context) error { _, err := step.Do(ctx, "price", again); refused(err); return err })
	_ = h.run(func(ctx context.Context) error {
		g := step.NewGroup(ctx, nil)
		step.Go(g, "price", again)
		err := g.Wait()
		refused(err)
		return err
	})
	_ = h.run(func(ctx context.Context) error {
		v, err := step.DoWith(ctx, "price", step.Options{Convert: func(v posthouse.Value) (posthouse.Value, error) {
			v.Data = []byte(strings.ReplaceAll(string(v.Data), "Amount", "Cents"))
			return v, nil
		}}, again)
		if err != nil || v.Lines[0].Cents != 500 {
			t.Errorf("%+v, %v", v, err)
		}
		return posthouse.ErrWaiting
	})
}
