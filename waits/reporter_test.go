package waits_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/reads"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
	"github.com/posthouse/posthouse/waits"
)

// plain hides what a store can do beside the contract.
type plain struct{ posthouse.Store }

// bulk is a store in memory that reads entries of several threads at once.
type bulk struct{ *memstore.Store }

func (s bulk) ReadAll(ctx context.Context, refs []posthouse.Ref, headers bool) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for _, r := range refs {
			for e, err := range s.Read(ctx, r.Thread, posthouse.Range{Seqs: []uint64{r.Seq}, Headers: headers}) {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// A halting store does not do the next removal, as one whose process is killed between the record of it and the removal.
type halting struct {
	posthouse.Store
	halted bool
}

func (s *halting) Remove(ctx context.Context, r posthouse.Removal) (posthouse.Removed, error) {
	if s.halted {
		s.halted = false
		return posthouse.Removed{}, errors.New("halted")
	}
	return s.Store.Remove(ctx, r)
}

// A changer changes threads at random, by every way in which questions come, move and go. An operation that is refused
// changes nothing.
type changer struct {
	l     *ledger.Ledger
	store *halting
	rt    *rapid.T
	now   *time.Time
}

func (c *changer) threads() (names []string) {
	for t, err := range c.l.Threads(context.Background(), posthouse.ThreadQuery{}) {
		must.Do(c.rt, err)
		names = append(names, t.Thread)
	}
	return names
}

func (c *changer) thread() string {
	names := c.threads()
	if len(names) == 0 {
		return "unknown"
	}
	return rapid.SampledFrom(names).Draw(c.rt, "thread")
}

func (c *changer) checkpoint() posthouse.ID {
	var ids []posthouse.ID
	for h, err := range c.l.List(context.Background(), posthouse.Query{Thread: c.thread()}) {
		must.Do(c.rt, err)
		ids = append(ids, h.ID)
	}
	if len(ids) == 0 {
		return "unknown"
	}
	return rapid.SampledFrom(ids).Draw(c.rt, "checkpoint")
}

// gate returns an open gate, or any.
func (c *changer) gate(open bool) *posthouse.Gate {
	var found []*posthouse.Gate
	walk := inbox.Walk{Most: 1000}
	each := func(item *inbox.Item) bool {
		found = append(found, item.Gate)
		return true
	}
	must.Do(c.rt, walk.Read(context.Background(), c.l, inbox.Query{}, each))
	if !open {
		must.Do(c.rt, walk.Settled(context.Background(), c.l, inbox.Query{}, each))
	}
	if len(found) == 0 {
		return &posthouse.Gate{ID: "unknown"}
	}
	return rapid.SampledFrom(found).Draw(c.rt, "gate")
}

func somebody() *rapid.Generator[string] { return rapid.SampledFrom([]string{"alice", "bob", "carol"}) }

// decider returns who may decide a gate, or anybody.
func (c *changer) decider(g *posthouse.Gate) string {
	if who := deciders.Of(g, *c.now); len(who) > 0 {
		return who[rapid.IntRange(0, len(who)-1).Draw(c.rt, "decider")].Name
	}
	return somebody().Draw(c.rt, "by")
}

func (c *changer) actions() map[string]func(*rapid.T) {
	ctx := context.Background()
	actions := map[string]func(){
		"ask": c.ask,
		"step": func() {
			_, _ = c.l.Commit(ctx, &ledger.Draft{Thread: c.thread(), Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone}})
		},
		"decide": func() {
			v := rapid.SampledFrom([]posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Cancel}).Draw(c.rt, "verdict")
			g := c.gate(true)
			if v == posthouse.Cancel {
				_, _ = c.l.Withdraw(ctx, g.ID, ledger.Withdrawal{By: c.decider(g), Operator: true})
			} else {
				_, _ = c.l.Decide(ctx, g.ID, posthouse.Decision{Verdict: v, By: c.decider(g)})
			}
		},
		"delegate": func() {
			g := c.gate(true)
			d := posthouse.Delegation{By: c.decider(g), To: somebody().Draw(c.rt, "to")}
			_, _ = c.l.Delegate(ctx, g.ID, d)
		},
		"expire":    func() { _, _ = commit.Expire(ctx, c.l.Core(), c.gate(true).ID) },
		"ask again": func() { _, _ = c.l.AskAgain(ctx, c.gate(false).ID, nil) },
		"fork":      func() { _, _ = c.l.Fork(ctx, c.checkpoint(), &ledger.ForkOptions{By: "olga"}) },
		"fork into a thread": func() {
			_, _ = c.l.Fork(ctx, c.checkpoint(), &ledger.ForkOptions{Thread: fmt.Sprint("f", rapid.IntRange(0, 3).Draw(c.rt, "fork"))})
		},
		"copy": func() {
			_, _ = transfer.CopyThread(ctx, c.l, c.thread(), fmt.Sprint("c", rapid.IntRange(0, 3).Draw(c.rt, "copy")), nil)
		},
		"cancel":  func() { _, _ = c.l.Cancel(ctx, c.thread(), nil) },
		"release": func() { _, _ = c.l.Release(ctx, c.thread(), nil) },
		"drop":    func() { _, _ = retain.DropRelease(ctx, c.l, c.thread(), "1", nil) },
		"delete": func() {
			_, _ = retain.Delete(ctx, c.l, c.checkpoint(), &retain.DeleteOptions{Mode: retain.DeleteOrphan})
		},
		"halt":          func() { c.store.halted = true },
		"delete thread": func() { _, _ = retain.DeleteThread(ctx, c.l, c.thread(), nil) },
		"compact":       func() { _, _ = retain.Compact(ctx, c.l) },
		"wait":          func() { *c.now = c.now.Add(time.Duration(rapid.IntRange(1, 4000).Draw(c.rt, "minutes")) * time.Minute) },
	}
	all := map[string]func(*rapid.T){}
	for name, act := range actions {
		all[name] = func(rt *rapid.T) {
			c.rt = rt
			act()
			*c.now = c.now.Add(time.Second)
		}
	}
	return all
}

