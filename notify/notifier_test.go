package notify_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/substitutes"
)

func TestAGateIsToldWithItsDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{}
		n, _ := d.start(d.led, notify.Endpoint{Name: "ops", Channel: r})
		g := d.ask(func(g *posthouse.Gate) { g.Assignees = []string{"alice"}; g.ExpiresAt = time.Now().Add(time.Hour) })
		synctest.Wait()
		must.Get(d.led.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Reason: "fine"}))(t)
		synctest.Wait()
		all, times := r.messages()
		if len(all) != 2 || len(times) != 2 || all[0].Event.Type != notify.GateOpened || all[1].Event.Type != notify.GateDecided {
			t.Fatalf("the receiver has %v, ids %v; want the gate opened and decided", r.types(), times)
		}
		e := all[0].Event.Data
		if e.Thread != g.Thread || e.Program != "refunds" || e.Gate.Intent != "Refund order 7?" || e.Gate.Link != "https://posthouse.example.com/gates/"+string(g.ID) || e.Gate.Shown != g.Hash {
			t.Errorf("the gate is told as %+v of %+v", e.Gate, e)
		}
		if f := e.Gate.Fields; len(f) != 2 || f[0].Name != "amount" || string(f[0].Value) != "250" || f[1].Name != "currency" {
			t.Errorf("its fields are %v, want amount and currency", f)
		}
		if x := all[1].Event.Data.Decision; x.Verdict != posthouse.Approve || x.By != "alice" || x.Reason != "fine" {
			t.Errorf("the decision is told as %+v", x)
		}
		time.Sleep(time.Second)
		if s := d.status(n, "ops"); s.State != notify.StateOK || s.Delivered != 2 || s.Pending != 0 || s.GivenUp != 0 {
			t.Errorf("the endpoint is %+v, want two delivered", s)
		}
	})
}

func TestAReminderIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		all, mine := &receiver{}, &receiver{}
		endpoints := []notify.Endpoint{
			{Name: "ops", Channel: all, Events: []notify.Type{notify.GateReminded}},
			{Name: "bobs", Channel: mine, Events: []notify.Type{notify.GateReminded}, Rule: notify.Rule{Assignees: []string{"bob"}}},
		}
		d.start(d.led, endpoints...)
		d.start(d.open(d.store), endpoints...)
		at := time.Now().Add(time.Hour)
		g := d.ask(func(g *posthouse.Gate) {
			g.Assignees, g.Quorum = []string{"alice", "carol", "dora"}, &posthouse.Quorum{Need: 2}
			g.Remind = []time.Time{at, at.Add(time.Hour)}
		})
		must.Get(d.led.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "carol"}))(t)
		must.Get(d.led.Delegate(t.Context(), g.ID, posthouse.Delegation{By: "alice", To: "bob"}))(t)
		must.Get(substitutes.Name(t.Context(), d.led, deciders.Substitution{By: "dora", To: "erin", Until: at.Add(time.Hour)}))(t)
		time.Sleep(time.Hour)
		must.Get(commit.Remind(t.Context(), d.led.Core(), g.ID))(t)
		time.Sleep(time.Minute)
		for _, r := range []*receiver{all, mine} {
			took, times := r.messages()
			if len(took) != 1 || len(times) != 1 {
				t.Fatalf("a receiver has %v, ids %v; want one reminder", r.types(), times)
			}
			e := took[0].Event.Data
			if !slices.Equal(e.Reminder.To, []string{"bob", "dora", "erin"}) || !e.Reminder.Next.Equal(posthouse.ToMillis(at.Add(time.Hour))) || e.Gate.ID != g.ID {
				t.Errorf("the reminder is told as %+v of %+v; want it for bob, dora and her substitute", e.Reminder, e.Gate)
			}
		}
	})
}

func TestContentIsLeftOutWhereAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{}
		d.start(d.led, notify.Endpoint{Name: "ops", Channel: r, OmitContent: true})
		g := d.ask(func(g *posthouse.Gate) { g.Labels = map[string]string{"customer": "secret name"} })
		must.Get(d.led.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Reject, By: "alice", Reason: "secret reason"}))(t)
		must.Get(d.led.Commit(t.Context(), &ledger.Draft{
			Thread: "order-7", Checkpoint: &posthouse.Change{Status: posthouse.StatusDone, Labels: map[string]string{"customer": "secret name"}},
		}))(t)
		synctest.Wait()
		all, _ := r.messages()
		if len(all) != 3 {
			t.Fatalf("the receiver has %v", r.types())
		}
		for _, m := range all {
			if body := must.Get(json.Marshal(m.Event))(t); strings.Contains(string(body), "secret") {
				t.Errorf("%s has content: %s", m.Event.Type, body)
			}
			if m.Event.Data.Gate == nil {
				continue
			}
			g, x := m.Event.Data.Gate, m.Event.Data.Decision
			if g.Intent != "" || g.Text != "" || g.Fields != nil || g.Payload != nil || x != nil && x.Reason != "" {
				t.Errorf("%s has content: %+v %+v", m.Event.Type, g, x)
			}
		}
	})
}

func TestARestartLosesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{}
		e := notify.Endpoint{Name: "ops", Channel: r}
		_, stop := d.start(d.led, e)
		want := map[posthouse.ID]int{}
		for round := range 5 {
			for range 3 {
				want[d.ask().ID] = 1
			}
			synctest.Wait()
			stop()
			for range 3 {
				want[d.ask().ID] = 1
			}
			if round == 2 {
				time.Sleep(40 * 24 * time.Hour)
			}
			_, stop = d.start(d.led, e)
		}
		synctest.Wait()
		same(t, r.gates(), want)
	})
}

// same fails unless each gate was told as often as wanted.
func same(t *testing.T, have, want map[posthouse.ID]int) {
	t.Helper()
	for id := range want {
		if have[id] == 0 {
			t.Errorf("gate %s was never told", id)
		} else if have[id] != want[id] {
			t.Errorf("gate %s was told %d times, want %d", id, have[id], want[id])
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d gates were told, want %d", len(have), len(want))
	}
}

func TestOneOfThreeServersSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{}
		e := notify.Endpoint{Name: "ops", Channel: r}
		var stops []func()
		for range 3 {
			_, stop := d.start(d.open(d.store), e)
			stops = append(stops, stop)
		}
		want := map[posthouse.ID]int{}
		for _, stop := range stops { // each in turn is the last but the others to go
			for range 10 {
				want[d.ask().ID] = 1
			}
			time.Sleep(time.Second)
			stop()
			want[d.ask().ID] = 1
			time.Sleep(2 * time.Second)
		}
		_, stop := d.start(d.open(d.store), e)
		time.Sleep(time.Second)
		stop()
		same(t, r.gates(), want)
	})
}

// A process that is cut off from the store loses the endpoint to another one. It tells nothing more
// once it is back, and what both told has one id.
func TestAnOwnerThatIsCutOffIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{}
		e := notify.Endpoint{Name: "ops", Channel: r}
		line := &cable{Store: d.store}
		first, stopFirst := d.start(d.open(line), e)
		time.Sleep(5 * time.Second)
		owner := d.status(first, "ops").Owner
		second, _ := d.start(d.open(d.store), e)
		want := map[posthouse.ID]int{d.ask().ID: 1}
		time.Sleep(time.Second)
		line.set(true)
		want[d.ask().ID] = 1
		time.Sleep(10 * time.Second)
		same(t, r.gates(), want)
		if s := d.status(second, "ops"); s.Owner == owner || s.Owner == "" {
			t.Fatalf("the endpoint is still with the process that is cut off: %+v", s)
		}
		line.set(false)
		for range 5 {
			want[d.ask().ID] = 1
		}
		time.Sleep(5 * time.Second)
		same(t, r.gates(), want)
		stopFirst()
	})
}

func TestAReceiverThatIsBrokenForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		sick, well := &receiver{answer: func(*notify.Message) error { return errBroken }}, &receiver{}
		n, _ := d.start(d.led, notify.Endpoint{Name: "sick", Channel: sick}, notify.Endpoint{Name: "well", Channel: well})
		want := map[posthouse.ID]int{}
		for range 24 * 4 {
			want[d.ask().ID] = 1
			time.Sleep(15 * time.Minute)
		}
		same(t, well.gates(), want)
		s := d.status(n, "sick")
		if s.State != notify.StateDown || s.Pending != notify.Window || s.Error == nil || s.Error.Message != errBroken.Error() || s.GivenUp != 0 {
			t.Errorf("after a day the endpoint is %+v, want it down with %d messages that wait", s, notify.Window)
		}
		if tried := sick.tried(); tried > 1000 {
			t.Errorf("it was tried %d times in a day", tried)
		}
		sick.set(nil)
		time.Sleep(time.Hour + time.Minute)
		same(t, sick.gates(), want)
		if s := d.status(n, "sick"); s.State != notify.StateOK || s.Delivered != uint64(len(want)) {
			t.Errorf("once it is back the endpoint is %+v", s)
		}
	})
}

// One message that the receiver never takes holds up no other, and is given up in the end.
func TestAMessageThatIsNeverTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.ask(func(g *posthouse.Gate) { g.Name = "other" })
		r := &receiver{answer: func(m *notify.Message) error {
			if m.Event.Data.Gate.Name == "poison" {
				return errBroken
			}
			return nil
		}}
		n, _ := d.start(d.led, notify.Endpoint{Name: "ops", Channel: r, Retry: posthouse.RetryPolicy{MaxAttempts: 5, InitialDelay: time.Second, MaxDelay: time.Minute}})
		bad := d.ask(func(g *posthouse.Gate) { g.Name = "poison" })
		want := map[posthouse.ID]int{}
		for range 10 {
			want[d.ask().ID] = 1
			time.Sleep(10 * time.Second)
		}
		same(t, r.gates(), want)
		s := d.status(n, "ops")
		if s.GivenUp != 1 || s.Pending != 0 || len(s.Last) != 1 {
			t.Errorf("the endpoint is %+v, want gate %s given up", s, bad.ID)
		}
		r.set(nil)
		must.Do(t, n.Replay(t.Context(), "ops", time.Now().Add(-time.Hour), "alice"))
		time.Sleep(time.Minute)
		if all, _ := r.messages(); all[len(all)-1] == nil || r.gates()[bad.ID] != 1 {
			t.Errorf("a replay did not tell of gate %s", bad.ID)
		}
	})
}

// A message that the receiver never takes does not keep an endpoint down once the receiver is back.
func TestARefusedMessageDoesNotKeepAnEndpointDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		bad := func(m *notify.Message) bool { return m.Event.Data.Gate.Name == "large" }
		r := &receiver{answer: func(*notify.Message) error { return errBroken }}
		n, _ := d.start(d.led, notify.Endpoint{Name: "ops", Channel: r, Retry: posthouse.RetryPolicy{MaxAttempts: 5}})
		for range 3 {
			d.ask(func(g *posthouse.Gate) { g.Name = "large" })
		}
		want := map[posthouse.ID]int{}
		for range 2 * notify.Window {
			want[d.ask().ID] = 1
		}
		time.Sleep(24 * time.Hour)
		if s := d.status(n, "ops"); s.State != notify.StateDown || s.Pending != notify.Window || s.Oldest.After(time.Now().Add(-23*time.Hour)) {
			t.Fatalf("after a day the endpoint is %+v, want it down", s)
		}
		var mu sync.Mutex
		refused := map[string]int{}
		r.set(func(m *notify.Message) error {
			if !bad(m) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			refused[m.ID]++
			return &notify.Failure{Message: "too large", Status: 413}
		})
		time.Sleep(2 * time.Hour)
		same(t, r.gates(), want)
		time.Sleep(6 * time.Hour)
		if s := d.status(n, "ops"); s.State != notify.StateOK || s.GivenUp != 3 {
			t.Errorf("the endpoint is %+v, want what was refused given up", s)
		}
		for id, n := range refused { // it was away for long, so that a failure or two say nothing of a message
			if n < 3 {
				t.Errorf("%s was given up after it was refused %d times", id, n)
			}
		}
	})
}

func TestAReceiverThatIsGoneIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{answer: func(*notify.Message) error { return &notify.Failure{Message: "gone", Status: 410, Gone: true} }}
		e := notify.Endpoint{Name: "ops", Channel: r}
		_, stop := d.start(d.led, e)
		want := map[posthouse.ID]int{}
		for range 5 {
			want[d.ask().ID] = 1
			time.Sleep(time.Hour)
		}
		stop()
		n, _ := d.start(d.led, e)
		time.Sleep(24 * time.Hour)
		if s := d.status(n, "ops"); s.State != notify.StateGone || r.tried() != 1 {
			t.Errorf("a receiver that is gone was tried %d times; the endpoint is %+v", r.tried(), s)
		}
		r.set(nil)
		must.Do(t, n.Resume(t.Context(), "ops"))
		time.Sleep(time.Minute)
		same(t, r.gates(), want)
	})
}

// A receiver that wants no more during a replay is left alone. Once it is resumed, the replay goes on
// with the message that it was at.
func TestAReceiverThatIsGoneEndsAReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{}
		n, _ := d.start(d.led, notify.Endpoint{Name: "ops", Channel: r})
		want := map[posthouse.ID]int{}
		for range 5 {
			want[d.ask().ID] = 2
		}
		synctest.Wait()
		before := r.tried()
		r.set(func(*notify.Message) error { return &notify.Failure{Message: "gone", Status: 410, Gone: true} })
		must.Do(t, n.Replay(t.Context(), "ops", time.Now().Add(-time.Minute), "alice"))
		time.Sleep(time.Hour)
		s := d.status(n, "ops")
		if s.State != notify.StateGone || r.tried() != before+1 || s.Error == nil || s.Replay == nil || !s.Replay.Ended.IsZero() || s.Replay.Failed != 0 {
			t.Errorf("a receiver that is gone was tried %d times in a replay; the endpoint is %+v with %+v", r.tried()-before, s, s.Replay)
		}
		r.set(nil)
		must.Do(t, n.Resume(t.Context(), "ops"))
		time.Sleep(time.Minute)
		same(t, r.gates(), want)
		if s := d.status(n, "ops"); s.State != notify.StateOK || s.Replay.Sent != 5 || s.Replay.Ended.IsZero() {
			t.Errorf("once it is resumed the endpoint is %+v with %+v", s, s.Replay)
		}
	})
}

func TestAReplayGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{}
		e := notify.Endpoint{Name: "ops", Channel: r}
		n, stop := d.start(d.led, e)
		d.ask()
		time.Sleep(2 * time.Hour)
		since := time.Now()
		want := map[posthouse.ID]int{}
		for range 20 {
			want[d.ask().ID] = 2
			time.Sleep(time.Minute)
		}
		told, _ := r.messages()
		var mu sync.Mutex
		left := 7
		r.set(func(*notify.Message) error { // the receiver is slow, and the replay is cut in the middle
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			if left--; left < 0 {
				time.Sleep(time.Minute)
			}
			return nil
		})
		must.Do(t, n.Replay(t.Context(), "ops", since, "alice"))
		time.Sleep(10 * time.Second)
		stop()
		r.set(nil)
		n, _ = d.start(d.led, e)
		time.Sleep(time.Minute)
		s := d.status(n, "ops")
		if s.Replay == nil || s.Replay.Ended.IsZero() || s.Replay.By != "alice" || s.Replay.Sent < uint64(len(want)) {
			t.Fatalf("the replay is %+v, want %d messages", s.Replay, len(want))
		}
		have := r.gates()
		for id := range want {
			if have[id] < 2 || have[id] > 3 {
				t.Errorf("gate %s was told %d times, want twice, or once more after the restart", id, have[id])
			}
		}
		if len(have) != len(want)+1 {
			t.Errorf("%d gates were told, want %d and the one before the replay", len(have), len(want))
		}
		_, ids := r.messages()
		if len(ids) != len(told) {
			t.Errorf("a replay made new ids: %d, want %d", len(ids), len(told))
		}
	})
}

