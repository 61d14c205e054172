package waits_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/waits"
)

// A desk is a Ledger with a clock that the test moves.
type desk struct {
	*ledger.Ledger
	t   *testing.T
	now time.Time
	n   int
}

func open(t *testing.T) *desk {
	d := &desk{t: t, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	d.Ledger = must.Get(ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return d.now }}))(t)
	t.Cleanup(func() { must.Do(t, d.Close()) })
	return d
}

func (d *desk) ask(g posthouse.Gate) posthouse.ID {
	d.t.Helper()
	d.n++
	if g.Name == "" {
		g.Name = "refund"
	}
	c, err := d.Commit(context.Background(), &ledger.Draft{Thread: fmt.Sprint("t", d.n), Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "shop",
	}, Gates: []posthouse.Gate{g}})
	must.Do(d.t, err)
	return c.Gates[0].ID
}

func (d *desk) decide(id posthouse.ID, v posthouse.Verdict, by string) {
	d.t.Helper()
	if v == posthouse.Cancel {
		must.Get(d.Withdraw(context.Background(), id, ledger.Withdrawal{By: by, Operator: true}))(d.t)
		return
	}
	must.Get(d.Decide(context.Background(), id, posthouse.Decision{Verdict: v, By: by}))(d.t)
}

func (d *desk) report(q waits.Query) *waits.Report {
	d.t.Helper()
	return must.Get(waits.Of(context.Background(), d.Ledger, &q))(d.t)
}

func near(got waits.Length, want time.Duration) bool {
	return (time.Duration(got) - want).Abs() <= want/20
}

func person(t *testing.T, q *waits.Question, name string) *waits.Person {
	t.Helper()
	for _, p := range q.People {
		if p.Person == name {
			return p
		}
	}
	t.Fatalf("%q has no row among %d of %s", name, len(q.People), q.Question)
	return nil
}

