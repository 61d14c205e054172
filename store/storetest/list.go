package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest/internal/model"
)

func listCases() []Case {
	return []Case{
		{
			Name: "list/each filter",
			Rule: "The zero Query selects all checkpoints; each field set narrows it, and they are joined by and. Names are compared exactly, case included.",
			Run:  listFilters,
		}, {
			Name: "list/order across threads is the order key",
			Rule: "Across threads checkpoints come by order key, whenever and wherever they were appended; Descending turns that round.",
			Run:  listOrder,
		}, {
			Name: "list/a limit counts checkpoints that share an order key",
			Rule: "Checkpoints with one order key, which a caller may give to several threads', come by sequence; a limit may end among them, and the next page goes on there.",
			Run:  listSharedKey,
		}, {
			Name: "list/order within a thread is the sequence",
			Rule: "With Thread set, checkpoints come by sequence, whatever their order keys and times say.",
			Run:  listThreadOrder,
		}, {
			Name: "list/pages show each checkpoint once",
			Rule: "Going on behind Header.Cursor visits each checkpoint exactly once, in either direction, in a thread or across, with any filter and page size.",
			Run:  listPages,
		}, {
			Name: "list/pages while appends go on",
			Rule: "What was there when the first page was read is visited exactly once, whatever is appended meanwhile.",
			Run:  listWhileAppending,
		}, {
			Name: "list/thousands of checkpoints of one millisecond keep their order",
			Rule: "Order never depends on a clock: checkpoints with the same time come in the order of their ids.",
			Run:  listSameMillisecond,
		}, {
			Name: "list/newest first with a limit shows the newest",
			Rule: "A limit counts from where the list starts: with 1,000 older ones the newest still comes first, with any filter.",
			Run:  listNewest,
		}, {
			Name: "list/a replaced id appears once",
			Rule: "An id that was replaced appears once, as its newest revision, with the fields that one has.",
			Run:  listReplaced,
		}, {
			Name: "list/a cursor from elsewhere is refused",
			Rule: "A cursor that Header.Cursor did not write is ErrInvalid.",
			Run:  listBadCursor,
		},
	}
}

// archive fills the store with checkpoints that differ in every field of a query. It
// returns their headers in the order of appending.
func (t *T) archive(n int) (hs []*posthouse.Header) {
	t.Helper()
	logs := map[string]*Log{}
	pick := func(i int, names ...string) string { return names[i%len(names)] }
	for i := range n {
		thread := pick(i, "t1", "t2", "T1", "t_1")
		l := logs[thread]
		if l == nil {
			l = t.Builder.Log(thread)
			logs[thread] = l
		}
		h := posthouse.Header{
			Coordination: pick(i/2, "", "desk", "Desk", "t1"), Run: pick(i/3, "r1", "r2"), Graph: pick(i/2, "", "refund", "Refund"),
			Node: pick(i, "a", "b", "A"), Agent: pick(i/5, "x", "", "y%"), Branch: pick(i/7, "main", "draft"),
			Kind:   pick(i, posthouse.KindNode, posthouse.KindSave, posthouse.KindWait, posthouse.KindFork),
			Status: posthouse.Status(pick(i/4, string(posthouse.StatusRunning), string(posthouse.StatusDone), "")),
			Labels: map[string]string{"n": fmt.Sprint(i % 4), pick(i/2, "k", "K", "k%"): pick(i/3, "v", "", "V")},
		}
		if i%5 == 0 {
			h.ID = posthouse.ID(fmt.Sprint("foreign-", n-i)) // sorts against its order
		}
		if i%4 == 3 {
			h.CreatedAt = t.Builder.Now().Add(-time.Hour) // made up by the caller
		}
		hs = append(hs, t.checkpoint(l, h, "state"))
		t.Builder.Advance(time.Millisecond)
	}
	return hs
}

