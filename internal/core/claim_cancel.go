package core

import (
	"cmp"
	"sync"

	"github.com/posthouse/posthouse"
)

type cancelSignal struct {
	ch     chan struct{}
	done   bool
	reason string
}

type cancelSignals struct {
	mu   sync.Mutex
	ends map[string]*cancelSignal
}

func (c *cancelSignals) signal(branch string) *cancelSignal {
	branch = cmp.Or(branch, posthouse.MainBranch)
	if c.ends == nil {
		c.ends = map[string]*cancelSignal{}
	}
	if c.ends[branch] == nil {
		c.ends[branch] = &cancelSignal{ch: make(chan struct{})}
	}
	return c.ends[branch]
}

// Cancelled returns a channel that is closed when somebody asks to cancel the branch. A
// request in this process, or one from before the claim, closes it at once, others at
// the next commit.
func (c *Claim) Cancelled(branch string) <-chan struct{} {
	c.ends.mu.Lock()
	defer c.ends.mu.Unlock()
	return c.ends.signal(branch).ch
}

// CancelReason returns the reason that was given in this process, if any.
func (c *Claim) CancelReason(branch string) string {
	c.ends.mu.Lock()
	defer c.ends.mu.Unlock()
	return c.ends.signal(branch).reason
}

// IsCancelled reports whether somebody asked to cancel the branch.
func (c *Claim) IsCancelled(branch string) bool {
	c.ends.mu.Lock()
	defer c.ends.mu.Unlock()
	return c.ends.ends != nil && c.ends.signal(branch).done
}

// Cancel asks the run to cancel the branch.
func (c *Claim) Cancel(branch, reason string) {
	c.ends.mu.Lock()
	defer c.ends.mu.Unlock()
	e := c.ends.signal(branch)
	e.reason = cmp.Or(e.reason, reason)
	if !e.done {
		e.done = true
		close(e.ch)
	}
}

// notifyCancelled passes requests to cancel on to the run that has the thread.
func (t *Thread) notifyCancelled() {
	if t.Claim == nil {
		return
	}
	for _, m := range t.Info.Cancelling {
		t.Claim.Cancel(m.Branch, "")
	}
}
