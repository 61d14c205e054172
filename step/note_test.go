package step_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// told lists what the log of a thread tells of steps and checkpoints: how long they took, their
// attempts, the error before and the lines of their notes.
func told(t *testing.T, l *ledger.Ledger, thread string) (all []string) {
	t.Helper()
	for e, err := range l.Log(t.Context(), thread, posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range e.Events {
			var what string
			switch {
			case ev.Step != nil:
				what = fmt.Sprint(ev.Step.Name, " ", ev.Step.Took, " ", ev.Step.Attempts)
				if ev.Step.Took > 0 && !ev.Step.Began.Equal(e.At.Add(-ev.Step.Took)) {
					t.Errorf("step %s began at %s and took %s until %s", ev.Step.Name, ev.Step.Began, ev.Step.Took, e.At)
				}
			case ev.Checkpoint != nil:
				what = fmt.Sprint(ev.Checkpoint.Kind, " ", ev.Checkpoint.Took, " ", ev.Checkpoint.Attempts)
			default:
				continue
			}
			if ev.LastError != "" {
				what += " after " + ev.LastError
			}
			for _, n := range ev.Notes {
				what += " | " + n.Line
			}
			all = append(all, what)
		}
	}
	return all
}

func wantTold(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("on record is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func openLedger(t *testing.T) *ledger.Ledger {
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

type nothing struct{ Done bool }

func oneNode(t *testing.T, l *ledger.Ledger, o graph.NodeOptions, fn func(context.Context) error) *graph.App[nothing] {
	g := graph.New[nothing]("g")
	g.Node("n", func(ctx context.Context, s *nothing) error { return fn(ctx) }, o)
	g.Edge(graph.Start, "n")
	g.Edge("n", graph.End)
	app, err := g.Compile(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// Each attempt of a step is on record with what it took, what it noted and why the one before
// failed; the node says how long all of it took.
func TestAStepTellsItsStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openLedger(t)
		app := oneNode(t, l, graph.NodeOptions{}, func(ctx context.Context) error {
			tries := 0
			_, err := step.DoWith(ctx, "ask", step.Options{Retry: atOnce}, func(ctx context.Context) (string, error) {
				tries++
				time.Sleep(time.Duration(tries) * time.Second)
				if err := step.Note(ctx, posthouse.Note{Line: fmt.Sprint("try ", tries)}); err != nil {
					return "", err
				}
				if tries < 3 {
					return "", fmt.Errorf("boom %d", tries)
				}
				return "done", nil
			})
			return err
		})
		if _, err := app.Run(t.Context(), "t", nothing{}); err != nil {
			t.Fatal(err)
		}
		wantTold(t, told(t, l, "t"),
			"input 0s 0", "ask>$attempt 1s 1 after boom 1 | try 1", "ask>$attempt 2s 2 after boom 2 | try 2", "ask 3s 3 after boom 2 | try 3", "node 6s 1")
	})
}

// The attempts of a node are told as those of a step, and the failure that ends a run is too.
func TestANodeTellsItsStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openLedger(t)
		tries := 0
		app := oneNode(t, l, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: -1}}, func(ctx context.Context) error {
			tries++
			time.Sleep(time.Second)
			if err := step.Note(ctx, posthouse.Note{Line: fmt.Sprint("try ", tries)}); err != nil {
				return err
			}
			if tries < 4 {
				return fmt.Errorf("boom %d", tries)
			}
			return nil
		})
		if _, err := app.Run(t.Context(), "t", nothing{}); err == nil {
			t.Fatal("it did not fail")
		}
		if _, err := app.Resume(t.Context(), "t"); err == nil {
			t.Fatal("it did not fail again")
		}
		if _, err := app.Resume(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		wantTold(t, told(t, l, "t"), "input 0s 0",
			"$note 0s 0 | try 1", "$attempt 1s 1 after boom 1", "$note 0s 0 | try 2", "fail 1s 2 after boom 1",
			"$note 0s 0 | try 3", "fail 1s 2 after boom 1", "$note 0s 0 | try 4", "node 1s 2 after boom 1")
	})
}

// Notes of a node outside of its steps are on record once, however often it is executed again.
func TestReplaysNoteOnce(t *testing.T) {
	l := openLedger(t)
	app := oneNode(t, l, graph.NodeOptions{}, func(ctx context.Context) error {
		note := func(line string) error { return step.Note(ctx, posthouse.Note{Line: line}) }
		if err := note("before"); err != nil {
			return err
		}
		_, err := step.Do(ctx, "a", func(ctx context.Context) (int, error) { return 1, step.Note(ctx, posthouse.Note{Line: "in a"}) })
		if err != nil {
			return err
		}
		for _, name := range []string{"first", "second"} {
			if err := note("asks " + name); err != nil {
				return err
			}
			if _, err := gate.Ask[json.RawMessage](ctx, gate.Question{Name: name, Text: "Go on?"}); err != nil {
				return err
			}
		}
		return note("after")
	})
	out, err := app.Run(t.Context(), "t", nothing{})
	for range 2 {
		if err != nil || len(out.Waiting) != 1 {
			t.Fatalf("%v, %+v", err, out)
		}
		if _, err := app.Resume(t.Context(), "t"); err != nil { // nothing has come
			t.Fatal(err)
		}
		if _, err := l.Decide(t.Context(), out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
			t.Fatal(err)
		}
		out, err = app.Resume(t.Context(), "t")
	}
	if err != nil || out.Status != posthouse.StatusDone {
		t.Fatalf("%v, %+v", err, out)
	}
	lines := map[string]int{}
	for _, row := range told(t, l, "t") {
		for _, line := range strings.Split(row, " | ")[1:] {
			lines[line]++
		}
	}
	if fmt.Sprint(lines) != "map[after:1 asks first:1 asks second:1 before:1 in a:1]" {
		t.Errorf("on record are %v", lines)
	}
}

