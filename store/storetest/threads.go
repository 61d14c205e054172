package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest/internal/model"
)

func threadCases() []Case {
	return []Case{
		{
			Name: "threads/a summary is the one of the last entry",
			Rule: "Threads yields, for each thread, the summary that came with its newest entry, all of it.",
			Run:  threadsNewest,
		}, {
			Name: "threads/each filter",
			Rule: "The zero ThreadQuery selects all, by name in byte order, Descending from the last; each field set narrows it, joined by and.",
			Run:  threadsFilters,
		}, {
			Name: "threads/a prefix is bytes, not a pattern",
			Rule: "Prefix matches the start of the name byte by byte: case counts, and no character is a wildcard.",
			Run:  threadsPrefix,
		}, {
			Name: "threads/due ones come by due time",
			Rule: "With DueBefore, threads with something due at or before it, a deadline or a reminder, come by due time, those of one time by name.",
			Run:  threadsDue,
		}, {
			Name: "threads/pages show each thread once",
			Rule: "Going on behind a thread's name visits each thread once, also while threads are added, with any filter and page size.",
			Run:  threadsPages,
		}, {
			Name: "threads/a thread leaves a filter when its state changes",
			Rule: "Waiting, Runnable, Leased and DueBefore see the newest summary: a decision, a claim given back or the end of a run takes the thread out.",
			Run:  threadsLeave,
		}, {
			Name: "threads/open gates come by id",
			Rule: "With Gates each open gate that matches comes once, by id as bytes, alone in its thread's summary; GateKind, People and Person narrow it, the other filters apply to its thread.",
			Run:  gatesByID,
		}, {
			Name: "threads/pages show each open gate once",
			Rule: "Going on behind a gate's id visits each gate that stays open once, also while others are opened and decided, the one at the cursor included.",
			Run:  gatePages,
		}, {
			Name: "threads/a gate leaves when it is closed",
			Rule: "Gates sees the newest summary: a decision, a removal or a release takes a gate out, a vote or a new audience shows at once.",
			Run:  gatesLeave,
		},
	}
}

func threadsNewest(t *T) {
	a, b := t.Builder.Log("a"), t.Builder.Log("b")
	gate := t.Builder.GateID()
	steps := []func() (*Log, []Item){
		func() (*Log, []Item) { return a, []Item{a.Claim("host-1", 1, false)} },
		func() (*Log, []Item) { return b, []Item{b.Step("s", []byte("x"))} },
		func() (*Log, []Item) {
			return a, []Item{
				a.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting, Graph: "refund", Coordination: "desk"}, "x"),
				a.Gate(gate, t.Builder.Now().Add(time.Hour)),
			}
		},
		func() (*Log, []Item) { return a, []Item{a.Checkpoint(posthouse.Header{Branch: "draft"}, "y")} },
		func() (*Log, []Item) { return a, []Item{a.Decision(gate)} },
		func() (*Log, []Item) { return a, []Item{a.Claim("host-2", 7, false)} },
		func() (*Log, []Item) { return a, []Item{a.Claim("host-2", 7, true)} },
	}
	for i, step := range steps {
		t.Builder.Advance(time.Minute)
		l, items := step()
		t.mustAppend(l, items...)
		want := []*posthouse.ThreadInfo{a.Info, b.Info}
		if i == 0 {
			want = want[:1]
		}
		t.WantThreads(fmt.Sprint("after step ", i), t.Threads(posthouse.ThreadQuery{}), want...)
		t.WantThreads("by name", t.Threads(posthouse.ThreadQuery{Thread: "a"}), a.Info)
	}
}

// crowd fills the store with threads in all states and returns their summaries.
func (t *T) crowd(n int) (all []*posthouse.ThreadInfo) {
	t.Helper()
	for i := range n {
		l := t.Builder.Log(fmt.Sprintf("%s-%02d", []string{"job", "Job", "task"}[i%3], i*29%n))
		h := posthouse.Header{Graph: []string{"", "refund", "Refund"}[i%3]}
		h.Status = []posthouse.Status{posthouse.StatusSaved, posthouse.StatusRunning, posthouse.StatusWaiting, posthouse.StatusDone, posthouse.StatusFailed}[i%5]
		items := []Item{l.Checkpoint(h, "x")}
		if h.Status == posthouse.StatusWaiting {
			var soon, later time.Time
			if i%2 == 0 {
				soon = t.Builder.Now().Add(time.Duration(i%7) * time.Minute)
				later = soon.Add(time.Hour)
			}
			items = append(items, l.Gate(t.Builder.GateID(), later), l.Gate(t.Builder.GateID(), soon))
		}
		if i%4 == 1 {
			items = append(items, l.Claim("host-1", 1, false))
		}
		t.mustAppend(l, items...)
		all = append(all, l.Info)
	}
	return all
}

