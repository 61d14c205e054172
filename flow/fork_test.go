package flow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/step"
)

// A fork after a step keeps the steps up to it and runs the rest again; the
// source stays as it is. On a branch and on a thread of its own.
func TestForkAfterEachStep(t *testing.T) {
	fn := func(w *world) flow.Func[string, string] {
		return func(ctx context.Context, in string) (string, error) {
			out := in
			for _, name := range []string{"a", "b", "c"} {
				v, err := w.do(ctx, name)
				if err != nil {
					return "", err
				}
				out += " " + v
			}
			return out, nil
		}
	}
	for node, want := range map[string]string{"": "in a2 b2 c2", "a": "in a1 b2 c2", "b": "in a1 b1 c2", "c": "in a1 b1 c1"} {
		for _, away := range []string{"", "other"} {
			w, ctx := newWorld(t), t.Context()
			a := app(w, fn(w), nil)
			first := must.Get(a.Run(ctx, "t", "in"))(t)
			o := flow.HistoryOptions{Node: node}
			if node == "" {
				o = flow.HistoryOptions{Kind: posthouse.KindInput}
			}
			at := must.Get(collect(a.History(ctx, "t", o)))(t)[0]
			f := must.Get(a.Fork(ctx, at.ID, nil, flow.ForkOptions{Thread: away, By: "bob"}))(t)
			if f.Source == nil || f.Source.ID != at.ID || f.Status != posthouse.StatusInterrupted {
				t.Fatalf("f.Header %+v", f.Header)
			}
			res, err := app(w, fn(w), nil).Resume(ctx, f.Thread, flow.RunOptions{Branch: f.Branch})
			if wantStatus(t, res, err, posthouse.StatusDone); res.Output != want {
				t.Fatalf("fork at %q: %q, want %q", node, res.Output, want)
			}
			if old := must.Get(a.Result(ctx, "t"))(t); old.Output != first.Output || old.Checkpoint != first.Checkpoint {
				t.Fatalf("the source changed: %+v", old)
			}
		}
	}
}

// A fork into a thread of its own after a sleep, and after a signal that did not
// come, keeps the steps too: in the order in which they and the waits were
// recorded.
func TestForkAfterWaitsIntoAThread(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	fn := func(ctx context.Context, in string) (string, error) {
		for _, name := range []string{"a", "b", "c"} {
			v, err := w.do(ctx, name)
			if err != nil {
				return "", err
			}
			in += " " + v
			if err := step.Sleep(ctx, "nap "+name, time.Hour); err != nil {
				return "", err
			}
			if _, err := step.Signal[string](ctx, "late "+name, step.SignalOptions{Timeout: time.Hour}); !errors.Is(err, posthouse.ErrExpired) {
				return "", err
			}
		}
		return in, nil
	}
	a := app(w, fn, nil)
	end := func(thread string) string {
		t.Helper()
		for {
			if res := must.Get(a.Resume(ctx, thread))(t); res.Status == posthouse.StatusDone {
				return res.Output
			}
			w.advance(time.Hour)
		}
	}
	must.Get(a.Run(ctx, "t", "in"))(t)
	if out := end("t"); out != "in a1 b1 c1" {
		t.Fatal(out)
	}
	must.Get(a.Copy(ctx, "t", "copy", nil))(t)
	for _, source := range []string{"t", "copy"} {
		at := must.Get(a.State(ctx, source, flow.StateOptions{Node: "c"}))(t)
		first := must.Get(a.Fork(ctx, at.ID, nil, flow.ForkOptions{Thread: source + "-fork"}))(t)
		again := must.Get(a.Fork(ctx, first.ID, nil, flow.ForkOptions{Thread: source + "-again"}))(t)
		for _, f := range []*flow.Snapshot[string, string]{first, again} {
			if out := end(f.Thread); out != "in a1 b1 c1" {
				t.Errorf("%s: output %q", f.Thread, out)
			}
		}
	}
}

func TestForkWithAnotherInput(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := app(w, order(w), nil)
	res := must.Get(a.Run(ctx, "t", "book"))(t)
	f := must.Get(a.Fork(ctx, res.Checkpoint, func(in *string) { *in = "lamp" }))(t)
	if f.Input != "lamp" {
		t.Fatalf("%+v", f)
	}
	if f.Status != posthouse.StatusInterrupted {
		t.Fatalf("a fork with another input offers the old question: %s", f.Status)
	}
	fork := must.Get(a.Resume(ctx, "t", flow.RunOptions{Branch: f.Branch}))(t)
	if len(fork.Waiting) != 1 || fork.Waiting[0].ID == res.Waiting[0].ID {
		t.Fatalf("a fork asks under an id of its own: %+v", fork.Waiting)
	}
	approve(t, w.ledger(), fork.Waiting[0].ID)
	out := must.Get(app(w, order(w), nil).Resume(ctx, "t", flow.RunOptions{Branch: f.Branch}))(t)
	if out.Output != "lamp charge1 ship1" {
		t.Fatal(out.Output)
	}
	w.want("[charge ship]")
	if s := must.Get(a.Result(ctx, "t"))(t); s.Status != posthouse.StatusWaiting {
		t.Fatal("the source went on")
	}
}