func listFilters(t *T) {
	start := posthouse.Millis(t.Builder.Now().UnixMilli())
	hs := t.archive(80)
	queries := []posthouse.Query{
		{}, {Limit: 7}, {Thread: "t1"}, {Thread: "T1"}, {Thread: "t_1"}, {Thread: "t%"}, {Thread: "nobody"},
		{Coordination: "desk"}, {Coordination: "Desk"}, {Coordination: "t1"}, {Coordination: "t2"}, {Coordination: "d%"},
		{Run: "r1"}, {Run: "r"}, {Graph: "refund"}, {Graph: "Refund"}, {Node: "a"}, {Node: "A"}, {Agent: "x"}, {Agent: "y%"}, {Agent: "%"},
		{Kind: posthouse.KindNode}, {Kind: posthouse.KindFork}, {Kind: "n_de"}, {Branch: posthouse.MainBranch}, {Branch: "draft"},
		{Status: posthouse.StatusRunning}, {Status: posthouse.StatusDone},
		{Label: "n", LabelValue: "2"}, {Label: "n"}, {Label: "k", LabelValue: "v"}, {Label: "k"}, {Label: "K", LabelValue: "V"},
		{Label: "k%", LabelValue: "v"}, {Label: "k' OR 1=1 --", LabelValue: "v"}, {LabelValue: "v"},
		{Since: start + 10}, {Until: start + 10}, {Since: start + 10, Until: start + 20}, {Since: start + 30, Until: start + 20},
		{Since: start + 13, Until: start + 13}, {Until: start - 1}, {Since: start - 3600_000, Until: start - 3600_000 + 50},
		{Thread: "t1", Coordination: "desk"}, {Thread: "t1", Branch: "draft", Kind: posthouse.KindNode}, {Coordination: "desk", Agent: "x", Limit: 2},
		{Thread: "t2", Since: start + 10, Limit: 3}, {Coordination: "t1", Status: posthouse.StatusDone, Label: "n", LabelValue: "1"},
		{Run: "r2", Graph: "refund", Node: "b", Agent: "x"},
		{Thread: "t1", From: 3}, {Thread: "t1", To: 7}, {Thread: "t1", From: 3, To: 7, Agent: "x"}, {Thread: "t1", From: 7, To: 3}, {Thread: "t1", From: 5, To: 1 << 63},
		{Thread: "t1", From: 3, Limit: 2}, {Thread: "t1", To: 9, Limit: 2}, {Generation: 1}, {Generation: 2}, {Thread: "t1", Generation: 2}, {Coordination: "desk", Generation: 1, Limit: 3},
	}
	for _, q := range queries {
		for _, q.Descending = range []bool{false, true} {
			t.WantHeaders(fmt.Sprintf("%+v", q), t.List(q), model.Headers(hs, q)...)
		}
	}
}

func listOrder(t *T) {
	keys := make([]posthouse.OrderKey, 40)
	for i := range keys {
		keys[i] = t.Builder.Key()
	}
	logs := []*Log{t.Builder.Log("a"), t.Builder.Log("b"), t.Builder.Log("c")}
	var hs []*posthouse.Header
	for i := range keys {
		at := i * 17 % len(keys) // every key once, in no order
		l := logs[i%len(logs)]
		h := posthouse.Header{ID: posthouse.ID(fmt.Sprint("id-", (i*7)%len(keys))), Order: keys[at]}
		hs = append(hs, t.checkpoint(l, h, "x"))
	}
	for _, q := range []posthouse.Query{{}, {Descending: true}, {Descending: true, Limit: 5}} {
		t.WantHeaders(fmt.Sprintf("%+v", q), t.List(q), model.Headers(hs, q)...)
	}
}

func listSharedKey(t *T) {
	keys := []posthouse.OrderKey{t.Builder.Key(), t.Builder.Key(), t.Builder.Key()}
	var hs []*posthouse.Header
	for i := range 4 {
		l := t.Builder.Log(fmt.Sprint("t", i))
		for n := range 3 * i { // so that no two have the key and the number
			hs = append(hs, t.checkpoint(l, posthouse.Header{ID: posthouse.ID(fmt.Sprintf("own-%d-%d", i, n))}, "x"))
		}
		for n, k := range keys {
			hs = append(hs, t.checkpoint(l, posthouse.Header{ID: posthouse.ID(fmt.Sprintf("id-%d-%d", i, n)), Order: k, Node: "shared"}, "x"))
		}
	}
	for _, q := range []posthouse.Query{{}, {Descending: true}, {Node: "shared"}, {Node: "shared", Descending: true}} {
		want := model.Headers(hs, q)
		for size := 1; size < 6; size++ {
			t.WantHeaders(fmt.Sprintf("%+v by %d", q, size), t.pages(q, size, func() {}), want...)
		}
	}
}

