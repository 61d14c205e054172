package notify_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/notify"
)

// TestDeliveriesAreKept: the newest attempts of an endpoint are kept within a bound, over a restart, with how
// each went; a hostile receiver's error is cut.
func TestDeliveriesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{}
		e := notify.Endpoint{Name: "ops", Channel: r, Retry: posthouse.RetryPolicy{InitialDelay: time.Second, MaxDelay: time.Second}}
		n, stop := d.start(d.led, e)
		if all := must.Get(n.Deliveries(t.Context(), "ops"))(t); len(all) != 0 {
			t.Errorf("of a new endpoint there are %+v", all)
		}
		for range notify.MaxDeliveries {
			d.ask()
		}
		time.Sleep(10 * time.Second)
		failed := 0
		r.set(func(m *notify.Message) error {
			if m.Attempt > 2 {
				return nil
			}
			failed++
			return &notify.Failure{Message: strings.Repeat("é\x1b[31m", 1000), Status: 503}
		})
		d.ask()
		time.Sleep(10 * time.Second)
		stop()
		n, _ = d.start(d.led, e)
		all := must.Get(n.Deliveries(t.Context(), "ops"))(t)
		if len(all) != notify.MaxDeliveries {
			t.Fatalf("%d attempts are kept, want %d", len(all), notify.MaxDeliveries)
		}
		for i, want := range []notify.Delivery{{Attempt: 3, Delivered: true}, {Attempt: 2, Status: 503}, {Attempt: 1, Status: 503}, {Attempt: 1, Delivered: true}} {
			got := &all[i]
			if got.Attempt != want.Attempt || got.Delivered != want.Delivered || got.Status != want.Status || got.Type != notify.GateOpened || got.Thread == "" || got.At.IsZero() || got.Replay {
				t.Errorf("the attempt before the last %d is %+v, want %+v", i, got, want)
			}
			if len(got.Error) > 200 || (got.Error == "") != want.Delivered {
				t.Errorf("its error has %d bytes: %q", len(got.Error), got.Error)
			}
		}
		if all[0].ID != all[1].ID || all[1].ID != all[2].ID || all[3].ID == all[0].ID {
			t.Errorf("the ids are %s, %s, %s, %s", all[0].ID, all[1].ID, all[2].ID, all[3].ID)
		}
		if b := must.Get(json.Marshal(all))(t); len(b) > 32<<10 {
			t.Errorf("they take %d bytes", len(b))
		}

		r.set(nil)
		must.Do(t, n.Replay(t.Context(), "ops", time.Now().Add(-time.Hour), "alice"))
		time.Sleep(time.Minute)
		if all := must.Get(n.Deliveries(t.Context(), "ops"))(t); !all[0].Replay || all[0].Attempt != 1 || !all[0].Delivered {
			t.Errorf("the newest of a replay is %+v", all[0])
		}
		if s := d.status(n, "ops"); s.Replay.Sent != notify.MaxDeliveries+1 {
			t.Errorf("the replay sent %d", s.Replay.Sent)
		}
		_, err := n.Deliveries(t.Context(), "nothing")
		must.Fail(t, err, posthouse.ErrNotFound)
	})
}
