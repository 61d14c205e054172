package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest/internal/model"
)

// desks fills the store with n waiting threads and returns their summaries.
func (t *T) desks(n int) (all []*posthouse.ThreadInfo) {
	t.Helper()
	kinds := []string{"", posthouse.GateTimer, "choice", posthouse.GateSession, posthouse.GateThread, "", posthouse.GateTask}
	for i := range n {
		l := t.Builder.Log(fmt.Sprintf("%s-%02d", []string{"desk", "Desk"}[i%2], i*29%n))
		items := []Item{l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting, Graph: []string{"", "refund"}[i%2]}, "x")}
		for j := range i % 4 {
			id := t.Builder.GateID()
			if j == 1 {
				id = posthouse.ID(fmt.Sprintf("%c-own.%d", 'A'+i*7%50, i)) // before and after those of Posthouse
			}
			g := l.GateOf(id, posthouse.GateInfo{Kind: kinds[(i+j)%len(kinds)]})
			items = append(items, g)
			if people := [][]string{nil, {"alice"}, {"alice", "bob"}, {}}[(i+2*j)%4]; people != nil {
				items = append(items, l.Audience(id, people...))
			}
		}
		if i%5 == 1 {
			items = append(items, l.Claim("host-1", 1, false))
		}
		t.mustAppend(l, items...)
		all = append(all, l.Info)
	}
	return all
}

func gatesByID(t *T) {
	all := t.desks(40)
	var queries []posthouse.ThreadQuery
	for _, q := range []posthouse.ThreadQuery{
		{}, {People: true}, {GateKind: posthouse.GateApproval}, {GateKind: "choice"}, {GateKind: posthouse.GateTimer},
		{GateKind: posthouse.GateSession}, {GateKind: posthouse.GateSession, People: true}, {GateKind: "nothing"},
		{Person: "alice"}, {Person: "bob"}, {Person: "carol"}, {People: true, Person: "alice"}, {People: true, Person: "carol"},
		{GateKind: "choice", Person: "bob"}, {GateKind: posthouse.GateTimer, Person: "bob"}, {GateKind: "choice", People: true},
		{Thread: "desk-22"}, {Thread: "desk-22", People: true}, {Thread: "nobody"}, {Prefix: "Desk"}, {Graph: "refund", People: true},
		{Leased: true}, {Runnable: true}, {Status: posthouse.StatusWaiting, Person: "bob"},
	} {
		q.Gates = true
		down, some, behind, unknown := q, q, q, q
		down.Descending, some.Limit, behind.After, unknown.After = true, 3, "Z", "gate-0"
		limited := down
		limited.Limit, limited.After = 2, "gate-f"
		queries = append(queries, q, down, some, behind, unknown, limited)
	}
	for _, q := range queries {
		t.WantThreads(fmt.Sprintf("%+v", q), t.Threads(q), model.Threads(all, q)...)
	}
}

func gatePages(t *T) {
	for _, q := range []posthouse.ThreadQuery{
		{}, {People: true}, {Person: "alice", People: true}, {People: true, Descending: true}, {Person: "page", Descending: true},
	} {
		q.Gates = true
		stay, gone := []posthouse.ID{}, []posthouse.ID{}
		logs := map[posthouse.ID]*Log{}
		for i := range 30 {
			l := t.Builder.Log(fmt.Sprintf("pages-%v-%v-%s-%02d", q.People, q.Descending, q.Person, i))
			id := t.Builder.GateID()
			t.mustAppend(l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "x"), l.Gate(id, time.Time{}), l.Audience(id, "alice", "page"))
			logs[id] = l
			if i%3 == 0 {
				gone = append(gone, id)
			} else {
				stay = append(stay, id)
			}
		}
		if q.Descending {
			slices.Reverse(stay)
			slices.Reverse(gone)
		}
		var got []posthouse.ID
		for q.Limit = 4; ; q.After = string(got[len(got)-1]) {
			page := t.Threads(q)
			for _, info := range page {
				got = append(got, info.Waiting[0].ID)
			}
			if len(page) < q.Limit {
				break
			}
			if len(gone) > 0 { // often the one at the cursor
				l := logs[gone[0]]
				t.mustAppend(l, l.Decision(gone[0]))
				gone = gone[1:]
			}
			l := t.Builder.Log(fmt.Sprintf("later-%v-%v-%s-%02d", q.People, q.Descending, q.Person, len(got)))
			t.mustAppend(l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "x"), l.Gate(t.Builder.GateID(), time.Time{}))
			if len(got) > 1000 {
				t.Fatalf("%+v: the pages have no end", q)
			}
		}
		seen := map[posthouse.ID]int{}
		order := got[:0:0]
		for _, id := range got {
			if seen[id]++; seen[id] > 1 {
				t.Errorf("%+v: gate %s came twice", q, id)
			}
			if slices.Contains(stay, id) {
				order = append(order, id)
			}
		}
		if !slices.Equal(order, stay) {
			t.Errorf("%+v: of the gates that stay open the pages show %v, want %v", q, order, stay)
		}
	}
}

func gatesLeave(t *T) {
	l, other := t.Builder.Log("t1"), t.Builder.Log("t2")
	ids := []posthouse.ID{t.Builder.GateID(), t.Builder.GateID(), t.Builder.GateID(), t.Builder.GateID()}
	expect := func(after string) {
		t.Helper()
		for _, q := range []posthouse.ThreadQuery{{}, {People: true}, {Person: "alice", People: true}, {Person: "bob", People: true}, {Thread: "t1"}, {Descending: true}} {
			q.Gates = true
			t.WantThreads(fmt.Sprintf("after %s: %+v", after, q), t.Threads(q), model.Threads([]*posthouse.ThreadInfo{l.Info, other.Info}, q)...)
		}
	}
	t.mustAppend(l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "x"), l.Gate(ids[0], time.Time{}), l.Gate(ids[1], time.Time{}), l.Gate(ids[2], time.Time{}))
	t.mustAppend(other, other.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "x"), other.Gate(ids[3], time.Time{}))
	expect("three questions and one")
	t.mustAppend(l, l.Audience(ids[1], "alice"), l.Audience(ids[2], "alice", "bob"))
	expect("an audience")
	t.mustAppend(l, l.Audience(ids[2], "bob"))
	expect("another")
	t.mustAppend(l, l.Claim("host-1", 1, false)) // from here the summary may lag
	t.mustAppend(l, l.Decision(ids[1]))
	expect("a decision")
	t.mustAppend(l, l.Audience(ids[2]))
	expect("an audience of nobody")
	t.mustAppend(l, l.Checkpoint(posthouse.Header{}, "y"), l.Decision(ids[0]))
	expect("a step")
	t.mustAppend(l, l.Release())
	expect("a release")
	_, err := t.Store.Remove(t.ctx, posthouse.Removal{Thread: "t2", All: true})
	t.OK(err)
	other.Info = &posthouse.ThreadInfo{}
	expect("a removal")
}
