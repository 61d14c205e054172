package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest/internal/model"
)

func activityCases() []Case {
	return []Case{
		{
			Name: "threads/the newest activity comes first",
			Rule: "With Newest threads come by the minute of their last entry, the newest first, those of one minute from the last name; each filter applies, and a released or removed thread leaves.",
			Run:  activityOrder,
		}, {
			Name: "threads/pages by activity show each thread that rests once",
			Rule: "Going on behind a thread's activity cursor visits each thread that gets no entry meanwhile exactly once, with any filter and page size, and the next list begins with those that got one.",
			Run:  activityPages,
		}, {
			Name: "threads/a cursor of another order is refused",
			Rule: "With Newest a cursor that ActivityCursor did not make fails with ErrInvalid, also where there is no thread.",
			Run:  activityCursors,
		},
	}
}

// A bustle is threads that are active in turn.
type bustle struct {
	t    *T
	logs []*Log
	n    int
}

func (t *T) bustle(threads int) *bustle {
	t.Helper()
	b := &bustle{t: t}
	for i, info := range t.crowd(threads) {
		if i%9 == 0 {
			t.Builder.Advance(25 * time.Second)
		}
		b.logs = append(b.logs, t.Builder.Resume(info))
	}
	return b
}

// move gives a thread one more entry, 17 seconds after the one before.
func (b *bustle) move(of []*Log) *Log {
	b.n++
	l := of[b.n*7%len(of)]
	b.t.Builder.Advance(17 * time.Second)
	b.t.mustAppend(l, l.Step("s", []byte("x")))
	return l
}

func (b *bustle) infos() (all []*posthouse.ThreadInfo) {
	for _, l := range b.logs {
		all = append(all, l.Info)
	}
	return all
}

func activityOrder(t *T) {
	b := t.bustle(30)
	for range 24 {
		b.move(b.logs)
		for _, q := range []posthouse.ThreadQuery{
			{Newest: true}, {Newest: true, Limit: 4}, {Newest: true, Descending: true, Limit: 2}, {Newest: true, Prefix: "job-"},
		} {
			t.WantThreads(fmt.Sprintf("%+v", q), t.Threads(q), model.Threads(b.infos(), q)...)
		}
	}
	due := posthouse.Millis(t.Builder.Now().Add(time.Hour).UnixMilli())
	for _, q := range []posthouse.ThreadQuery{
		{Newest: true, Graph: "refund"}, {Newest: true, Status: posthouse.StatusDone}, {Newest: true, Waiting: true}, {Newest: true, Runnable: true, Limit: 3},
		{Newest: true, Leased: true}, {Newest: true, Prefix: "x"}, {Newest: true, Thread: "job-03"}, {Newest: true, Thread: "nobody"},
		{Newest: true, Gates: true}, {Newest: true, DueBefore: due},
	} {
		t.WantThreads(fmt.Sprintf("%+v", q), t.Threads(q), model.Threads(b.infos(), q)...)
	}
	gone := model.Threads(b.infos(), posthouse.ThreadQuery{Newest: true})[0]
	_, err := t.Store.Remove(t.ctx, posthouse.Removal{Thread: gone.Thread, All: true})
	t.OK(err)
	b.logs = slices.DeleteFunc(b.logs, func(l *Log) bool { return l.Info == gone })
	t.WantThreads("after a removal", t.Threads(posthouse.ThreadQuery{Newest: true}), model.Threads(b.infos(), posthouse.ThreadQuery{Newest: true})...)
}

func activityPages(t *T) {
	b := t.bustle(40)
	busy := slices.Clone(b.logs[:5])
	rests := func(name string) bool {
		return !slices.ContainsFunc(busy, func(l *Log) bool { return l.Info.Thread == name })
	}
	for _, size := range []int{1, 3, 40} {
		for _, q := range []posthouse.ThreadQuery{{Newest: true}, {Newest: true, Prefix: "job"}, {Newest: true, Waiting: true}} {
			want := slices.DeleteFunc(threadNames(model.Threads(b.infos(), q)), func(name string) bool { return !rests(name) })
			var got []string
			var moved *Log
			seen := 0
			for q.Limit = size; ; {
				page := t.Threads(q)
				for _, info := range page {
					if seen++; rests(info.Thread) {
						got = append(got, info.Thread)
					}
				}
				if len(page) < size {
					break
				}
				q.After = page[size-1].ActivityCursor()
				if seen > 10*len(b.logs) {
					t.Fatalf("%+v: after %d threads, a page leads nowhere", q, seen)
				}
				moved = b.move(busy)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v by %d: got %v, want %v", q, size, brief(got), brief(want))
			}
			if moved == nil {
				continue
			}
			t.Builder.Advance(time.Minute)
			t.mustAppend(moved, moved.Step("s", []byte("x")))
			t.WantThreads("the next list", t.Threads(posthouse.ThreadQuery{Newest: true, Limit: 1}), moved.Info)
		}
	}
}

func activityCursors(t *T) {
	refused := func(what string) {
		t.Helper()
		for _, after := range []string{"xyz", "60000", "60000.", "60001.t", "+60000.t", "060000.t", "x.t"} {
			q := posthouse.ThreadQuery{Newest: true, After: after}
			if _, err := Collect(t, t.Store.Threads(t.ctx, q)); !isCode(err, posthouse.CodeInvalid) {
				t.Errorf("%s: cursor %q: got error %v, want code invalid", what, after, err)
			}
		}
	}
	refused("an empty store")
	t.crowd(5)
	refused("a store")
	t.WantThreads("a cursor before all", t.Threads(posthouse.ThreadQuery{Newest: true, After: "0.t"}))
}
