package notify_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/notify"
)

// told returns who was told of a gate, a text for each event and endpoint.
func (d *desk) told(n *notify.Notifier, id posthouse.ID) (all []string) {
	d.t.Helper()
	for _, x := range must.Get(n.Told(d.t.Context(), id))(d.t).Items {
		all = append(all, fmt.Sprintf("%s %s %s", x.Endpoint, x.Event, x.State))
	}
	return all
}

func (d *desk) wantTold(n *notify.Notifier, id posthouse.ID, want ...string) {
	d.t.Helper()
	if got := d.told(n, id); !slices.Equal(got, want) {
		d.t.Errorf("the gate was told as\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAGateSaysWhoWasTold: each server says of a gate who was told by which endpoint and when, of reminders and
// of who has it now, too, and where telling fails, since when and why; also after the owner of the
// endpoints is gone, and when many other deliveries came after.
func TestAGateSaysWhoWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		good, bad := &receiver{}, &receiver{}
		bad.set(func(*notify.Message) error { return &notify.Failure{Message: "the receiver answered 503", Status: 503} })
		good.set(func(m *notify.Message) error { m.Reached = []string{"alice"}; return nil })
		retry := posthouse.RetryPolicy{InitialDelay: time.Minute, MaxDelay: time.Minute, Jitter: 0.001}
		endpoints := []notify.Endpoint{
			{Name: "ops", Channel: good}, {Name: "pager", Channel: bad, Retry: retry},
			{Name: "sales", Channel: &receiver{}, Rule: notify.Rule{Gates: []string{"sale"}}},
			{Name: "ends", Channel: &receiver{}, Events: []notify.Type{notify.GateDecided}},
		}
		first, stop := d.start(d.led, endpoints...)
		second, _ := d.start(d.open(d.store), endpoints...)
		began := time.Now()
		g := d.ask(func(g *posthouse.Gate) {
			g.Assignees, g.Remind = []string{"alice"}, []time.Time{began.Add(10 * time.Minute)}
		})
		time.Sleep(150 * time.Second)
		for _, n := range []*notify.Notifier{first, second} {
			d.wantTold(n, g.ID, "ops gate.opened told", "pager gate.opened retrying")
		}
		all := must.Get(first.Told(t.Context(), g.ID))(t)
		if !reflect.DeepEqual(all, must.Get(second.Told(t.Context(), g.ID))(t)) || all.Endpoints != 4 {
			t.Errorf("two servers differ, of one is %+v", all)
		}
		ops, pager := all.Items[0], all.Items[1]
		if ops.Kind != "test" || ops.Attempts != 1 || ops.At.Before(began.Add(-time.Millisecond)) || ops.At.After(began.Add(time.Second)) || ops.Seq != g.Seq || !slices.Equal(ops.To, []string{"alice"}) || ops.Error != "" {
			t.Errorf("the endpoint that took it is %+v", ops)
		}
		if pager.Attempts != 3 || pager.Status != 503 || pager.Error != "the receiver answered 503" || !pager.Next.After(time.Now()) || pager.Failing.Sub(began).Abs() > time.Second || !pager.First.Before(pager.At) {
			t.Errorf("the endpoint that fails is %+v", pager)
		}
		if s := d.status(second, "pager"); s.Pending != 1 || s.Error == nil || s.Error.Since.Sub(began).Abs() > time.Second {
			t.Errorf("the endpoint that fails is %+v", s)
		}

		stop() // the other server goes on
		must.Get(d.led.Delegate(t.Context(), g.ID, posthouse.Delegation{By: "alice", To: "bob"}))(t)
		time.Sleep(10 * time.Minute)
		must.Get(commit.Remind(t.Context(), d.led.Core(), g.ID))(t)
		bad.set(nil)
		time.Sleep(2 * time.Minute)
		must.Get(d.led.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}))(t)
		for range 2 * notify.MaxDeliveries {
			d.ask()
		}
		time.Sleep(time.Minute)
		d.wantTold(second, g.ID, "ops gate.opened told", "pager gate.opened told", "ops gate.assigned told", "pager gate.assigned told",
			"ops gate.reminded told", "pager gate.reminded told", "ops gate.decided told", "pager gate.decided told", "ends gate.decided told")
		pager = must.Get(second.Told(t.Context(), g.ID))(t).Items[1]
		if pager.Attempts < 10 || pager.At.Sub(began) < 10*time.Minute || !pager.Failing.IsZero() || !pager.Next.IsZero() {
			t.Errorf("the endpoint that is back is %+v", pager)
		}
		_, err := second.Told(t.Context(), "gate-nothing")
		must.Fail(t, err, posthouse.ErrNotFound)
	})
}

