package overview_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/overview"
	"github.com/posthouse/posthouse/store/memstore"
)

func names(threads []*posthouse.ThreadInfo) string {
	var all []string
	for _, t := range threads {
		all = append(all, t.Thread)
	}
	return strings.Join(all, " ")
}

// at writes a thread with its head at a node.
func at(t *testing.T, l *ledger.Ledger, thread, node, version string, status posthouse.Status) {
	t.Helper()
	commit(t, l, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: status, Graph: "refund", Fingerprint: version, Node: "before", Next: []string{node},
	}})
}

// TestFind: by node and version together a thread needs one branch that has both, and what ended is nowhere.
func TestFind(t *testing.T) {
	l := open(t, nil)
	at(t, l, "a", "pay", "v1", posthouse.StatusInterrupted)
	at(t, l, "b", "pay", "v2", posthouse.StatusFailed)
	at(t, l, "c", "ask", "v2", posthouse.StatusInterrupted)
	at(t, l, "d", "pay", "v2", posthouse.StatusDone)
	at(t, l, "e", "pay", "v2", posthouse.StatusInterrupted)
	commit(t, l, &ledger.Draft{Thread: "f", Checkpoint: &posthouse.Change{Kind: posthouse.KindSave}})
	q := posthouse.ThreadQuery{}
	for _, c := range []struct {
		f    overview.Filter
		want string
	}{
		{overview.Filter{}, "a b c d e f"},
		{overview.Filter{Node: "pay"}, "a b e"},
		{overview.Filter{Version: "v2"}, "b c e"},
		{overview.Filter{Node: "pay", Version: "v2"}, "b e"},
		{overview.Filter{Node: "pay", Version: "v3"}, ""},
		{overview.Filter{Unknown: true}, ""},
		{overview.Filter{Saved: true}, "f"},
	} {
		page, next, err := overview.Find(t.Context(), l, q, &c.f, 10)
		if err != nil || names(page) != c.want || next != "" {
			t.Errorf("%+v: %q, %q, %v; want %q", c.f, names(page), next, err, c.want)
		}
	}
	var seen []string
	for next := ""; ; {
		if err := overview.GoOn(t.Context(), l, &q, next); err != nil {
			t.Fatal(err)
		}
		page, more, err := overview.Find(t.Context(), l, q, &overview.Filter{Node: "pay"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, names(page))
		next = more
		if next == "" {
			break
		}
	}
	if want := []string{"a", "b", "e"}; !slices.Equal(seen, want) && !slices.Equal(seen, append(want, "")) {
		t.Errorf("by pages of one: %q", seen)
	}
}

// TestFindBegun finds threads by who began them and when, not by who or what moved them later.
func TestFindBegun(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	l := open(t, &ledger.Options{Now: func() time.Time { return now }})
	begin := func(thread, by string) posthouse.Millis {
		now = now.Add(time.Hour)
		commit(t, l, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, By: by, Status: posthouse.StatusInterrupted, Graph: "refund"}})
		return posthouse.Millis(now.UnixMilli())
	}
	begin("a", "alice")
	second := begin("b", "bob")
	third := begin("c", "alice")
	begin("a", "bob") // goes on with it
	if _, err := l.Signal(t.Context(), "d", posthouse.Signal{Name: "go", Early: true}); err != nil {
		t.Fatal(err)
	}
	begin("d", "alice") // a signal came before
	for _, q := range []posthouse.ThreadQuery{{}, {Newest: true}} {
		for _, c := range []struct {
			f    overview.Filter
			want string
		}{
			{overview.Filter{By: "alice"}, "a c d"},
			{overview.Filter{By: "bob"}, "b"},
			{overview.Filter{By: "dana"}, ""},
			{overview.Filter{Since: second}, "b c d"},
			{overview.Filter{Until: third}, "a b"},
			{overview.Filter{Since: second, Until: third}, "b"},
			{overview.Filter{By: "alice", Since: second}, "c d"},
		} {
			page, next, err := overview.Find(t.Context(), l, q, &c.f, 10)
			slices.SortFunc(page, func(a, b *posthouse.ThreadInfo) int { return strings.Compare(a.Thread, b.Thread) })
			if err != nil || names(page) != c.want || next != "" {
				t.Errorf("newest %v, %+v: %q, %q, %v; want %q", q.Newest, c.f, names(page), next, err, c.want)
			}
		}
	}
}

