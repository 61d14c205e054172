package natstask_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/natstask"
)

// A closing engine notes what it is called for once it has been stopped.
type closing struct {
	task.Engine
	called         chan struct{}
	stopped        atomic.Bool
	behind, during atomic.Int32
}

func (c *closing) Disconnect(context.Context, string) error {
	c.during.Add(1)
	defer c.during.Add(-1)
	if c.stopped.Load() {
		c.behind.Add(1)
	}
	select {
	case c.called <- struct{}{}:
	default:
	}
	return nil
}

// TestNothingBeginsAfterStop, nor goes on, though requests come all the time.
func TestNothingBeginsAfterStop(t *testing.T) {
	connect := startNATS(t)
	crowd := connect()
	engines := make([]*closing, 100)
	for i := range engines {
		e := &closing{called: make(chan struct{}, 1)}
		engines[i] = e
		conn := connect()
		stop, err := natstask.Serve(conn, e, nil)
		if err != nil {
			t.Fatal(err)
		}
		end, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-end:
					return
				default:
					_ = crowd.Publish("posthouse.task.w.any.disconnect", []byte(`{"session":"worker-x"}`))
				}
			}
		}()
		<-e.called
		stop()
		e.stopped.Store(true)
		if n := e.during.Load(); n > 0 {
			t.Errorf("engine %d: %d calls go on behind stop", i, n)
		}
		close(end)
		<-ended
		if err := crowd.Flush(); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	for i, e := range engines {
		if n := e.behind.Load(); n > 0 {
			t.Errorf("engine %d: %d calls began behind stop", i, n)
		}
	}
}
