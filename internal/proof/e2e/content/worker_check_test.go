package content_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
)

// A mandate is what ActOptions.Check asks about.
type mandate struct {
	revoked bool
	asked   int
}

func (m *mandate) check(context.Context, *posthouse.Gate) error {
	m.asked++
	if m.revoked {
		return errors.New("the mandate was revoked")
	}
	return nil
}

// paysUnder is paysAtWorker while a mandate lasts. With reserve, the effect has another part
// before.
func (m *mandate) paysUnder(h *house, reserve bool) *flow.App[int, string] {
	return must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{"bob", amount})
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "pay", grant, func(ctx context.Context, t bankTransfer) (string, error) {
			if reserve {
				if _, err := step.Do(ctx, "reserve", func(context.Context) (int, error) { return t.Amount, nil }); err != nil {
					return "", err
				}
			}
			return step.RemoteWith[string](ctx, "pay", "pay", t, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: time.Millisecond}}})
		}, gate.ActOptions[bankTransfer, string]{Check: m.check})
	}).Open(h.ledger, nil))(h)
}

// wants has the worker ask for a task while the program is run beside, and returns the task.
func (k *desk) wants(app *flow.App[int, string]) *task.Claim {
	k.Helper()
	for range 4 {
		if c := must(k.d.Claim(k.Context(), k.session))(k.house); c != nil {
			return c
		}
		must(app.Resume(k.Context(), "t"))(k.house)
	}
	return nil
}

// Check is asked when a worker wants the task, also long after it was handed out.
func TestCheckIsAskedBeforeAWorkerHasTheTask(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		for _, reserve := range []bool{false, true} {
			t.Run(fmt.Sprint("resumed=", resumed, ",reserve=", reserve), func(t *testing.T) {
				onStores(t, func(h *house) {
					var m mandate
					app := m.paysUnder(h, reserve)
					approvedAtWorker(h, app)
					m.revoked = true
					if resumed {
						must(app.Resume(h.Context(), "t"))(h)
					}
					k := h.desk()
					defer k.stop()
					if c := k.claim(); c != nil {
						h.Fatalf("a worker has it: %+v", c.ID)
					}
					if _, err := app.Resume(h.Context(), "t"); reserve == (err == nil) {
						h.Fatal(err)
					}
					if reserve { // its function has begun, and fails
						must(app.Resume(h.Context(), "t"))(h)
					}
					again := h.only("t")
					if again.Note != "asked again: the mandate was revoked" {
						h.Errorf("again %+v", again)
					}
					m.revoked = false
					h.decide(again.ID, posthouse.Approve, "alice")
					c := k.wants(app)
					if c == nil || c.Grant != again.ID || c.Attempt != 1 {
						h.Fatalf("%+v", c)
					}
				})
			})
		}
	}
}

// A task is handed out if its check holds; it goes on where it was in its attempts, and the check
// is no attempt.
func TestCheckedTasksKeepTheirAttempts(t *testing.T) {
	for _, reserve := range []bool{false, true} {
		onStores(t, func(h *house) {
			var m mandate
			app := m.paysUnder(h, reserve)
			grant, _ := approvedAtWorker(h, app)
			k := h.desk()
			defer k.stop()
			before := m.asked
			first := k.wants(app)
			if first == nil || first.Attempt != 1 || m.asked == before {
				h.Fatalf("%+v, asked %d times and %d before", first, m.asked, before)
			}
			if err := k.d.Resolve(h.Context(), first.ID, task.Verdict{Action: task.Fail, Reason: "no route", NotDone: true}); err != nil {
				h.Fatal(err)
			}
			h.now = h.now.Add(time.Hour)
			k.connect()
			second := k.wants(app)
			if second == nil || second.Attempt != 2 || second.Key != first.Key || second.Call != first.Call || second.Failure != "no route" {
				h.Fatalf("%+v, the first was %+v", second, first)
			}
			if err := k.d.Resolve(h.Context(), second.ID, task.Verdict{Action: task.Complete, Output: []byte(`"paid"`)}); err != nil {
				h.Fatal(err)
			}
			if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "paid" {
				h.Errorf("result %+v", res)
			}
			h.grantIs(grant, grants.Executed)
		})
	}
}

// A worker that comes a lease after the check, has it asked again.
func TestCheckIsOfThisMinute(t *testing.T) {
	onStores(t, func(h *house) {
		var m mandate
		app := m.paysUnder(h, false)
		approvedAtWorker(h, app)
		k := h.desk()
		defer k.stop()
		if c := must(k.d.Claim(h.Context(), k.session))(h); c != nil {
			h.Fatal("nobody was asked")
		}
		must(app.Resume(h.Context(), "t"))(h)
		h.now = h.now.Add(time.Hour)
		k.connect()
		m.revoked = true
		if c := k.wants(app); c != nil {
			h.Fatalf("the check was an hour ago: %+v", c)
		}
		if q := h.only("t"); q.Note == "" {
			h.Errorf("%+v", q)
		}
	})
}