func TestWaitsByQuestionAndPerson(t *testing.T) {
	d := open(t)
	early := d.ask(posthouse.Gate{})
	d.now = d.now.Add(time.Hour)
	d.decide(early, posthouse.Approve, "alice") // before the period
	from := d.now.Add(time.Minute)
	d.now = from
	for i := range 99 {
		id := d.ask(posthouse.Gate{Assignees: []string{"alice", "bob"}})
		d.now = d.now.Add(time.Duration(i+1) * time.Minute)
		d.decide(id, posthouse.Approve, "alice")
	}
	expired := d.ask(posthouse.Gate{Assignees: []string{"alice", "bob"}, ExpiresAt: d.now.Add(time.Hour)})
	handed := d.ask(posthouse.Gate{Assignees: []string{"alice"}})
	quorum := d.ask(posthouse.Gate{Name: "payout", Quorum: &posthouse.Quorum{Need: 2}})
	d.decide(d.ask(posthouse.Gate{}), posthouse.Cancel, "alice")
	d.now = d.now.Add(time.Hour)
	must.Get(commit.Expire(t.Context(), d.Core(), expired))(t)
	must.Get(d.Delegate(t.Context(), handed, posthouse.Delegation{By: "alice", To: "carol"}))(t)
	d.decide(quorum, posthouse.Approve, "bob")
	d.now = d.now.Add(time.Hour)
	d.decide(handed, posthouse.Approve, "carol")
	d.decide(quorum, posthouse.Approve, "carol")
	d.ask(posthouse.Gate{Assignees: []string{"bob"}})
	d.ask(posthouse.Gate{})
	d.now = d.now.Add(3 * time.Hour)
	r := d.report(waits.Query{From: from})
	if len(r.Questions) != 2 || r.More || r.Questions[0].Question != "refund" {
		t.Fatalf("the report is %+v", r)
	}
	q := r.Questions[0]
	if q.Open != 2 || q.Decided != 100 || q.Expired != 1 || q.Withdrawn != 1 || !near(q.OpenSince.Longest, 3*time.Hour) || q.Wait.Longest != waits.Length(2*time.Hour) {
		t.Errorf("refund: %+v, open %+v, wait %+v", q.Figures, q.OpenSince, q.Wait)
	}
	alice := person(t, q, "alice")
	if alice.Decided != 99 || alice.Expired != 1 || alice.Open != 0 || !near(alice.Wait.Median, 50*time.Minute) || !near(alice.Wait.P90, 90*time.Minute) || alice.Wait.Longest != waits.Length(99*time.Minute) {
		t.Errorf("alice: %+v, wait %+v", alice.Figures, alice.Wait)
	}
	if bob := person(t, q, "bob"); bob.Open != 1 || bob.Decided != 0 || bob.Expired != 1 || bob.Wait != nil {
		t.Errorf("bob: %+v", bob.Figures)
	}
	if carol := person(t, q, "carol"); carol.Decided != 1 || carol.Wait.Longest != waits.Length(time.Hour) {
		t.Errorf("carol waits from when it was handed to her: %+v, %+v", carol.Figures, carol.Wait)
	}
	if anyone := person(t, q, ""); anyone.Open != 1 {
		t.Errorf("open to anyone: %+v", anyone.Figures)
	}
	payout := r.Questions[1]
	if payout.Decided != 1 || person(t, payout, "bob").Decided != 1 || person(t, payout, "carol").Decided != 1 || person(t, payout, "bob").Wait.Longest != waits.Length(time.Hour) {
		t.Errorf("payout: %+v", payout.Figures)
	}
	decided, gone := 0, 0
	for i, day := range r.Days {
		decided, gone = decided+day.Decided, gone+day.Expired
		if at, err := time.Parse(time.DateOnly, day.Day); err != nil || at.Before(r.From.Truncate(24*time.Hour)) || at.After(r.To) || i > 0 && day.Day <= r.Days[i-1].Day {
			t.Errorf("day %d is %+v", i, day)
		}
	}
	if decided != 101 || gone != 1 || len(r.Days) < 4 {
		t.Errorf("by day there are %d decisions and %d that expired: %+v", decided, gone, r.Days)
	}
	if r := d.report(waits.Query{From: from, Question: "payout"}); len(r.Questions) != 1 {
		t.Errorf("of one question: %+v", r.Questions)
	}
	if r := d.report(waits.Query{From: from, To: from.Add(time.Minute)}); r.Questions[0].Decided != 0 {
		t.Errorf("what was decided after the period counts: %+v", r.Questions[0].Figures)
	}
}

func TestAReportOfMuchIsBounded(t *testing.T) {
	d := open(t)
	for i := range 40 {
		d.decide(d.ask(posthouse.Gate{Name: fmt.Sprint("q", i)}), posthouse.Approve, "alice")
		d.now = d.now.Add(time.Second)
	}
	if r := d.report(waits.Query{Look: 10}); !r.More || r.Looked != 10 || len(r.Questions) != 10 {
		t.Errorf("ten of forty: looked %d, more %t, %d questions", r.Looked, r.More, len(r.Questions))
	}
	if r := d.report(waits.Query{}); r.More || r.Looked != 40 {
		t.Errorf("all forty: looked %d, more %t", r.Looked, r.More)
	}
	for name, q := range map[string]waits.Query{
		"backwards":  {From: d.now, To: d.now.Add(-time.Hour)},
		"negative":   {Look: -1},
		"everything": {Look: 1 << 30},
	} {
		if _, err := waits.Of(t.Context(), d.Ledger, &q); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

func ExampleOf() {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	led, err := ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	asked, err := led.Commit(context.Background(), &ledger.Draft{
		Thread: "order-1", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "refund"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	now = now.Add(90 * time.Minute)
	if _, err := led.Decide(context.Background(), asked.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		fmt.Println(err)
		return
	}
	now = now.Add(time.Minute)
	report, err := waits.Of(context.Background(), led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range report.Questions {
		fmt.Println(q.Question, q.Decided, q.Wait.Longest, q.People[0].Person)
	}
	// Output:
	// refund 1 1h30m0s alice
}