// A change that panics is the fork's error, and nothing of it is on record.
func TestPanicInAForksChangeIsAnError(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := app(w, order(w), nil)
	res := must.Get(a.Run(ctx, "t", "book"))(t)
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("it reached the caller: %v", v)
		}
	}()
	var e *engine.PanicError
	if _, err := a.Fork(ctx, res.Checkpoint, func(*string) { panic("boom") }); !errors.As(err, &e) {
		t.Fatal(err)
	}
	if info := must.Get(w.ledger().Thread(ctx, "t"))(t); len(info.Branches) != 1 {
		t.Fatalf("info.Branches %+v", info.Branches)
	}
}

// Replayed from its input a flow runs everything again, and asks again.
func TestReplay(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := app(w, order(w), nil)
	res := must.Get(a.Run(ctx, "t", "book"))(t)
	approve(t, w.ledger(), res.Waiting[0].ID)
	a = app(w, order(w), nil)
	must.Get(a.Resume(ctx, "t"))(t)
	in := must.Get(collect(a.History(ctx, "t", flow.HistoryOptions{Kind: posthouse.KindInput})))(t)[0]
	again, err := a.Replay(ctx, in.ID, flow.RunOptions{Branch: "second"})
	wantStatus(t, again, err, posthouse.StatusWaiting)
	if again.Branch != "second" || again.Waiting[0].ID == res.Waiting[0].ID {
		t.Fatalf("again %+v", again)
	}
	w.want("[charge ship charge]")
	_, err = a.Replay(ctx, "nobody")
	must.Fail(t, err, posthouse.ErrNotFound)
	other := must.Get(flow.New("other", order(w)).Open(w.ledger(), nil))(t)
	_, err = other.Replay(ctx, in.ID)
	must.Fail(t, err, posthouse.ErrInvalid)
}

// A fork at a step that was recorded while a question of the source was open asks
// that question again: the source's answer is not the fork's.
func TestForkAsksWhatItsSourceHadOpen(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	fn := func(ctx context.Context, _ int) (string, error) {
		a, errA := gate.Ask[struct{}](ctx, gate.Question{Name: "a"})
		b, errB := gate.Ask[struct{}](ctx, gate.Question{Name: "b"})
		if errB == nil {
			if _, err := w.do(ctx, "after b"); err != nil {
				return "", err
			}
		}
		if errA != nil {
			return "", errA
		}
		return string(a.Verdict) + string(b.Verdict), errB
	}
	res := must.Get(app(w, fn, nil).Run(ctx, "t", 1))(t)
	if len(res.Waiting) != 2 {
		t.Fatalf("res.Waiting %+v", res.Waiting)
	}
	approve(t, w.ledger(), res.Waiting[1].ID)
	a := app(w, fn, nil)
	wantOpen := must.Get(a.Resume(ctx, "t"))(t)
	if len(wantOpen.Waiting) != 1 || wantOpen.Waiting[0].ID != res.Waiting[0].ID {
		t.Fatalf("wantOpen.Waiting %+v", wantOpen.Waiting)
	}
	at := must.Get(a.State(ctx, "t", flow.StateOptions{Node: "after b"}))(t)
	fork, err := a.Replay(ctx, at.ID)
	wantStatus(t, fork, err, posthouse.StatusWaiting)
	if len(fork.Waiting) != 1 || fork.Waiting[0].ID == res.Waiting[0].ID || fork.Waiting[0].Branch != fork.Branch {
		t.Fatalf("fork.Waiting %+v", fork.Waiting)
	}
	w.want("[after b]")
	approve(t, w.ledger(), fork.Waiting[0].ID)
	done := must.Get(app(w, fn, nil).Resume(ctx, "t", flow.RunOptions{Branch: fork.Branch}))(t)
	if done.Output != "approveapprove" {
		t.Fatalf("done %+v", done)
	}
	if s := must.Get(a.Result(ctx, "t"))(t); s.Status != posthouse.StatusWaiting {
		t.Fatal("the source went on")
	}
}

// A released thread starts over, and its version stays readable.
func TestReleaseOfAFlow(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	fn := func(ctx context.Context, in string) (string, error) {
		_, ok, err := flow.Previous[string](ctx)
		if ok {
			return "", errBoom
		}
		v, e := w.do(ctx, "a")
		if e != nil {
			return "", e
		}
		return in + v, err
	}
	l := w.ledger()
	a := must.Get(flow.New("order", fn).Open(l, nil))(t)
	first := must.Get(a.Run(ctx, "t", "x"))(t)
	if _, err := l.Release(ctx, "t", nil); err != nil {
		t.Fatal(err)
	}
	_, err := a.Resume(ctx, "t")
	must.Fail(t, err, posthouse.ErrNotFound)
	second := must.Get(a.Run(ctx, "t", "y"))(t)
	if second.Output != "ya2" {
		t.Fatal(second.Output)
	}
	if c := must.Get(l.Get(ctx, first.Checkpoint))(t); string(c.State["output"].Data) != `"xa1"` {
		t.Fatalf("%s", c.State["output"].Data)
	}
}
