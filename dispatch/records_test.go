package dispatch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// within returns what begins the names of a claim's records.
func (h *host) within(c *task.Claim) string {
	h.Helper()
	have, err := h.d.Records(h.Context(), c.ID, "")
	if err != nil {
		h.Fatal(err)
	}
	return have.Within
}

// record records a step with a result of so many bytes.
func (h *host) record(c *task.Claim, within, name string, size int) error {
	h.Helper()
	value := slices.Repeat([]byte("x"), size)
	value[0], value[size-1] = '"', '"'
	return h.d.Record(h.Context(), c.ID, task.StepResult{Name: within + ">" + name, Value: posthouse.Value{Codec: "json", Data: value}})
}

// TestRecordsComeInPages: each fits into a message, also one that another engine is asked for,
// and together they are what was recorded and answered.
func TestRecordsComeInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		c := a.claim(w)
		var want []string
		in := a.within(c)
		for i, size := range []int{task.MaxStep, 100, 100_000, 100_000, 100_000, 100_000, 100_000, task.MaxStep, task.MaxStep} {
			name := fmt.Sprint("s", i)
			if err := a.record(c, in, name, size); err != nil {
				t.Fatal(err)
			}
			want = append(want, name)
		}
		q := posthouse.Gate{Name: "ship", Kind: posthouse.GateApproval, Text: "Ship it?"}
		a.resolve(c, task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: &q}}})
		if _, err := a.app.Resume(t.Context(), "t"); !errors.Is(err, posthouse.ErrWaiting) && err != nil {
			t.Fatal(err)
		}
		for g, err := range a.l.Gates(t.Context(), ledger.GateQuery{Thread: "t"}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.app.Resume(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		c = a.claim(w)
		var have []string
		gates, pages := 0, 0
		for after, more := "", true; more; more = after != "" {
			e := []*host{a, b}[pages%2]
			page, err := e.d.Records(t.Context(), c.ID, after)
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := json.Marshal(page)
			if pages++; err != nil || len(encoded) > 1<<20-4<<10 || len(page.Steps)+len(page.Gates) == 0 {
				t.Errorf("page %d has %d bytes, %d steps and %d gates: %v", pages, len(encoded), len(page.Steps), len(page.Gates), err)
			}
			for _, s := range page.Steps {
				have = append(have, s.Name[strings.LastIndexByte(s.Name, '>')+1:])
			}
			gates += len(page.Gates)
			after = page.Next
		}
		if !slices.Equal(have, want) || gates != 1 || pages < 4 {
			t.Errorf("%v and %d gates in %d pages, want %v", have, gates, pages, want)
		}
		for _, after := range []string{"x", "1", "-1.0", "1.-1", "99999999999.1"} {
			var e *posthouse.Error
			if _, err := a.d.Records(t.Context(), c.ID, after); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != "after" {
				t.Errorf("after %q: %v", after, err)
			}
		}
	})
}

// TestStepsAreBounded before anything is appended: each, and those of an iteration together,
// whatever attempt and engine recorded them.
func TestStepsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		c := a.claim(w)
		b.have = a.have
		tooLarge := func(err error, field string) {
			t.Helper()
			var e *posthouse.Error
			if !errors.As(err, &e) || e.Code != posthouse.CodeTooLarge || !strings.HasPrefix(e.Field, field) || e.Hint == "" {
				t.Errorf("error: %v", err)
			}
		}
		tail := func() uint64 {
			i, err := a.l.Thread(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			return i.Tail.Seq
		}
		in := a.within(c)
		tooLarge(a.record(c, in, "large", task.MaxStep+1), "step large")
		const half = task.MaxSteps / task.MaxStep / 2
		for i := range half {
			if err := a.record(c, in, fmt.Sprint("s", i), task.MaxStep); err != nil {
				t.Fatal(err)
			}
		}
		a.resolve(c, task.Verdict{Action: task.RetryAfter, Reason: "again"})
		c = a.claim(w)
		for i := range half - 1 {
			h := []*host{a, b}[i%2]
			if err := h.record(c, in, fmt.Sprint("s", half+i), task.MaxStep); err != nil {
				t.Fatal(err)
			}
		}
		before := tail()
		for _, h := range []*host{a, b} {
			tooLarge(h.record(c, in, "last", task.MaxStep), "steps")
			if err := h.record(c, in, "s0", task.MaxStep); err != nil {
				t.Errorf("a result that is on record since the first attempt: %v", err)
			}
			if err := h.record(c, in, "s0", 100); !errors.Is(err, posthouse.ErrExists) {
				t.Errorf("another result: %v", err)
			}
		}
		if after := tail(); after != before {
			t.Errorf("%d entries more", after-before)
		}
		a.resolve(c, task.Verdict{Action: task.Continue})
		c = a.claim(w)
		if err := a.record(c, a.within(c), "last", task.MaxStep); err != nil {
			t.Errorf("in the next iteration: %v", err)
		}
	})
}

// TestHandlersOfAnotherVersionAskAgain: a worker that asks otherwise than the one before it is
// of another version. Its question takes the place of the first, and the answer to that one does not count. A
// worker that asks otherwise each time fails the task's run.
func TestHandlersOfAnotherVersionAskAgain(t *testing.T) {
	for _, s := range stores(t) {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, s.open(t), runs.RemoteOptions{})
				old := h.connect("w1")
				h.run("t")
				asks := func(session, text string) *posthouse.Gate {
					t.Helper()
					q := posthouse.Gate{Name: "ship", Kind: posthouse.GateApproval, Text: text}
					h.resolve(h.claim(session), task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: &q}}})
					if _, err := h.app.Resume(t.Context(), "t"); err != nil {
						t.Fatal(err)
					}
					for g, err := range h.l.Gates(t.Context(), ledger.GateQuery{Thread: "t"}) {
						if err != nil {
							t.Fatal(err)
						}
						return g
					}
					t.Fatal("nobody is asked")
					return nil
				}
				approve := func(g *posthouse.Gate) {
					t.Helper()
					if _, err := h.l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
						t.Fatal(err)
					}
					if _, err := h.app.Resume(t.Context(), "t"); err != nil {
						t.Fatal(err)
					}
				}
				first := asks(old, "Ship it?")
				approve(first)
				deployed := h.connect("w2")
				second := asks(deployed, "Ship it to bob?")
				if second.Supersedes != first.ID || second.Text != "Ship it to bob?" {
					t.Fatalf("question: %+v", second)
				}
				approve(second)
				q := posthouse.Gate{Name: "ship", Kind: posthouse.GateApproval, Text: "Ship it to carol?"}
				h.resolve(h.claim(deployed), task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: &q}}})
				if _, err := h.app.Resume(t.Context(), "t"); err == nil || !strings.Contains(err.Error(), "differs each time") {
					t.Error(err)
				}
			})
		})
	}
}
