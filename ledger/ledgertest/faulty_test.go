package ledgertest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/storetest"
)

// fails makes each call n times and says which failed, with what.
func fails(t *testing.T, o ledgertest.FaultOptions, n int) (map[string][]int, map[string]error) {
	t.Helper()
	s := ledgertest.Faulty(storetest.NewModel(), &o)
	l := storetest.NewBuilder().Log("t1")
	key := posthouse.SlotKey{Thread: "t1", Step: "s"}
	failed, errs := map[string][]int{}, map[string]error{}
	ctx := t.Context()
	for i := 1; i <= n; i++ {
		b := l.Next(l.Checkpoint(posthouse.Header{}, "x"))
		got := map[string]error{"Append": s.Append(ctx, b)}
		if got["Append"] == nil || o.Fault == ledgertest.FaultLoseAnswer {
			l.Took(b)
		}
		_, got["Find"] = s.Find(ctx, b.IDs[0].ID)
		_, got["Slot"] = s.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision})
		_, got["Remove"] = s.Remove(ctx, posthouse.Removal{Thread: "nobody", All: true})
		for _, err := range s.Read(ctx, "t1", posthouse.Range{}) {
			got["Read"] = err
		}
		for _, err := range s.List(ctx, posthouse.Query{}) {
			got["List"] = err
		}
		for _, err := range s.Threads(ctx, posthouse.ThreadQuery{}) {
			got["Threads"] = err
		}
		for method, err := range got {
			if err != nil {
				failed[method], errs[method] = append(failed[method], i), err
			}
		}
	}
	if total := s.Fired(); total == 0 && len(failed) > 0 {
		t.Errorf("%v: calls failed, but none is counted", s)
	}
	return failed, errs
}

var methods = []string{"Append", "Read", "Find", "List", "Threads", "Slot", "Remove"}

func TestFaultyFailsTheNthCallOfAMethod(t *testing.T) {
	for _, method := range methods {
		for fault, code := range map[ledgertest.Fault]error{
			ledgertest.FaultRefuse: ledgertest.ErrInjected, ledgertest.FaultLoseCall: posthouse.ErrUnknown, ledgertest.FaultLoseAnswer: posthouse.ErrUnknown,
		} {
			failed, errs := fails(t, ledgertest.FaultOptions{Method: method, Fault: fault, Nth: 2, Times: 2}, 5)
			if got := failed[method]; len(got) != 2 || got[0] != 2 || got[1] != 3 {
				t.Errorf("%s of %s: calls %v failed, want 2 and 3", fault, method, got)
			}
			if !errors.Is(errs[method], code) || !errors.Is(errs[method], ledgertest.ErrInjected) {
				t.Errorf("%s of %s: %v", fault, method, errs[method])
			}
		}
	}
}

func TestFaultyTellsALostCallFromALostAnswer(t *testing.T) {
	for fault, want := range map[ledgertest.Fault]int{
		ledgertest.FaultRefuse: 0, ledgertest.FaultLoseCall: 0, ledgertest.FaultLoseAnswer: 1, ledgertest.FaultDelay: 1,
	} {
		below := storetest.NewModel()
		s := ledgertest.Faulty(below, &ledgertest.FaultOptions{Fault: fault, Nth: 1})
		l := storetest.NewBuilder().Log("t1")
		b := l.Next(l.Step("s", []byte("x")))
		err := s.Append(t.Context(), b)
		if (err == nil) != (fault == ledgertest.FaultDelay) {
			t.Errorf("%s: got %v", fault, err)
		}
		n := 0
		for range below.Read(t.Context(), "t1", posthouse.Range{}) {
			n++
		}
		if n != want {
			t.Errorf("%s: the store has %d entries, want %d", fault, n, want)
		}
	}
}

func TestFaultyIsTheSameForTheSameSeed(t *testing.T) {
	o := ledgertest.FaultOptions{Rate: 0.3, Seed: 7}
	a, _ := fails(t, o, 20)
	b, _ := fails(t, o, 20)
	o.Seed = 8
	c, _ := fails(t, o, 20)
	same := func(a, b map[string][]int) bool {
		for _, m := range methods {
			if len(a[m]) != len(b[m]) {
				return false
			}
			for i := range a[m] {
				if a[m][i] != b[m][i] {
					return false
				}
			}
		}
		return true
	}
	if !same(a, b) || same(a, c) || len(a) == 0 {
		t.Errorf("seed 7 gives %v and %v, seed 8 gives %v", a, b, c)
	}
}

func TestFaultyDelayEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := ledgertest.Faulty(storetest.NewModel(), &ledgertest.FaultOptions{Fault: ledgertest.FaultDelay, Rate: 1, Delay: time.Hour})
	if _, err := s.Find(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("Find: %v", err)
	}
	for _, err := range s.List(ctx, posthouse.Query{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("List: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestFaultyRefusesWithTheErrorItIsGiven(t *testing.T) {
	s := ledgertest.Faulty(storetest.NewModel(), &ledgertest.FaultOptions{Nth: 1, Err: posthouse.ErrFull})
	if _, err := s.Find(t.Context(), "x"); !errors.Is(err, posthouse.ErrFull) {
		t.Errorf("got %v", err)
	}
}