func (c *changer) ask() {
	g := posthouse.Gate{Name: rapid.SampledFrom([]string{"refund", "deploy"}).Draw(c.rt, "question"), Text: "?", Payload: json.RawMessage(`{"n":1}`)}
	switch rapid.IntRange(0, 4).Draw(c.rt, "rule") {
	case 0:
		g.Assignees = []string{"alice", "bob"}
	case 1:
		g.Quorum = &posthouse.Quorum{Need: 2}
	case 2:
		g.ExpiresAt = c.now.Add(time.Hour)
	case 3:
		g.Assignees, g.RequestedBy = []string{"alice"}, "bob"
		g.Escalation = &posthouse.Escalation{At: c.now.Add(time.Hour), To: []string{"carol"}}
	}
	_, _ = c.l.Commit(context.Background(), &ledger.Draft{Thread: fmt.Sprint("t", rapid.IntRange(0, 8).Draw(c.rt, "name")), Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: rapid.SampledFrom([]string{"shop", "site"}).Draw(c.rt, "program"),
	}, Gates: []posthouse.Gate{g, {Name: "other"}}[:rapid.IntRange(1, 2).Draw(c.rt, "gates")]})
}

// TestAReportFromMemoryIsTheReport: whatever happened since the last one, a report that reads only what changed
// says what one says that reads everything. The memory has room for all, for little, or for nothing; the store reads
// many threads at once, or not.
func TestAReportFromMemoryIsTheReport(t *testing.T) {
	ctx := context.Background()
	queries := []waits.Query{{}, {Question: "refund"}, {Program: "shop"}, {Look: 3}}
	passed, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		if passed >= 15 && !failed { // each makes some 30 changes; rapid shortens one that failed
			return
		}
		defer func() { failed = failed || rt.Failed() }()
		store, now := memstore.New(), time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		open := func(s posthouse.Store) *ledger.Ledger {
			return must.Get(ledger.Open(s, &ledger.Options{Now: func() time.Time { return now }}))(rt)
		}
		halts := &halting{Store: plain{store}}
		one, many := open(halts), open(bulk{store})
		defer func() { must.Do(rt, one.Close()); must.Do(rt, many.Close()) }()
		reporters := map[string]*waits.Reporter{
			"one by one": waits.NewReporter(one, inbox.NewMemory(0)), "many": waits.NewReporter(many, inbox.NewMemory(0)),
			"little room": waits.NewReporter(one, inbox.NewMemory(6000)), "no room": waits.NewReporter(many, inbox.NewMemory(1)),
			"no memory": waits.NewReporter(many, nil),
		}
		c := &changer{l: one, store: halts, rt: rt, now: &now}
		actions := c.actions()
		actions[""] = func(rt *rapid.T) {
			for _, q := range queries {
				q.From = now.Add(-72 * time.Hour)
				want := must.Get(json.Marshal(must.Get(waits.Of(ctx, one, &q))(rt)))(rt)
				for name, r := range reporters {
					if got := must.Get(json.Marshal(must.Get(r.Of(ctx, &q))(rt)))(rt); string(got) != string(want) {
						rt.Fatalf("%s, %+v:\n%s\nwithout a memory:\n%s", name, q, got, want)
					}
				}
			}
		}
		rt.Repeat(actions)
		passed++
	})
}