func listThreadOrder(t *T) {
	keys := make([]posthouse.OrderKey, 30)
	for i := range keys {
		keys[i] = t.Builder.Key()
	}
	l := t.Builder.Log("t1")
	var hs []*posthouse.Header
	for i := range keys {
		h := posthouse.Header{
			ID: posthouse.ID(fmt.Sprint("id-", i)), Order: keys[len(keys)-1-i], CreatedAt: t.Builder.Now().Add(-time.Duration(i) * time.Hour),
		}
		hs = append(hs, t.checkpoint(l, h, "x"))
	}
	for _, q := range []posthouse.Query{{}, {Descending: true}, {Limit: 4}, {After: hs[11].Cursor()}, {After: hs[11].Cursor(), Descending: true}} {
		q.Thread = "t1"
		t.WantHeaders(fmt.Sprintf("%+v", q), t.List(q), model.Headers(hs, q)...)
	}
}

// pages reads a query to its end, n results at a time.
func (t *T) pages(q posthouse.Query, size int, between func()) (hs []*posthouse.Header) {
	t.Helper()
	for q.Limit = size; ; q.After = hs[len(hs)-1].Cursor() {
		page := t.List(q)
		if len(page) > size || len(hs) > 20_000 || len(page) > 0 && page[len(page)-1].Cursor() == q.After {
			t.Fatalf("%+v: after %d checkpoints, a page of %d leads nowhere", q, len(hs), len(page))
		}
		hs = append(hs, page...)
		if len(page) < size {
			return hs
		}
		between()
	}
}

func listPages(t *T) {
	hs := t.archive(60)
	for _, size := range []int{1, 7, 60} {
		for _, q := range []posthouse.Query{{}, {Thread: "t2"}, {Coordination: "desk"}, {Agent: "x"}, {Label: "n", LabelValue: "3"}, {Thread: "t2", From: 3, To: 9}} {
			for _, q.Descending = range []bool{false, true} {
				t.WantHeaders(fmt.Sprintf("%+v by %d", q, size), t.pages(q, size, func() {}), model.Headers(hs, q)...)
			}
		}
	}
}

func listWhileAppending(t *T) {
	for _, q := range []posthouse.Query{{}, {Thread: "t1"}, {Coordination: "desk"}} {
		for _, q.Descending = range []bool{false, true} {
			t.Store = t.Fresh()
			hs := t.archive(40)
			before := model.Headers(hs, q)
			l := t.Builder.Resume(t.Threads(posthouse.ThreadQuery{Thread: "t1"})[0])
			got := t.pages(q, 3, func() {
				for range 2 { // slower than the pages: they reach the end
					t.checkpoint(l, posthouse.Header{Coordination: "desk"}, "late")
				}
			})
			visits := map[posthouse.ID]int{}
			for _, h := range got {
				visits[h.ID]++
			}
			for _, h := range before {
				if visits[h.ID] != 1 {
					t.Errorf("%+v: checkpoint %q was visited %d times", q, h.ID, visits[h.ID])
				}
			}
		}
	}
}

