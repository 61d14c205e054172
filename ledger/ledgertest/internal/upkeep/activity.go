package upkeep

import (
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

func activityCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/threads by newest activity", Rule: "Any entry puts its thread first: a checkpoint, a question, a decision, a signal. Deleted and released threads are left out, a page has as many as were asked for, and going on behind a thread's activity cursor shows each one once.", Run: threadsByActivity},
	}
}

func threadsByActivity(t *desk.T) {
	d := t.Desk(ledger.Options{})
	roots := map[string]*posthouse.Checkpoint{}
	for i := range 9 {
		if name := fmt.Sprint("t", i); i != 1 { // which begins with a question
			roots[name] = d.Root(name, "", "0")
		}
		d.Clock.Advance(time.Minute)
	}
	list := func(q posthouse.ThreadQuery) (names []string, last string) {
		t.Helper()
		q.Newest = true
		for info, err := range d.Threads(t.Ctx, q) {
			t.OK(err)
			names, last = append(names, info.Thread), info.ActivityCursor()
		}
		return names, last
	}
	first := func(after, want string) {
		t.Helper()
		d.Clock.Advance(time.Minute)
		if got, _ := list(posthouse.ThreadQuery{Limit: 1}); !slices.Equal(got, []string{want}) {
			t.Errorf("after %s the first thread is %v, want %s", after, got, want)
		}
	}
	first("roots", "t8")
	d.Derive(roots["t2"], "1")
	first("a checkpoint", "t2")
	asked := d.Ask("t1", posthouse.Gate{Name: "ok?"})
	first("a question", "t1")
	d.Derive(roots["t4"], "1")
	first("a checkpoint", "t4")
	_, err := d.Decide(t.Ctx, asked.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	t.OK(err)
	first("a decision", "t1")
	_, err = d.Signal(t.Ctx, "t3", posthouse.Signal{Name: "go", By: "alice"})
	t.OK(err)
	first("a signal", "t3")
	_, err = retain.DeleteThread(t.Ctx, d.Ledger, "t1", nil)
	t.OK(err)
	d.MustRelease("t2", &ledger.ReleaseOptions{By: "alice"})
	want := []string{"t3", "t4", "t8", "t7", "t6", "t5", "t0"}
	for size := range 9 {
		var got []string
		for q := (posthouse.ThreadQuery{Limit: size}); ; {
			names, last := list(q)
			got = append(got, names...)
			if len(names) < size || size == 0 || len(got) > len(want) {
				break
			}
			q.After = last
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d list %v, want %v", size, got, want)
		}
	}
	if got, _ := list(posthouse.ThreadQuery{Released: true, Limit: 2}); !slices.Equal(got, []string{"t2"}) {
		t.Errorf("released ones are %v", got)
	}
}