func threadsFilters(t *T) {
	crowd := t.crowd(60)
	now := posthouse.Millis(t.Builder.Now().UnixMilli())
	for _, q := range []posthouse.ThreadQuery{
		{}, {Limit: 5}, {Thread: "job-03"}, {Thread: "job-0"}, {Thread: "nobody"}, {Prefix: "job-"}, {Prefix: "Job-1"}, {Prefix: "x"},
		{Graph: "refund"}, {Graph: "Refund"}, {Graph: "ref"}, {Status: posthouse.StatusRunning}, {Status: posthouse.StatusDone},
		{Status: posthouse.StatusWaiting}, {Waiting: true}, {Runnable: true}, {Leased: true}, {Leased: true, Runnable: true},
		{Waiting: true, Graph: "refund"}, {Prefix: "task", Leased: true, Limit: 2}, {Thread: "job-03", Waiting: true}, {After: "job-30"},
		{After: "job-30", Runnable: true, Limit: 1}, {Prefix: "job-", After: "job-3"}, {Prefix: "job-", After: "a"}, {Prefix: "job-", After: "z"},
		{Descending: true}, {Descending: true, Limit: 5}, {Descending: true, Thread: "job-03"}, {Descending: true, Prefix: "job-"}, {Descending: true, Prefix: "Job-1", Limit: 1},
		{Descending: true, Prefix: "x"}, {Descending: true, Graph: "refund"}, {Descending: true, Waiting: true}, {Descending: true, Runnable: true}, {Descending: true, Leased: true},
		{Descending: true, After: "job-30"}, {Descending: true, After: "job-30", Runnable: true, Limit: 1}, {Descending: true, Prefix: "job-", After: "job-3"},
		{Descending: true, Prefix: "job-", After: "a"}, {Descending: true, Prefix: "job-", After: "z"}, {Descending: true, Thread: "job-03", After: "job-03"},
		{DueBefore: now - 1}, {DueBefore: now}, {DueBefore: now + 120_000}, {DueBefore: now + 1e10}, {DueBefore: now + 1e10, Limit: 3},
		{DueBefore: now + 1e10, Graph: "refund"}, {DueBefore: now + 1e10, Prefix: "job"}, {DueBefore: now + 1e10, Leased: true},
	} {
		t.WantThreads(fmt.Sprintf("%+v", q), t.Threads(q), model.Threads(crowd, q)...)
	}
}

func threadsPrefix(t *T) {
	names := []string{"a", "a_", "a_b", "ab", "aXb", "A_b", "a.b", "a-", "a:", "a$", "z", "zz", "zzz", "zZ"}
	var all []*posthouse.ThreadInfo
	for _, name := range names {
		l := t.Builder.Log(name)
		t.mustAppend(l, l.Step("s", []byte("x")))
		all = append(all, l.Info)
	}
	for _, prefix := range append(names, "a%", "a?", "a*", "%", "_", "zzzz", "\U0010ffff") {
		for _, down := range []bool{false, true} {
			q := posthouse.ThreadQuery{Prefix: prefix, Descending: down}
			t.WantThreads(fmt.Sprintf("%+v", q), t.Threads(q), model.Threads(all, q)...)
		}
	}
}