// TestAReportReadsWhatChanged counts what reports read of a store: the second one only summaries, and one after a
// change beside them only the thread that changed.
func TestAReportReadsWhatChanged(t *testing.T) {
	const threads = 200
	s := &reads.Counter{Store: memstore.New()}
	d := &desk{t: t, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	d.Ledger = must.Get(ledger.Open(s, &ledger.Options{Now: func() time.Time { return d.now }}))(t)
	t.Cleanup(func() { must.Do(t, d.Close()) })
	var ids []posthouse.ID
	for range threads {
		ids = append(ids, d.ask(posthouse.Gate{}))
		d.now = d.now.Add(time.Minute)
	}
	for _, id := range ids[:threads/2] {
		d.decide(id, posthouse.Approve, "alice")
	}
	memory := inbox.NewMemory(0)
	r := waits.NewReporter(d.Ledger, memory)
	report := func() int {
		s.N = 0
		if got := must.Get(r.Of(t.Context(), nil))(t); got.Looked != threads {
			t.Fatalf("it looked at %d questions, want %d", got.Looked, threads)
		}
		return s.N
	}
	first, second := report(), report()
	const summaries = threads + threads/2 // of all threads, and one for each open gate
	if second > summaries || first < 2*second {
		t.Errorf("the first report read %d times, the second %d; it has %d summaries to read", first, second, summaries)
	}
	d.decide(ids[threads-1], posthouse.Reject, "bob")
	if third := report(); third > summaries+12 {
		t.Errorf("after one decision a report read %d times, before %d", third, second)
	}
	if known, _ := memory.Size(); known > threads+threads/2+1 {
		t.Errorf("%d threads are known, of %d, half of them with open gates, and one that has moved", known, threads)
	}
}

// TestReportsAtOnce makes reports from many goroutines while threads change. Each says of a moment what was so then:
// nothing that was decided before it began is open in it.
func TestReportsAtOnce(t *testing.T) {
	d := open(t)
	r := waits.NewReporter(d.Ledger, inbox.NewMemory(30_000))
	var ids []posthouse.ID
	for range 60 {
		ids = append(ids, d.ask(posthouse.Gate{}))
	}
	var mu sync.Mutex
	decided := 0
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 15 {
				mu.Lock()
				before := decided
				mu.Unlock()
				got, err := r.Of(t.Context(), &waits.Query{To: d.now.Add(time.Hour)})
				if err != nil {
					t.Error(err)
					return
				}
				if q := got.Questions[0]; q.Decided < before || q.Decided+q.Open < len(ids) {
					t.Errorf("after %d decisions, %d are decided and %d open", before, q.Decided, q.Open)
				}
			}
		})
	}
	work.Go(func() {
		for _, id := range slices.Backward(ids) {
			_, err := d.Decide(t.Context(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			decided++
			mu.Unlock()
		}
	})
	work.Wait()
}
