package inbox_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A desk is a Ledger with a clock that the test moves.
type desk struct {
	*ledger.Ledger
	t      *testing.T
	now    time.Time
	memory *inbox.Memory // of lists that must be the same
}

func open(t *testing.T) *desk {
	d := &desk{t: t, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), memory: inbox.NewMemory(0)}
	store := memstore.New()
	d.Ledger = must.Get(ledger.Open(store, &ledger.Options{Now: func() time.Time { return d.now }}))(t)
	t.Cleanup(func() {
		must.Do(t, d.Close())
		must.Do(t, store.Close())
	})
	return d
}

// ask opens a gate on a branch of its own thread.
func (d *desk) ask(thread, graph string, g posthouse.Gate) posthouse.ID {
	d.t.Helper()
	c, err := d.Commit(context.Background(), &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: graph,
	}, Gates: []posthouse.Gate{g}})
	must.Do(d.t, err)
	return c.Gates[0].ID
}

// all reads a list to its end, in pages, and fails if a page goes nowhere, or if the list is another one with a memory.
func (d *desk) all(q inbox.Query) []*posthouse.Gate {
	d.t.Helper()
	gates := d.pages(q)
	q.Memory = d.memory
	if again := d.pages(q); !reflect.DeepEqual(again, gates) {
		d.t.Errorf("%+v: a list has %d gates, %v, and with a memory %d, %v", q, len(gates), ids(gates), len(again), ids(again))
	}
	return gates
}

func (d *desk) pages(q inbox.Query) (gates []*posthouse.Gate) {
	d.t.Helper()
	q.Everyone = true
	for pages := 0; ; pages++ {
		p, err := inbox.List(context.Background(), d.Ledger, &q)
		must.Do(d.t, err)
		for _, item := range p.Items {
			must.Do(d.t, item.Err)
			gates = append(gates, item.Gate)
		}
		if p.Next == "" {
			return gates
		}
		if p.Next == q.After || pages > 10_000 {
			d.t.Fatalf("the list does not go on after %q", p.Next)
		}
		q.After = p.Next
	}
}

func ids(gates []*posthouse.Gate) (names []posthouse.ID) {
	for _, g := range gates {
		names = append(names, g.ID)
	}
	return names
}