// An event that comes while a replay is under way is told at once.
func TestAReplayHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{}
		n, _ := d.start(d.led, notify.Endpoint{Name: "ops", Channel: r})
		for range 50 {
			d.ask()
		}
		synctest.Wait()
		r.set(func(m *notify.Message) error {
			if m.Event.Data.Gate.Name != "urgent" {
				time.Sleep(time.Second)
			}
			return nil
		})
		must.Do(t, n.Replay(t.Context(), "ops", time.Now().Add(-time.Minute), ""))
		time.Sleep(5 * time.Second)
		g := d.ask(func(g *posthouse.Gate) { g.Name = "urgent" })
		time.Sleep(time.Second)
		if r.gates()[g.ID] != 1 {
			t.Error("a gate waits for a replay")
		}
		time.Sleep(time.Minute)
		if s := d.status(n, "ops"); s.Replay.Sent != 50 || s.Replay.Ended.IsZero() {
			t.Errorf("the replay is %+v", s.Replay)
		}
	})
}

// A backlog stays in the log: a receiver that is slow, or away, has a bounded number of messages here.
func TestABacklogStaysInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{}
		e := notify.Endpoint{Name: "ops", Channel: r}
		_, stop := d.start(d.led, e)
		stop()
		want := map[posthouse.ID]int{}
		for range 2000 {
			want[d.ask().ID] = 1
		}
		r.set(func(*notify.Message) error { return errBroken })
		count := &counter{Store: d.store}
		n, _ := d.start(d.open(count), e)
		time.Sleep(24 * time.Hour)
		if read := count.read(); read > 2*(notify.Window+2) {
			t.Errorf("%d entries were read of a backlog that cannot be told", read)
		}
		if s := d.status(n, "ops"); s.State != notify.StateDown || s.GivenUp != 0 {
			t.Errorf("after a day the endpoint is %+v", s)
		}
		slot := must.Get(d.store.Slot(t.Context(), posthouse.SlotKey{Thread: "$notify", Step: "state-ops"}, posthouse.SlotOp{}))(t)
		if len(slot.Value) > 32<<10 {
			t.Errorf("%d bytes are kept of the endpoint", len(slot.Value))
		}
		r.set(nil)
		time.Sleep(2 * time.Hour)
		same(t, r.gates(), want)
	})
}

func TestRulesChooseWhatIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		far := time.Now().Add(48 * time.Hour)
		near := time.Now().Add(time.Hour)
		rules := map[string]notify.Rule{
			"all":      {},
			"named":    {Gates: []string{"ref*d"}},
			"other":    {Gates: []string{"deploy"}},
			"program":  {Programs: []string{"refunds"}},
			"alice":    {Assignees: []string{"alice", "bob"}},
			"dave":     {Assignees: []string{"dave"}},
			"labelled": {Labels: map[string]string{"team": "eu*"}},
			"large":    {Content: []notify.Condition{{At: "/amount", Above: "249.99"}, {At: "/currency", Is: []string{"EUR", "USD"}}}},
			"small":    {Content: []notify.Condition{{At: "/amount", Below: "250"}}},
			"soon":     {Within: 2 * time.Hour},
		}
		receivers := map[string]*receiver{}
		var endpoints []notify.Endpoint
		for name, rule := range rules {
			receivers[name] = &receiver{}
			endpoints = append(endpoints, notify.Endpoint{Name: name, Channel: receivers[name], Rule: rule, Events: []notify.Type{notify.GateOpened}})
		}
		d.start(d.led, endpoints...)
		gates := []*posthouse.Gate{
			d.ask(func(g *posthouse.Gate) { g.ExpiresAt = far }),
			d.ask(func(g *posthouse.Gate) { g.Assignees, g.ExpiresAt = []string{"bob"}, near }),
			d.ask(func(g *posthouse.Gate) {
				g.Name, g.Labels, g.Payload = "deploy", map[string]string{"team": "eu-1"}, []byte(`{"amount":2.4999e2}`)
			}),
		}
		synctest.Wait()
		want := map[string][]int{
			"all": {0, 1, 2}, "named": {0, 1}, "other": {2}, "program": {0, 1, 2}, "alice": {1}, "dave": nil, "labelled": {2}, "large": {0, 1}, "small": {2}, "soon": {1},
		}
		for name, r := range receivers {
			var told []int
			for i, g := range gates {
				if r.gates()[g.ID] > 0 {
					told = append(told, i)
				}
			}
			if !slices.Equal(told, want[name]) {
				t.Errorf("%s was told of %v, want %v", name, told, want[name])
			}
		}
	})
}

func TestAnUnknownEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		n, _ := d.start(d.led, notify.Endpoint{Name: "ops", Channel: &receiver{}})
		_, err := n.Test(t.Context(), "sales")
		must.Fail(t, err, posthouse.ErrNotFound)
		must.Fail(t, n.Replay(t.Context(), "sales", time.Now(), ""), posthouse.ErrNotFound)
		must.Fail(t, n.Replay(t.Context(), "ops", time.Now().Add(time.Hour), ""), posthouse.ErrInvalid)
		must.Fail(t, n.Resume(t.Context(), "sales"), posthouse.ErrNotFound)
		tested := must.Get(n.Test(t.Context(), "ops"))(t)
		if !tested.Delivered || tested.Message == "" {
			t.Errorf("a test of a receiver that works is %+v", tested)
		}
	})
}

func TestEndpointsThatCannotBeUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		ok := &receiver{}
		for what, e := range map[string][]notify.Endpoint{
			"no name":      {{Channel: ok}},
			"a long name":  {{Name: fmt.Sprintf("%065d", 0), Channel: ok}},
			"no channel":   {{Name: "ops"}},
			"twice":        {{Name: "ops", Channel: ok}, {Name: "ops", Channel: ok}},
			"a type":       {{Name: "ops", Channel: ok, Events: []notify.Type{"gate.opend"}}},
			"a pointer":    {{Name: "ops", Channel: ok, Rule: notify.Rule{Content: []notify.Condition{{At: "amount", Is: []string{"1"}}}}}},
			"no condition": {{Name: "ops", Channel: ok, Rule: notify.Rule{Content: []notify.Condition{{At: "/amount"}}}}},
			"a number":     {{Name: "ops", Channel: ok, Rule: notify.Rule{Content: []notify.Condition{{At: "/amount", Above: "many"}}}}},
			"a jitter":     {{Name: "ops", Channel: ok, Retry: posthouse.RetryPolicy{Jitter: 2}}},
			"too many":     make([]notify.Endpoint, 65),
		} {
			if _, err := notify.New(d.led, e, nil); err == nil {
				t.Errorf("%s is taken", what)
			} else {
				must.Fail(t, err, posthouse.ErrInvalid)
			}
		}
		_, err := notify.New(d.led, nil, &notify.Options{URL: "posthouse.example.com"})
		must.Fail(t, err, posthouse.ErrInvalid)
	})
}
