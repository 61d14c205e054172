package memindex

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestAppendAllocates counts the pieces of memory that a step's entry costs in the index: one,
// and now and then a list that grows.
func TestAppendAllocates(t *testing.T) {
	const steps = 1000
	l := storetest.NewBuilder().Log("t1")
	var all []*posthouse.Batch
	for range steps + 1 {
		b := l.Next(l.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning, Next: []string{"n"}}, "state"))
		all = append(all, b)
		l.Took(b)
	}
	ix := New()
	next := 0
	have := testing.AllocsPerRun(steps, func() {
		b := all[next]
		next++
		fresh, err := ix.Admit([]*posthouse.Batch{b})
		if err != nil || len(fresh) != 1 {
			t.Fatalf("%d admitted, %v", len(fresh), err)
		}
		ix.Add(Take(b, b.Entry))
	})
	if have > 1 {
		t.Errorf("an entry takes %v allocations, want 1", have)
	}
}

// TestSummaryIsItsOwn: batch and summary belong to the caller again once they are added.
func TestSummaryIsItsOwn(t *testing.T) {
	ix := New()
	l := storetest.NewBuilder().Log("t1")
	b := l.Next(l.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning, Next: []string{"n"}, Labels: map[string]string{"k": "v"}}, "state"))
	ix.Add(Take(b, b.Entry))
	b.Thread.Branches[0].Head, b.IDs[0].Header.Next[0], b.IDs[0].Header.Labels["k"] = "x", "x", "x"
	for info, err := range ix.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil || info.Branches[0].Head == "x" {
			t.Errorf("the summary has %v, %v", info.Branches, err)
		}
		info.Branches[0].Head = "y"
	}
	if ix.Info("t1").Branches[0].Head == "y" {
		t.Error("a summary that was handed out is the index's own")
	}
	for h, err := range ix.List(t.Context(), posthouse.Query{}) {
		if err != nil || h.Next[0] == "x" || h.Labels["k"] == "x" {
			t.Errorf("the row has next %v, labels %v, %v", h.Next, h.Labels, err)
		}
	}
}