// TestNothingIsClaimed: a gate is told only where the receiver took it. One that was passed over, refused, stopped,
// not reached yet, lost, or asked before the endpoint was there, says so.
func TestNothingIsClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		old := d.ask()
		time.Sleep(time.Second)
		r, gone, down := &receiver{}, &receiver{}, &receiver{}
		r.set(func(m *notify.Message) error {
			switch m.Event.Data.Gate.Name {
			case "passed":
				return notify.ErrPassed
			case "refused":
				m.Reached = []string{"alice"}
				return &notify.Failure{Message: "bob: " + strings.Repeat("\x1b[31m\u202e", 1000), Status: 550, Refused: true}
			}
			return nil
		})
		gone.set(func(*notify.Message) error {
			return &notify.Failure{Message: "it wants no more", Status: 410, Gone: true}
		})
		down.set(func(*notify.Message) error { return errBroken })
		n, _ := d.start(d.led, notify.Endpoint{Name: "ops", Channel: r}, notify.Endpoint{Name: "gone", Channel: gone}, notify.Endpoint{Name: "down", Channel: down})
		name := func(name string) func(*posthouse.Gate) { return func(g *posthouse.Gate) { g.Name = name } }
		passed, refused, lost := d.ask(name("passed")), d.ask(name("refused")), d.ask(name("lost"))
		for range notify.Window {
			d.ask()
		}
		time.Sleep(time.Second)
		last := d.ask(name("last"))
		time.Sleep(time.Minute)
		d.wantTold(n, old.ID, "ops gate.opened earlier", "gone gate.opened earlier", "down gate.opened earlier")
		d.wantTold(n, passed.ID, "ops gate.opened passed", "gone gate.opened stopped", "down gate.opened retrying")
		d.wantTold(n, refused.ID, "ops gate.opened givenUp", "gone gate.opened stopped", "down gate.opened retrying")
		d.wantTold(n, last.ID, "ops gate.opened told", "gone gate.opened stopped", "down gate.opened waiting")
		x := must.Get(n.Told(t.Context(), refused.ID))(t).Items[0]
		if len(x.Error) > 200 || x.Status != 550 || !slices.Equal(x.To, []string{"alice"}) {
			t.Errorf("the refused one is %+v", x)
		}
		if x := must.Get(n.Told(t.Context(), last.ID))(t).Items[2]; x.Error != errBroken.Error() || x.Failing.IsZero() || x.Attempts != 0 || !x.At.IsZero() {
			t.Errorf("the one that waits is %+v", x)
		}
		if s := d.status(n, "ops"); s.Delivered != notify.Window+2 {
			t.Errorf("%d were delivered, want all but the one passed over and the one refused", s.Delivered)
		}
		for _, made := range must.Get(n.Deliveries(t.Context(), "ops"))(t) {
			if made.Delivered && made.Thread == passed.Thread {
				t.Errorf("what was passed over is listed as delivered: %+v", made)
			}
		}
		for range notify.MaxDeliveries {
			d.ask()
		}
		time.Sleep(time.Minute)
		d.wantTold(n, lost.ID, "ops gate.opened told", "gone gate.opened stopped", "down gate.opened retrying")
		for s, err := range d.store.(posthouse.SlotLister).Slots(t.Context(), lost.Thread) {
			must.Do(t, err)
			must.Get(d.store.Slot(t.Context(), s.Key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision}))(t)
		}
		d.wantTold(n, lost.ID, "ops gate.opened unknown", "gone gate.opened stopped", "down gate.opened waiting")
	})
}

// TestWhatIsKeptOfAGateIsBounded: a gate that is handed on again and again keeps a bounded slot for an
// endpoint, with the newest messages and how the gate was opened and decided.
func TestWhatIsKeptOfAGateIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{}
		r.set(func(m *notify.Message) error {
			for i := range 1000 {
				m.Reached = append(m.Reached, fmt.Sprint(i, strings.Repeat("é", 1000)))
			}
			return nil
		})
		n, _ := d.start(d.led, notify.Endpoint{Name: "ops", Channel: r})
		g := d.ask(func(g *posthouse.Gate) { g.Assignees = []string{"p0"} })
		for i := range 60 {
			must.Get(d.led.Delegate(t.Context(), g.ID, posthouse.Delegation{By: fmt.Sprint("p", i), To: fmt.Sprint("p", i+1)}))(t)
		}
		must.Get(d.led.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "p60"}))(t)
		time.Sleep(time.Minute)
		all := must.Get(n.Told(t.Context(), g.ID))(t).Items
		if len(all) != 22 || all[0].Event != notify.GateOpened || all[21].Event != notify.GateDecided {
			t.Fatalf("there are %d: %v", len(all), d.told(n, g.ID))
		}
		for _, x := range all {
			if x.State != notify.ToldTaken || len(x.To) > 20 || x.Others != 1000-len(x.To) || len(x.To[0]) > 200 {
				t.Errorf("one is %s %s, to %d and %d", x.Event, x.State, len(x.To), x.Others)
			}
		}
		slots := 0
		for s, err := range d.store.(posthouse.SlotLister).Slots(t.Context(), g.Thread) {
			must.Do(t, err)
			slots++
			var kept struct{ Sent []json.RawMessage }
			must.Do(t, json.Unmarshal(s.Value, &kept))
			if len(kept.Sent) != 24 || len(s.Value) > 120<<10 {
				t.Errorf("a slot has %d messages in %d bytes", len(kept.Sent), len(s.Value))
			}
		}
		if slots != 1 {
			t.Errorf("of one gate and one endpoint there are %d slots", slots)
		}
	})
}
