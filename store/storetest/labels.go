package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/storetest/internal/model"
)

func labelCases() []Case {
	return []Case{
		{
			Name: "threads/labels, status, program and text narrow a list",
			Rule: "Label, Status, Graph and Text select by the newest summary, joined by and, in each order: a value is compared whole, a text is the beginning of a name or of a label's value, or the ending of a name.",
			Run:  labelFilters,
		}, {
			Name: "threads/pages of a filter show each thread once",
			Rule: "Going on behind the cursor with a label, a status or a text visits each thread that rests exactly once, by name and by activity, with any page size.",
			Run:  labelPages,
		}, {
			Name: "threads/a thread leaves a label when it has another",
			Rule: "A list by label, status or text sees the newest summary: another label, another status, a release or a removal takes the thread out.",
			Run:  labelsLeave,
		}, {
			Name: "threads/a text that many have",
			Rule: "Label, Status and Text find all that match, in order, also where more than 1,000 threads do.",
			Run:  labelCrowd,
		},
	}
}

// labelled returns threads with labels, in several minutes.
func (t *T) labelled(n int) (all []*Log) {
	t.Helper()
	for i := range n {
		if i%11 == 0 {
			t.Builder.Advance(31 * time.Second)
		}
		l := t.Builder.Log(fmt.Sprintf("%s-%02d", []string{"order", "acme", "Order"}[i%3], i*17%n))
		h := posthouse.Header{
			Kind: posthouse.KindInput, Graph: []string{"refund", "", "chat"}[i%3],
			Status: []posthouse.Status{posthouse.StatusRunning, posthouse.StatusDone, posthouse.StatusFailed, posthouse.StatusSaved}[i%4],
			Labels: []map[string]string{nil, {"customer": "acme"}, {"customer": "acme gmbh", "tier": "1"}, {"customer": "", "tier": "10"}, {"tier": "1", "acme": "customer"}}[i%5],
		}
		t.mustAppend(l, l.Checkpoint(h, "x"))
		if i%6 == 0 { // its own labels are not the thread's
			h.Kind, h.Labels = posthouse.KindNode, map[string]string{"effect": "external"}
			t.mustAppend(l, l.Checkpoint(h, "y"))
		}
		all = append(all, l)
	}
	return all
}

func infosOf(logs []*Log) (all []*posthouse.ThreadInfo) {
	for _, l := range logs {
		all = append(all, l.Info)
	}
	return all
}

// labelQueries are filters, each in the orders that lists have.
func labelQueries() (all []posthouse.ThreadQuery) {
	for _, q := range []posthouse.ThreadQuery{
		{Label: "customer", LabelValue: "acme"}, {Label: "customer"}, {Label: "tier", LabelValue: "1"}, {Label: "acme", LabelValue: "customer"},
		{Label: "effect", LabelValue: "external"}, {Label: "nobody"}, {LabelValue: "acme"}, {Label: "tier", LabelValue: "1", Status: posthouse.StatusDone},
		{Label: "customer", LabelValue: "acme", Graph: "refund"}, {Label: "tier", LabelValue: "10", Prefix: "acme"},
		{Text: "acme"}, {Text: "Order"}, {Text: "order-1"}, {Text: "1"}, {Text: "r-11"}, {Text: "-11"}, {Text: "e-07"}, {Text: "acme gmbh"}, {Text: "gmbh"},
		{Text: "x"}, {Text: "%"}, {Text: "acme", Status: posthouse.StatusFailed}, {Text: "acme", Label: "tier", LabelValue: "1"}, {Text: "order", Graph: "refund", Prefix: "order-2"},
		{Status: posthouse.StatusDone}, {Graph: "chat", Status: posthouse.StatusRunning}, {Text: "acme", Runnable: true}, {Graph: "refund"},
	} {
		for _, order := range []posthouse.ThreadQuery{{}, {Descending: true}, {Newest: true}} {
			q.Descending, q.Newest = order.Descending, order.Newest
			all = append(all, q)
		}
	}
	return all
}