// TestStand counts a thread once at a node, whatever branches it has there.
func TestStand(t *testing.T) {
	l := open(t, nil)
	at(t, l, "a", "pay", "v1", posthouse.StatusInterrupted)
	at(t, l, "b", "pay", "v2", posthouse.StatusInterrupted)
	at(t, l, "c", "pay", "v2", posthouse.StatusDone)
	info, err := l.Thread(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Fork(t.Context(), info.Branches[0].Head, &ledger.ForkOptions{By: "alice"}); err != nil {
		t.Fatal(err)
	}
	s, err := overview.Stand(t.Context(), l, "refund")
	if err != nil || fmt.Sprintf("%+v", *s) != "{Nodes:[{Node:pay Threads:2 Statuses:map[interrupted:2]}] Versions:[{Version:v1 Threads:1} {Version:v2 Threads:1}] More:false}" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestStandIsWhatFindFinds: a thread with a branch that waits and one that failed, both at one node, is one
// thread in two statuses, and each count is that of the list with its node and status.
func TestStandIsWhatFindFinds(t *testing.T) {
	l := open(t, nil)
	at(t, l, "a", "pay", "v1", posthouse.StatusInterrupted)
	at(t, l, "b", "pay", "v1", posthouse.StatusInterrupted)
	info, err := l.Thread(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	f, err := l.Fork(t.Context(), info.Branches[0].Head, &ledger.ForkOptions{By: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, l, &ledger.Draft{Thread: "b", Branch: f.Branch, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusFailed, Graph: "refund", Fingerprint: "v1", Next: []string{"pay"},
	}})
	s, err := overview.Stand(t.Context(), l, "refund")
	if err != nil || len(s.Nodes) != 1 || s.Nodes[0].Threads != 2 || fmt.Sprint(s.Nodes[0].Statuses) != "map[failed:1 interrupted:2]" {
		t.Fatalf("%+v, %v", s, err)
	}
	for status, want := range s.Nodes[0].Statuses {
		q := posthouse.ThreadQuery{Graph: "refund", Status: status}
		found, _, err := overview.Find(t.Context(), l, q, &overview.Filter{Node: "pay"}, 10)
		if err != nil || len(found) != want {
			t.Errorf("%d threads are %s at pay, and %q are found (%v)", want, status, names(found), err)
		}
	}
}

// TestStandIsBounded: more threads than are read are told of, and pages of a filter go on.
func TestStandIsBounded(t *testing.T) {
	l := open(t, nil)
	for i := range overview.MaxRead + 5 {
		at(t, l, fmt.Sprintf("t%04d", i), "pay", "v1", posthouse.StatusInterrupted)
	}
	s, err := overview.Stand(t.Context(), l, "refund")
	if err != nil || !s.More || s.Nodes[0].Statuses[posthouse.StatusInterrupted] != overview.MaxRead {
		t.Errorf("%+v, %v", s, err)
	}
	q := posthouse.ThreadQuery{}
	page, next, err := overview.Find(t.Context(), l, q, &overview.Filter{Node: "nowhere"}, 10)
	if err != nil || len(page) != 0 || next == "" {
		t.Fatalf("%d threads, next %q, %v: the page shall end early and go on", len(page), next, err)
	}
	if err := overview.GoOn(t.Context(), l, &q, next); err != nil {
		t.Fatal(err)
	}
	page, next, err = overview.Find(t.Context(), l, q, &overview.Filter{Node: "pay"}, 10)
	if err != nil || len(page) != 5 || next != "" {
		t.Errorf("%d threads, next %q, %v; want the other 5", len(page), next, err)
	}
}

func ExampleStand() {
	ctx := context.Background()
	store := memstore.New()
	defer store.Close()
	l, err := ledger.Open(store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	_, err = l.Commit(ctx, &ledger.Draft{Thread: "order-12", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusFailed, Graph: "refund", Fingerprint: "6f1d2c3b4a59", Node: "check", Next: []string{"pay"}, Error: "no money",
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := overview.Stand(ctx, l, "refund")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Nodes, s.Versions)
	page, _, err := overview.Find(ctx, l, posthouse.ThreadQuery{}, &overview.Filter{Node: "pay"}, 10)
	fmt.Println(len(page), err)
	// Output:
	// [{pay 1 map[failed:1]}] [{6f1d2c3b4a59 1}]
	// 1 <nil>
}
