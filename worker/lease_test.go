package worker

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse/task"
)

// TestAThawedWorker goes on in the middle of a handler, before the goroutine that sends
// heartbeats does: it must see by itself that its lease is over.
func TestAThawedWorker(t *testing.T) {
	for name, goesOn := range map[string]func(e *execution) error{
		"asks its context": func(e *execution) error {
			if e.Context().Err() == nil {
				return nil
			}
			return context.Cause(e.Context())
		},
		"asks a context of its own": func(e *execution) error {
			ctx, cancel := context.WithCancel(e.Context())
			defer cancel()
			_ = e.Heartbeat()
			<-ctx.Done()
			return context.Cause(ctx)
		},
		"sends a heartbeat":  (*execution).Heartbeat,
		"has kept its state": func(e *execution) error { return e.Checkpoint([]byte("x")) },
		"has loaded its state": func(e *execution) error {
			_, err := e.LoadCheckpoint()
			return err
		},
		"begins": func(e *execution) (err error) {
			err = ErrCutOff
			e.handle(func(Task) error {
				err = nil
				return nil
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine := &slowEngine{}
				w, err := New(engine, nil)
				if err != nil {
					t.Fatal(err)
				}
				c := newConnection(t.Context(), w, &task.Session{ID: "s", Lease: 3 * time.Second}) // the test does not wait for its end
				defer c.lease.stop()
				e := c.begin(&task.Claim{ID: task.ClaimID{}, Thread: "t", Task: "x"})
				defer c.finish(e)
				time.Sleep(1900 * time.Millisecond)
				if err := e.Heartbeat(); err != nil || e.Context().Err() != nil {
					t.Fatalf("within the lease: %v", err)
				}
				engine.takes = func() { time.Sleep(200 * time.Millisecond) }
				if name != "has kept its state" && name != "has loaded its state" {
					engine.takes()
				}
				if err := goesOn(e); !errors.Is(err, ErrCutOff) {
					t.Errorf("behind the lease: %v", err)
				}
				if !errors.Is(context.Cause(c.ctx), ErrCutOff) {
					t.Error("the session goes on")
				}
			})
		})
	}
}

// A slowEngine takes its time for slots.
type slowEngine struct {
	task.Engine
	takes func()
}

func (e *slowEngine) Save(context.Context, task.ClaimID, uint64, []byte) error {
	e.takes()
	return nil
}

func (e *slowEngine) Load(context.Context, task.ClaimID) ([]byte, error) {
	e.takes()
	return json.Marshal(nil)
}

// TestEndOfALeaseIsSeenByAll: that one goroutine hears of the end hides it from no other.
func TestEndOfALeaseIsSeenByAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLease(3 * time.Second)
		defer l.stop()
		<-l.end()
		for range 2 {
			if !l.isOver() {
				t.Error("it goes on")
			}
		}
	})
}

// TestAHandlerOfALostSessionDoesNotBegin gives a worker a claim right after a heartbeat was
// answered that the engine does not know the session any more.
func TestAHandlerOfALostSessionDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := New(&slowEngine{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := newConnection(t.Context(), w, &task.Session{ID: "s", Lease: 3 * time.Second})
		defer c.lease.stop()
		c.over(ErrLost)
		e := c.begin(&task.Claim{Thread: "t", Task: "x"})
		defer c.finish(e)
		e.handle(func(Task) error {
			t.Error("the handler began")
			return nil
		})
	})
}