func labelFilters(t *T) {
	logs := t.labelled(60)
	for _, q := range labelQueries() {
		t.WantThreads(fmt.Sprintf("%+v", q), t.Threads(q), model.Threads(infosOf(logs), q)...)
		q.Limit = 3
		t.WantThreads(fmt.Sprintf("%+v", q), t.Threads(q), model.Threads(infosOf(logs), q)...)
	}
	for _, q := range []posthouse.ThreadQuery{{Text: "acme", Thread: "acme-17"}, {Label: "tier", LabelValue: "1", Thread: "order-00"}, {Text: "acme", Waiting: true}} {
		t.WantThreads(fmt.Sprintf("%+v", q), t.Threads(q), model.Threads(infosOf(logs), q)...)
	}
	for _, q := range []posthouse.ThreadQuery{{Text: "acme", Newest: true, After: "x"}, {Label: "customer", LabelValue: "acme", Newest: true, After: "acme-17"}} {
		if _, err := Collect(t, t.Store.Threads(t.ctx, q)); !isCode(err, posthouse.CodeInvalid) {
			t.Errorf("%+v: got error %v, want code invalid", q, err)
		}
	}
}

func labelPages(t *T) {
	logs := t.labelled(50)
	for _, q := range labelQueries() {
		want := threadNames(model.Threads(infosOf(logs), q))
		for _, size := range []int{1, 7} {
			var got []string
			page := q
			for page.Limit = size; len(got) <= len(logs); {
				found := t.Threads(page)
				got = append(got, threadNames(found)...)
				if len(found) < size {
					break
				}
				page.After = found[size-1].Thread
				if q.Newest {
					page.After = found[size-1].ActivityCursor()
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v by %d: got %v, want %v", q, size, brief(got), brief(want))
			}
		}
	}
}

func labelsLeave(t *T) {
	logs := t.labelled(20)
	check := func(when string) {
		t.Helper()
		for _, q := range labelQueries() {
			t.WantThreads(fmt.Sprintf("%s: %+v", when, q), t.Threads(q), model.Threads(infosOf(logs), q)...)
		}
	}
	l := logs[1]
	t.mustAppend(l, l.Checkpoint(posthouse.Header{Kind: posthouse.KindUpdate, Status: posthouse.StatusDone, Labels: map[string]string{"tier": "10"}}, "z"))
	check("another label")
	t.Builder.Advance(time.Minute)
	t.mustAppend(l, l.Checkpoint(posthouse.Header{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Labels: map[string]string{"customer": "acme"}}, "z"))
	check("another status, a minute later")
	t.mustAppend(logs[2], logs[2].Release())
	check("a release")
	t.mustAppend(logs[2], logs[2].Checkpoint(posthouse.Header{Status: posthouse.StatusDone}, "again"))
	check("begun again")
	_, err := t.Store.Remove(t.ctx, posthouse.Removal{Thread: logs[4].Info.Thread, All: true})
	t.OK(err)
	logs = slices.Delete(logs, 4, 5)
	check("removed")
}

func labelCrowd(t *T) {
	var all []*posthouse.ThreadInfo
	for i := range lists.Few + 40 {
		if i%300 == 0 {
			t.Builder.Advance(time.Minute)
		}
		l := t.Builder.Log(fmt.Sprintf("%s-%04d", []string{"many", "few"}[i%100/99], i*7%(lists.Few+40)))
		h := posthouse.Header{Kind: posthouse.KindInput, Status: posthouse.StatusDone, Labels: map[string]string{"team": "blue"}}
		t.mustAppend(l, l.Checkpoint(h, "x"))
		all = append(all, l.Info)
	}
	for _, q := range []posthouse.ThreadQuery{
		{Label: "team", LabelValue: "blue"}, {Text: "blue"}, {Text: "many"}, {Status: posthouse.StatusDone}, {Text: "few", Status: posthouse.StatusDone, Label: "team", LabelValue: "blue"},
	} {
		for _, order := range []posthouse.ThreadQuery{{}, {Newest: true}, {Descending: true, Limit: 30}, {Newest: true, Limit: 30}} {
			q.Newest, q.Descending, q.Limit = order.Newest, order.Descending, order.Limit
			got, want := threadNames(t.Threads(q)), threadNames(model.Threads(all, q))
			if !slices.Equal(got, want) {
				t.Errorf("%+v: got %d threads, %s, want %d, %s", q, len(got), brief(got), len(want), brief(want))
			}
		}
	}
}