func listSameMillisecond(t *T) {
	const logs = 16
	n := 10_000 // that one tick of a clock must order
	if t.Harness.Short {
		n = 2000
	}
	want, keys := make([]posthouse.ID, n), make([]posthouse.OrderKey, n)
	for i := range want {
		want[i], keys[i] = t.Builder.ID()
	}
	var wg sync.WaitGroup
	for n := range logs {
		wg.Go(func() {
			l := t.Builder.Log(fmt.Sprint("t", n))
			for i := n; i < len(want); i += logs {
				b := l.Next(l.Checkpoint(posthouse.Header{ID: want[i], Order: keys[i]}, "x"))
				if err := t.Store.Append(t.ctx, b); err != nil {
					t.Errorf("append %d: %v", i, err)
					return
				}
				l.Took(b)
			}
		})
	}
	wg.Wait()
	if got := ids(t.List(posthouse.Query{})); !slices.Equal(got, want) {
		t.Errorf("ascending: got %d of %d, first difference at %d", len(got), len(want), firstDiff(got, want))
	}
	slices.Reverse(want)
	if got := ids(t.List(posthouse.Query{Descending: true})); !slices.Equal(got, want) {
		t.Errorf("descending: got %d of %d, first difference at %d", len(got), len(want), firstDiff(got, want))
	}
	if got := ids(t.pages(posthouse.Query{Descending: true}, 999, func() {})); !slices.Equal(got, want) {
		t.Errorf("by pages: got %d of %d, first difference at %d", len(got), len(want), firstDiff(got, want))
	}
}

func firstDiff[V comparable](a, b []V) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func listNewest(t *T) {
	l, m := t.Builder.Log("t1"), t.Builder.Log("t2")
	for i := range 1000 {
		t.mustAppend(l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting, Agent: "a", Labels: map[string]string{"n": fmt.Sprint(i % 2)}}, "old"))
		if i%100 == 0 {
			t.mustAppend(m, m.Checkpoint(posthouse.Header{}, "beside it"))
		}
	}
	newest := t.checkpoint(l, posthouse.Header{Status: posthouse.StatusWaiting, Agent: "a", Labels: map[string]string{"n": "9"}}, "new")
	for _, q := range []posthouse.Query{
		{}, {Thread: "t1"}, {Coordination: "t1"}, {Agent: "a"}, {Status: posthouse.StatusWaiting}, {Label: "n", LabelValue: "9"}, {Branch: "main"},
	} {
		q.Descending, q.Limit = true, 1
		t.WantHeaders(fmt.Sprintf("%+v", q), t.List(q), newest)
	}
	if n := len(t.List(posthouse.Query{Thread: "t1", Descending: true, Limit: 300})); n != 300 {
		t.Errorf("a limit of 300 gave %d", n)
	}
}

func listReplaced(t *T) {
	l := t.Builder.Log("t1")
	a := t.checkpoint(l, posthouse.Header{Agent: "old", Coordination: "c1"}, "a")
	b := t.checkpoint(l, posthouse.Header{}, "b")
	for i := range uint32(3) {
		a = t.checkpoint(l, posthouse.Header{
			ID: a.ID, Order: a.Order, Revision: i + 1, Agent: "new", Coordination: "c2", Status: posthouse.StatusDone,
		}, "a again")
	}
	t.WantHeaders("List", t.List(posthouse.Query{}), a, b)
	t.WantHeaders("newest first", t.List(posthouse.Query{Descending: true}), b, a)
	t.WantHeaders("of the thread", t.List(posthouse.Query{Thread: "t1"}), b, a)
	t.WantHeaders("of the new agent", t.List(posthouse.Query{Agent: "new"}), a)
	t.WantHeaders("of the old agent", t.List(posthouse.Query{Agent: "old"}))
	t.WantHeaders("of the new coordination", t.List(posthouse.Query{Coordination: "c2"}), a)
	t.WantHeaders("of the old coordination", t.List(posthouse.Query{Coordination: "c1"}))
	t.WantHeaders("by pages", t.pages(posthouse.Query{}, 1, func() {}), a, b)
}

func listBadCursor(t *T) {
	l := t.Builder.Log("t1")
	h := t.checkpoint(l, posthouse.Header{}, "x")
	for _, cursor := range []string{"x", "1", h.Cursor() + "0x", strings.Repeat("0", 31) + "-1", strings.Repeat("0", 32), "' OR 1=1 --", h.Cursor()[1:]} {
		for _, q := range []posthouse.Query{{After: cursor}, {After: cursor, Thread: "t1"}} {
			got, err := Collect(t, t.Store.List(t.ctx, q))
			if t.WantCode(fmt.Sprintf("%+v", q), err, posthouse.CodeInvalid); len(got) > 0 {
				t.Errorf("%+v: got %d checkpoints", q, len(got))
			}
		}
	}
}