func threadsDue(t *T) {
	now := t.Builder.Now()
	var all []*posthouse.ThreadInfo
	for i, minutes := range []int{5, 1, 3, 1, 0, 9, 3} {
		l := t.Builder.Log(fmt.Sprint("t", 9-i))
		t.mustAppend(l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "x"), l.Gate(t.Builder.GateID(), now.Add(time.Duration(minutes)*time.Minute)))
		all = append(all, l.Info)
	}
	never := t.Builder.Log("never")
	t.mustAppend(never, never.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "x"), never.Gate(t.Builder.GateID(), time.Time{}))
	all = append(all, never.Info)
	minute := func(n int) time.Time { return now.Add(time.Duration(n) * time.Minute) }
	gate, reminded := t.Builder.GateID(), t.Builder.Log("reminded")
	t.mustAppend(reminded, reminded.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "x"), reminded.GateOf(gate, posthouse.GateInfo{ExpiresAt: minute(200), RemindAt: minute(2)}))
	for _, next := range []int{2, 60, 0} { // a reminder, the one after it, and then the deadline alone
		if next != 2 {
			at := minute(next)
			if next == 0 {
				at = time.Time{}
			}
			t.mustAppend(reminded, reminded.Reminder(gate, at))
		}
		wantDue(t, append(slices.Clip(all), reminded.Info), now)
	}
}

func wantDue(t *T, all []*posthouse.ThreadInfo, now time.Time) {
	for _, minutes := range []int{-1, 0, 1, 3, 4, 100, 300} {
		at := posthouse.Millis(now.Add(time.Duration(minutes) * time.Minute).UnixMilli())
		for _, limit := range []int{0, 1, 3} {
			q := posthouse.ThreadQuery{DueBefore: at, Limit: limit}
			t.WantThreads(fmt.Sprintf("due within %d minutes, limit %d", minutes, limit), t.Threads(q), model.Threads(all, q)...)
		}
	}
}

func threadsPages(t *T) {
	crowd := t.crowd(50)
	n := 0
	for _, size := range []int{1, 7, 50} {
		for _, q := range []posthouse.ThreadQuery{
			{}, {Prefix: "job"}, {Runnable: true}, {Waiting: true}, {Descending: true}, {Descending: true, Prefix: "job"}, {Descending: true, Waiting: true},
		} {
			want := model.Threads(crowd, q)
			var got []string
			for q.Limit = size; ; q.After = got[len(got)-1] {
				page := threadNames(t.Threads(q))
				got = append(got, page...)
				if len(page) < size {
					break
				}
				if got[len(got)-1] == q.After || len(got) > 10*len(crowd) {
					t.Fatalf("%+v: after %d threads, a page leads nowhere", q, len(got))
				}
				name := fmt.Sprint("Added-", n) // sorts before what the page has shown, mostly
				if q.Descending {
					name = fmt.Sprint("zAdded-", n)
				}
				l := t.Builder.Log(name)
				t.mustAppend(l, l.Step("s", []byte("x")))
				n++
			}
			got = slices.DeleteFunc(got, func(name string) bool { return strings.Contains(name, "Added-") })
			if w := threadNames(want); !slices.Equal(got, w) {
				t.Errorf("%+v by %d: got %v, want %v", q, size, brief(got), brief(w))
			}
		}
	}
}

func threadsLeave(t *T) {
	l := t.Builder.Log("t1")
	gate := t.Builder.GateID()
	due := t.Builder.Now().Add(time.Minute)
	queries := map[string]posthouse.ThreadQuery{
		"waiting": {Waiting: true}, "runnable": {Runnable: true}, "leased": {Leased: true},
		"due": {DueBefore: posthouse.Millis(due.UnixMilli())}, "done": {Status: posthouse.StatusDone},
	}
	expect := func(after string, names ...string) {
		t.Helper()
		for name, q := range queries {
			got := len(t.Threads(q)) == 1
			if want := slices.Contains(names, name); got != want {
				t.Errorf("after %s: is the thread %s? got %v, want %v", after, name, got, want)
			}
		}
	}
	t.mustAppend(l, l.Claim("host-1", 1, false))
	expect("a claim", "leased")
	t.mustAppend(l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning}, "x"))
	expect("a step", "leased", "runnable")
	t.mustAppend(l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "x"), l.Gate(gate, due))
	expect("a question", "waiting", "due")
	t.mustAppend(l, l.Decision(gate))
	expect("a decision", "runnable")
	t.mustAppend(l, l.Claim("host-2", 2, false))
	expect("a claim", "runnable", "leased")
	t.mustAppend(l, l.Claim("host-2", 2, true))
	expect("a claim given back", "runnable")
	t.mustAppend(l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusDone}, "x"))
	expect("the end", "done")
	_, err := t.Store.Remove(t.ctx, posthouse.Removal{Thread: "t1", All: true})
	t.OK(err)
	expect("its removal")
}
