package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/worker"
)

// Notes of a handler are on record once: with its steps, and with the verdict of the attempt, which
// began when it was claimed. A handler that waits runs again, so its notes come with a later verdict.
func TestHandlersNote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{InitialDelay: time.Hour}}})
		s.work(s.d, "w1", func(w worker.Task) error {
			ctx := w.Context()
			if err := step.Note(ctx, posthouse.Note{Line: fmt.Sprint("try ", w.Attempt()), Input: json.RawMessage("9007199254740993")}); err != nil {
				return err
			}
			time.Sleep(time.Minute)
			_, err := step.Do(ctx, "plan", func(ctx context.Context) (int, error) {
				time.Sleep(time.Second)
				return 1, step.Note(ctx, posthouse.Note{Line: "plans"})
			})
			if err != nil {
				return err
			}
			if w.Attempt() == 1 {
				return errors.New("no route")
			}
			if _, err := gate.Ask[struct{}](ctx, gate.Question{Name: "ship", Text: "Ship it?"}); err != nil {
				return err
			}
			return w.Complete(1)
		})
		out := make(chan error, 1)
		go func() { _, err := s.outcome("t"); out <- err }()
		synctest.Wait()
		time.Sleep(2 * time.Hour)
		for g, err := range s.l.Gates(t.Context(), ledger.GateQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-out; err != nil {
			t.Fatal(err)
		}
		var got []string
		for e, err := range s.l.Log(t.Context(), "t", posthouse.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range e.Events {
				row, notes := "", ev.Notes
				switch {
				case ev.Step != nil && strings.HasSuffix(ev.Step.Name, "plan"):
					row = fmt.Sprintf("plan %s %d", ev.Step.Took, ev.Step.Attempts)
				case ev.Decision != nil && strings.HasPrefix(ev.Decision.By, "worker:"):
					row, notes = fmt.Sprintf("%s %s", ev.Decision.Verdict, ev.Decision.At.Sub(ev.Decision.BeganAt)), ev.Decision.Notes
				default:
					continue
				}
				for _, n := range notes {
					row += fmt.Sprintf(" | %s %s", n.Line, n.Input)
				}
				got = append(got, row)
			}
		}
		want := []string{
			"plan 1s 1 | plans %!s(<nil>)", "cancel 1m1s | try 1 9007199254740993", "edit 1m0s", "respond 1m0s | try 2 9007199254740993",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("on record is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
