package ledgertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

func ledgerListCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/lists filter and order", Rule: "Filters are joined by and, also for Count; ascending by creation unless Descending; since and until are inclusive.", Run: ledgerFilters},
		{Name: "ledger/the cursor goes on behind the last one seen", Rule: "Paging by Header.Cursor visits each checkpoint once, in both orders, within a thread and across.", Run: ledgerPages},
		{Name: "ledger/checkpoints of one millisecond keep their order", Rule: "2,000 checkpoints made while the clock stands still are listed as they were made (X8, A10).", Run: ledgerOneMillisecond},
		{Name: "ledger/latest by thread, branch, coordination and node", Rule: "Latest follows heads, not clocks; a node's latest is its own newest.", Run: ledgerLatest},
		{Name: "ledger/the newest waiting one is seen behind a thousand", Rule: "Newest first with a limit shows the newest gate however many older checkpoints there are (H4).", Run: ledgerNewestWaiting},
		{Name: "ledger/lists of what is open", Rule: "Query.Open leaves heads whose thread still has their question open, of a page as many as were asked for; the others keep the status they were made with.", Run: ledgerOpen},
	}
}

func ledgerOpen(t *desk.T) {
	d := t.Desk(ledger.Options{})
	var asked []*posthouse.Committed
	for i := range 6 {
		asked = append(asked, d.Ask(fmt.Sprint("t", i), posthouse.Gate{Name: "ok?"}, posthouse.Gate{Name: "sure?"}))
	}
	decide := func(i, gate int) {
		t.Helper()
		_, err := d.Decide(t.Ctx, asked[i].Gates[gate].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
		t.OK(err)
	}
	decide(0, 0) // one of two: the other is open
	decide(1, 0)
	decide(1, 1)
	d.Derive(d.MustGet(asked[2].Checkpoint.ID), "gone on")
	cancelRun(d, "t3", "enough", nil)
	want := func(q posthouse.Query, want ...int) {
		t.Helper()
		var got, ids []posthouse.ID
		for h, err := range d.List(t.Ctx, q) {
			t.OK(err)
			got = append(got, h.ID)
		}
		for _, i := range want {
			ids = append(ids, asked[i].Checkpoint.ID)
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%+v lists %v, want %v", q, got, ids)
		}
	}
	waiting := posthouse.Query{Status: posthouse.StatusWaiting}
	want(waiting, 0, 1, 2, 3, 4, 5)
	waiting.Open = true
	want(waiting, 0, 4, 5)
	want(posthouse.Query{Open: true}, 0, 4, 5)
	want(posthouse.Query{Open: true, Limit: 2}, 0, 4)
	want(posthouse.Query{Open: true, Limit: 2, After: asked[0].Checkpoint.Cursor()}, 4, 5)
	want(posthouse.Query{Open: true, Limit: 1, Descending: true}, 5)
	want(posthouse.Query{Open: true, Thread: "t0"}, 0)
	want(posthouse.Query{Open: true, Thread: "t1"})
	want(posthouse.Query{Open: true, Thread: "nothing"})
	if n, err := ledger.Count(t.Ctx, d.Ledger, waiting); err != nil || n != 3 {
		t.Errorf("Count = %d, %v", n, err)
	}
}

func ledgerFilters(t *desk.T) {
	d := t.Desk(ledger.Options{})
	for i := range 6 {
		c := posthouse.Root([]string{"even", "odd"}[i%2], desk.State(fmt.Sprint(i)))
		c.Thread, c.Agent, c.Node = fmt.Sprint("t", i), []string{"a", "b", "c"}[i%3], fmt.Sprint("n", i/3)
		c.Run, c.Labels = "run", map[string]string{"parity": c.Coordination}
		d.MustSave(c)
		d.Clock.Advance(time.Second)
	}
	at := func(i int) posthouse.Millis {
		return posthouse.Millis(d.Clock.Now().Add(time.Duration(i-6) * time.Second).UnixMilli())
	}
	for want, q := range map[int]posthouse.Query{
		0: {Coordination: "nobody"}, 1: {Thread: "t4"}, 2: {Agent: "a"}, 3: {Coordination: "odd"}, 4: {Limit: 4}, 6: {},
	} {
		if n, err := ledger.Count(t.Ctx, d.Ledger, q); err != nil || n != want {
			t.Errorf("Count(%+v) = %d, %v, want %d", q, n, err, want)
		}
	}
	_, err := ledger.Count(t.Ctx, d.Ledger, posthouse.Query{After: "no cursor"})
	d.WantErr(err, posthouse.ErrInvalid)
	d.WantStates(posthouse.Query{}, "0", "1", "2", "3", "4", "5")
	d.WantStates(posthouse.Query{Descending: true, Limit: 2}, "5", "4")
	d.WantStates(posthouse.Query{Limit: 2}, "0", "1")
	d.WantStates(posthouse.Query{Coordination: "odd"}, "1", "3", "5")
	d.WantStates(posthouse.Query{Agent: "a"}, "0", "3")
	d.WantStates(posthouse.Query{Agent: "a", Coordination: "odd"}, "3")
	d.WantStates(posthouse.Query{Node: "n1"}, "3", "4", "5")
	d.WantStates(posthouse.Query{Since: at(2), Until: at(4)}, "2", "3", "4")
	d.WantStates(posthouse.Query{Label: "parity", LabelValue: "even", Descending: true}, "4", "2", "0")
	d.WantStates(posthouse.Query{Label: "parity"})
	d.WantStates(posthouse.Query{Thread: "t4"}, "4")
	d.WantStates(posthouse.Query{Coordination: "x') OR '1'='1"})
	d.WantStates(posthouse.Query{Label: "x') OR '1'='1", LabelValue: "1"})
}

func ledgerPages(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c := d.Root("t", "coord", "0")
	for i := range 24 {
		c = d.Derive(c, fmt.Sprint(i+1))
		d.Root(fmt.Sprint("other-", i), "coord", "x")
	}
	for _, q := range []posthouse.Query{{Thread: "t"}, {Coordination: "coord"}, {}, {Thread: "t", Descending: true}, {Coordination: "coord", Descending: true}, {Descending: true}} {
		want := d.States(q)
		var got []string
		q.Limit = 7
		for {
			n := len(got)
			for h, err := range d.List(t.Ctx, q) {
				t.OK(err)
				got = append(got, desk.Content(d.MustGet(h.ID)))
				q.After = h.Cursor()
			}
			if len(got) == n {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: pages give %d, one list %d", q, len(got), len(want))
		}
	}
	for _, err := range d.List(t.Ctx, posthouse.Query{After: "nonsense"}) {
		d.WantErr(err, posthouse.ErrInvalid)
	}
}

func ledgerOneMillisecond(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c := d.Root("t", "", "0")
	const n = 2000
	for i := range n {
		c = d.Derive(c, fmt.Sprint(i+1))
	}
	want := desk.Numbered("", n+1)
	d.WantStates(posthouse.Query{}, want...)
	slices.Reverse(want)
	d.WantStates(posthouse.Query{Thread: "t", Descending: true}, want...)
	last, err := d.Latest(t.Ctx, ledger.LatestQuery{Thread: "t"})
	t.OK(err)
	if desk.Content(last) != want[0] {
		t.Errorf("latest is %s", desk.Content(last))
	}
}

func ledgerLatest(t *desk.T) {
	d := t.Desk(ledger.Options{})
	a := d.Root("t", "coord", "a")
	b := a.Derive(desk.State("b"))
	b.Node = "plan"
	b = d.MustSave(b)
	d.Clock.Advance(-time.Hour)
	c := b.Derive(desk.State("c"))
	c.Node = "act+tell" // two nodes at once
	c = d.MustSave(c)
	side, err := d.Fork(t.Ctx, a.ID, &ledger.ForkOptions{Branch: "side", Replace: desk.State("s")})
	t.OK(err)
	for _, w := range []struct {
		q    ledger.LatestQuery
		want posthouse.ID
	}{
		{ledger.LatestQuery{Thread: "t"}, c.ID},
		{ledger.LatestQuery{Thread: "t", Branch: "side"}, side.ID},
		{ledger.LatestQuery{Thread: "t", Node: "plan"}, b.ID},
		{ledger.LatestQuery{Coordination: "coord", Node: "act"}, c.ID},
		{ledger.LatestQuery{Thread: "t", Node: "tell"}, c.ID},
		{ledger.LatestQuery{Thread: "t", Node: "act+tell"}, c.ID},
	} {
		got, err := d.Latest(t.Ctx, w.q)
		t.OK(err)
		if got.ID != w.want {
			t.Errorf("%+v: %q", w.q, desk.Content(got))
		}
	}
	for _, q := range []ledger.LatestQuery{{Thread: "nobody"}, {Coordination: "nobody"}, {Thread: "t", Branch: "nobody"}, {Thread: "t", Node: "nobody"}, {Thread: "t", Node: "ac"}} {
		_, err := d.Latest(t.Ctx, q)
		d.WantErr(err, posthouse.ErrNotFound)
	}
	_, err = d.Latest(t.Ctx, ledger.LatestQuery{})
	d.WantErr(err, posthouse.ErrInvalid)
}

func ledgerNewestWaiting(t *desk.T) {
	d := t.Desk(ledger.Options{})
	for i := range 1000 {
		d.Root(fmt.Sprint("old-", i), "dispatch", "x")
	}
	done := d.Ask("new", posthouse.Gate{Name: "ok?"})
	for h, err := range d.List(t.Ctx, posthouse.Query{Descending: true, Limit: 1}) {
		t.OK(err)
		if h.ID != done.Checkpoint.ID || len(h.Gates) != 1 {
			t.Errorf("the newest listed is %s with gates %v", h.ID, h.Gates)
		}
	}
	n := 0
	for g, err := range d.Gates(t.Ctx, ledger.GateQuery{Limit: 10}) {
		t.OK(err)
		n++
		if g.ID != done.Gates[0].ID {
			t.Errorf("the inbox has %s", g.ID)
		}
	}
	if n != 1 {
		t.Errorf("the inbox has %d gates", n)
	}
}