// TestListsAgreeWithAModel decides gates at random, and compares every filter and order with what a
// plain pass over all gates finds, in pages of every size and with little work for each.
func TestListsAgreeWithAModel(t *testing.T) {
	ctx := context.Background()
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	d := open(t)
	people := []string{"alice", "bob"}
	var asked []posthouse.ID
	for i := range 120 {
		d.now = d.now.Add(time.Duration(rnd.IntN(90_000)) * time.Millisecond)
		g := posthouse.Gate{Name: []string{"refund", "deploy"}[rnd.IntN(2)], Labels: map[string]string{"tenant": fmt.Sprint(rnd.IntN(2))}}
		g.Payload = fmt.Appendf(nil, `{"order":"No-%d"}`, rnd.IntN(3))
		if rnd.IntN(2) == 0 {
			g.RequestedBy = "carol"
		}
		if rnd.IntN(2) == 0 {
			g.ExpiresAt = d.now.Add(time.Duration(1+rnd.IntN(40)) * time.Hour)
		}
		if rnd.IntN(3) == 0 {
			g.Assignees = people[rnd.IntN(2):][:1]
		}
		thread := fmt.Sprint("t", i)
		asked = append(asked, d.ask(thread, []string{"shop", "site"}[rnd.IntN(2)], g))
		for range rnd.IntN(3) {
			id := asked[rnd.IntN(len(asked))]
			have := must.Get(d.Gate(ctx, id))(t)
			if have.Decision != nil {
				continue
			}
			d.now = d.now.Add(time.Duration(rnd.IntN(3000)) * time.Millisecond)
			by := people[rnd.IntN(2)]
			if len(have.Assignees) > 0 {
				by = have.Assignees[0]
			}
			switch rnd.IntN(4) {
			case 0:
				_, err := d.Cancel(ctx, have.Thread, &ledger.CancelOptions{By: "carol"})
				must.Do(t, err)
			default:
				must.Get(d.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.GateVerdicts()[rnd.IntN(2)], By: by}))(t)
			}
		}
		if rnd.IntN(20) == 0 {
			have := must.Get(d.Gate(ctx, asked[rnd.IntN(len(asked))]))(t)
			if _, err := d.Release(ctx, have.Thread, &ledger.ReleaseOptions{By: "carol"}); err != nil && !errors.Is(err, posthouse.ErrNotFound) {
				t.Fatalf("releasing %s: %v", have.Thread, err)
			}
		}
	}
	graphs := map[string]string{}
	var gates []*posthouse.Gate
	for _, id := range asked {
		g := must.Get(d.Gate(ctx, id))(t)
		gates = append(gates, g)
		graphs[g.Thread] = must.Get(d.GetHeader(ctx, g.Checkpoint))(t).Graph
	}
	for range 100 {
		q := inbox.Query{State: inbox.States()[rnd.IntN(4)], Limit: 1 + rnd.IntN(9), Look: 1 + rnd.IntN(200)}
		if q.State == inbox.Open {
			q.Order = []inbox.Order{inbox.Newest, inbox.Oldest, inbox.ByDeadline}[rnd.IntN(3)]
		}
		if rnd.IntN(3) == 0 {
			q.Question = "refund"
		}
		if rnd.IntN(3) == 0 {
			q.Program = "shop"
		}
		if rnd.IntN(3) == 0 {
			q.Label, q.LabelValue = "tenant", "1"
		}
		if rnd.IntN(4) == 0 {
			q.Assignee = "alice"
		}
		if rnd.IntN(4) == 0 {
			q.Decider = "bob"
		}
		if rnd.IntN(6) == 0 {
			q.Assigned = "bob"
		}
		if rnd.IntN(4) == 0 {
			q.Requester = "carol"
		}
		if rnd.IntN(4) == 0 {
			q.Text = []string{"NO-1", "Tenant=1", "deplo"}[rnd.IntN(3)]
		}
		if rnd.IntN(6) == 0 {
			q.Thread = gates[rnd.IntN(len(gates))].Thread
		}
		var want []*posthouse.Gate
		for _, g := range gates {
			by := g.Decision != nil && g.Decision.By == q.Decider
			if inbox.StateOf(g) == q.State && (q.Question == "" || g.Name == q.Question) && (q.Program == "" || graphs[g.Thread] == q.Program) &&
				(q.Label == "" || g.Labels["tenant"] == "1") && (q.Assignee == "" || len(g.Assignees) == 0 || g.Assignees[0] == "alice") &&
				(q.Decider == "" || by) && (q.Assigned == "" || slices.Contains(g.Assignees, "bob")) && (q.Requester == "" || g.RequestedBy == "carol") &&
				(q.Text == "" || strings.Contains(strings.ToLower(g.Name+" "+string(g.Payload)+" tenant="+g.Labels["tenant"]), strings.ToLower(q.Text))) && (q.Thread == "" || g.Thread == q.Thread) {
				want = append(want, g)
			}
		}
		slices.SortStableFunc(want, func(a, b *posthouse.Gate) int {
			switch {
			case q.State != inbox.Open:
				return cmp.Or(b.Decision.At.Compare(a.Decision.At), cmp.Compare(a.Thread, b.Thread))
			case q.Order == inbox.Oldest:
				return cmp.Compare(a.ID, b.ID)
			case q.Order == inbox.ByDeadline:
				if a.ExpiresAt.IsZero() != b.ExpiresAt.IsZero() {
					return cmp.Compare(b.ExpiresAt.Unix(), a.ExpiresAt.Unix())
				}
				return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.ID, b.ID))
			}
			return cmp.Compare(b.ID, a.ID)
		})
		if got := d.all(q); !slices.Equal(ids(got), ids(want)) {
			t.Fatalf("seed %d: %+v\n has %v\nwant %v", seed, q, ids(got), ids(want))
		}
	}
}

