package natstask_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/natstask"
)

// A patient engine has no task: its claims wait until they are cut off.
type patient struct {
	task.Engine
	waiting chan struct{}
}

func (p *patient) Claim(ctx context.Context, _ string) (*task.Claim, error) {
	p.waiting <- struct{}{}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (p *patient) Heartbeat(context.Context, string, []task.ClaimID) (*task.Pulse, error) {
	return &task.Pulse{}, nil
}

// TestClaimsDoNotDelayHeartbeats: when as many claims wait as may, a further one is refused at
// once, and heartbeats are answered.
func TestClaimsDoNotDelayHeartbeats(t *testing.T) {
	connect := startNATS(t)
	p := &patient{waiting: make(chan struct{}, 1)}
	stop, err := natstask.Serve(connect(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	crowd := connect()
	const most = 10_000
	go func() {
		for i := range most {
			if err := crowd.PublishRequest(fmt.Sprintf("posthouse.task.w%d.any.claim", i%10), fmt.Sprintf("posthouse.answer.w%d.x", i%10), []byte(`{"session":"worker-x"}`)); err != nil {
				t.Error(err)
			}
		}
	}()
	for range most {
		<-p.waiting
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	e := far(t, connect())
	if c, err := e.Claim(ctx, "worker-y"); c != nil || !errors.Is(err, posthouse.ErrUnavailable) || ctx.Err() != nil {
		t.Errorf("one claim more: %+v, %v", c, err)
	}
	if p, err := e.Heartbeat(ctx, "worker-y", nil); err != nil {
		t.Errorf("%+v, %v", p, err)
	}
}