// A step that fails for good leaves what it noted with the failure of the run.
func TestNotesOfAFailureStay(t *testing.T) {
	l := openLedger(t)
	app := oneNode(t, l, graph.NodeOptions{}, func(ctx context.Context) error {
		_, err := step.Do(ctx, "a", func(ctx context.Context) (int, error) {
			return 0, errors.Join(step.Note(ctx, posthouse.Note{Line: "called m-1"}), errBoom)
		})
		return err
	})
	if _, err := app.Run(t.Context(), "t", nothing{}); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	got := told(t, l, "t")
	if !strings.HasPrefix(got[1], "a>$note ") || !strings.HasSuffix(got[1], "after boom | called m-1") {
		t.Errorf("on record is %q", got)
	}
}

// Notes come back as they were given, and what cannot be on record is refused by name.
func TestHostileNotes(t *testing.T) {
	h := newHost(t)
	given := posthouse.Note{
		Line: "line\x1b[31m one\n\u202e<b>&", Model: "m", Cost: "0.10 \u20ac", InputTokens: math.MaxInt64, OutputTokens: 1,
		Input: json.RawMessage(`{"account": 9007199254740993, "a":"<&>"}`), Values: map[string]any{"t": 0.25, "<": json.RawMessage(`1e400`)},
	}
	var refused []string
	note := func(ctx context.Context, n posthouse.Note) {
		var e *posthouse.Error
		if err := step.Note(ctx, n); !errors.As(err, &e) {
			refused = append(refused, fmt.Sprint(err))
		} else {
			refused = append(refused, string(e.Code)+" "+e.Field)
		}
	}
	var late context.Context
	err := h.run(func(ctx context.Context) error {
		_, err := step.Do(ctx, "a", func(ctx context.Context) (int, error) {
			late = ctx
			note(ctx, given)
			note(ctx, posthouse.Note{})
			note(ctx, posthouse.Note{Line: "a\xff"})
			note(ctx, posthouse.Note{Line: strings.Repeat("x", posthouse.MaxLine+1)})
			note(ctx, posthouse.Note{Model: strings.Repeat("x", posthouse.MaxID+1)})
			note(ctx, posthouse.Note{Input: math.NaN()})
			note(ctx, posthouse.Note{Input: func() {}})
			note(ctx, posthouse.Note{Input: "a\xff"})
			note(ctx, posthouse.Note{Input: strings.Repeat("x", posthouse.MaxNotesSize)})
			note(ctx, posthouse.Note{Values: map[string]any{"": 1}})
			note(ctx, posthouse.Note{InputTokens: -1})
			note(ctx, posthouse.Note{Input: strings.Repeat("x", posthouse.MaxNotesSize-100)})
			for range posthouse.MaxNotes {
				note(ctx, posthouse.Note{Line: "x"})
			}
			return 1, nil
		})
		note(late, posthouse.Note{Line: "late"})
		note(context.Background(), posthouse.Note{Line: "nowhere"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"<nil>", "invalid note", "invalid line", "too-large line", "too-large model", "invalid input", "invalid input", "invalid input", "too-large note",
		"invalid values", "invalid tokens", "too-large notes",
	}
	for range posthouse.MaxNotes - 1 {
		want = append(want, "<nil>")
	}
	wantTold(t, refused, append(want, "too-large notes", "closed ", "invalid context")...)
	for e, err := range h.l.Log(t.Context(), "order-1", posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range e.Events {
			if ev.Step == nil {
				continue
			}
			if len(ev.Notes) != posthouse.MaxNotes {
				t.Fatalf("%d notes are on record, want %d", len(ev.Notes), posthouse.MaxNotes)
			}
			n := ev.Notes[0]
			if n.Line != given.Line || n.Cost != given.Cost || n.InputTokens != given.InputTokens || fmt.Sprintf("%s", n.Input) != `{"account":9007199254740993,"a":"\u003c\u0026\u003e"}` ||
				fmt.Sprintf("%s %s", n.Values["t"], n.Values["<"]) != "0.25 1e400" {
				t.Errorf("it comes back as %+v, %s, %s", n, n.Input, n.Values)
			}
		}
	}
}
