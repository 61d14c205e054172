package coord_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/runs"
)

// TestForkWithAnotherState: a fork at an event begins with the state that its options give.
func TestForkWithAnotherState(t *testing.T) {
	l, w, memory := newLedger(t), &world{}, &coord.MemoryJournal{}
	j := checkpointing(t, l, memory, coord.OnAgentBoundaries)
	c := must.Get(coord.New(l, "dispatch", approvalFleet(t, w), approval(w), &coord.Options{Journal: j}))(t)
	must.Get(c.Handle(t.Context(), "x", nil))(t)
	for e := range j.Events(t.Context(), coord.EventQuery{}) {
		if e.Kind != coord.AgentCompleted {
			continue
		}
		edited := must.Get(posthouse.Opaque(nil, "edited"))(t)
		f := must.Get(coord.Fork(t.Context(), j, l, coord.ForkOptions{Event: e.ID, State: edited}))(t)
		if got := string(f.Checkpoint.State[posthouse.OpaquePart].Data); got != `"edited"` {
			t.Errorf("the fork's state is %s", got)
		}
		return
	}
	t.Fatal("no agent completed")
}

// TestResumeWithItsOptions: a resumed request sends its frames to the stream of the options, tells
// their handle how it ended, and waits for a thread that another run has.
func TestResumeWithItsOptions(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := coordinator(t, l, approvalFleet(t, w), approval(w))
	r := must.Get(c.Handle(t.Context(), "x", nil))(t)
	decide(t, l, r.Gate, posthouse.Approve, "bob")
	other := must.Get(l.Claim(t.Context(), r.Thread, "other"))(t)
	_, err := c.Resume(t.Context(), r.Thread, nil)
	must.Fail(t, err, posthouse.ErrBusy)
	released := make(chan error)
	go func() { released <- other.Release(t.Context()) }()
	frames, h := 0, coord.NewHandle()
	reply := must.Get(c.Resume(t.Context(), r.Thread, &coord.ResumeOptions{
		Wait: time.Minute, Handle: h, Stream: func(coord.Frame) error { frames++; return nil },
	}))(t)
	if err := <-released; err != nil {
		t.Fatal(err)
	}
	if reply.Status != posthouse.StatusDone || h.Reason() != runs.Done || frames == 0 {
		t.Errorf("status %s, reason %v, %d frames", reply.Status, h.Reason(), frames)
	}
}