// TestNewestDecisionsCostWhatIsNew lists decisions of a thread with a long history that is not theirs.
func TestNewestDecisionsCostWhatIsNew(t *testing.T) {
	d := open(t)
	for i := range 300 {
		d.now = d.now.Add(time.Minute)
		id := d.ask(fmt.Sprint("t", i), "shop", posthouse.Gate{Name: "q"})
		d.now = d.now.Add(time.Second)
		must.Get(d.Decide(context.Background(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	}
	p := must.Get(inbox.List(context.Background(), d.Ledger, &inbox.Query{Everyone: true, State: inbox.Decided, Limit: 10, Look: 60}))(t)
	if len(p.Items) != 10 {
		t.Errorf("ten of 300 decisions take more than 60 looks: there are %d", len(p.Items))
	}
}

// TestAListNamesAPerson, or says that it is of everyone: an empty name lists nothing.
func TestAListNamesAPerson(t *testing.T) {
	d := open(t)
	d.ask("t", "g", posthouse.Gate{Name: "q"})
	for name, q := range map[string]*inbox.Query{"zero": {}, "open": {Assignee: ""}, "decided": {State: inbox.Decided}, "of a thread": {Thread: "t"}} {
		if p, err := inbox.List(t.Context(), d.Ledger, q); !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "person") {
			t.Errorf("%s: listed %+v, %v", name, p, err)
		}
		if q.State == "" {
			if c, err := inbox.Count(t.Context(), d.Ledger, q, 10); !errors.Is(err, posthouse.ErrInvalid) {
				t.Errorf("%s: counted %+v, %v", name, c, err)
			}
		}
	}
	for name, q := range map[string]*inbox.Query{"nil": nil, "everyone": {Everyone: true}, "a person": {Assignee: "alice"}} {
		if p := must.Get(inbox.List(t.Context(), d.Ledger, q))(t); len(p.Items) != 1 {
			t.Errorf("%s: listed %+v", name, p)
		}
	}
}

// TestForeignCursorsAreRefused sends cursors of other lists, and nonsense.
func TestForeignCursorsAreRefused(t *testing.T) {
	d := open(t)
	id := d.ask("t", "g", posthouse.Gate{Name: "q"})
	for _, q := range []inbox.Query{
		{After: "a b"}, {Order: inbox.ByDeadline, After: string(id)}, {Order: inbox.ByDeadline, After: "-1." + string(id)},
		{State: inbox.Decided, After: string(id)}, {State: inbox.Decided, After: "1.2.3"}, {State: inbox.Decided, After: "1.2.x.t"}, {State: inbox.Decided, After: "1.+2.3.t"},
		{State: "waiting"}, {Order: "newest"}, {State: inbox.Expired, Order: inbox.ByDeadline}, {LabelValue: "x"}, {Limit: -1}, {Text: strings.Repeat("x", inbox.MaxText+1)},
	} {
		q.Everyone = true
		if _, err := inbox.List(context.Background(), d.Ledger, &q); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func ExampleList() {
	ctx := context.Background()
	store := memstore.New()
	led, err := ledger.Open(store, nil)
	if err != nil {
		panic(err)
	}
	c, err := led.Commit(ctx, &ledger.Draft{Thread: "order-1234", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		Gates: []posthouse.Gate{{Name: "refund", Text: "Refund order 1234?"}}})
	if err != nil {
		panic(err)
	}
	page, err := inbox.List(ctx, led, &inbox.Query{Everyone: true, Question: "refund", Order: inbox.ByDeadline})
	if err != nil {
		panic(err)
	}
	fmt.Println(len(page.Items), "waits:", page.Items[0].Gate.Text)

	if _, err := led.Decide(ctx, c.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		panic(err)
	}
	page, err = inbox.List(ctx, led, &inbox.Query{State: inbox.Decided, Decider: "alice"})
	if err != nil {
		panic(err)
	}
	fmt.Println("alice decided:", page.Items[0].Gate.Text, page.Items[0].Gate.Decision.Verdict)
	// Output:
	// 1 waits: Refund order 1234?
	// alice decided: Refund order 1234? approve
}
