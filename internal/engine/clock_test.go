package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestAShortWaitMovesTheClock waits for a month below WithClock, and not once the program is to stop.
func TestAShortWaitMovesTheClock(t *testing.T) {
	now := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	led := must.Get(ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return now }}))(t)
	ctx := engine.WithClock(t.Context(), func(at time.Time) { now = at })
	due := now.Add(30 * 24 * time.Hour)
	if come := must.Get(engine.WaitOrDrain(ctx, led, due))(t); !come || !now.Equal(due) {
		t.Errorf("the time has come: %t, and it is %s", come, now)
	}
	drain := make(chan struct{})
	close(drain)
	if come := must.Get(engine.WaitOrDrain(engine.WithDrain(ctx, drain), led, due.Add(time.Hour)))(t); come || !now.Equal(due) {
		t.Errorf("a program that is to stop has come to its time: %t, and it is %s", come, now)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := engine.WaitOrDrain(ended, led, due.Add(time.Hour))
	must.Fail(t, err, context.Canceled)
	must.Do(t, led.Close())
}
