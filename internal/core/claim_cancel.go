package core

import (
	"cmp"
	"sync"

	"github.com/posthouse/posthouse"
)

// cancelSignals are closed by requests to cancel branches of a claim's thread.
type cancelSignals struct {
	mu   sync.Mutex
	ends map[string]chan struct{}
}

// Cancelled returns a channel that is closed when somebody asks to cancel the branch. A
// request in this process, or one from before the claim, closes it at once, others at
// the next commit.
func (c *Claim) Cancelled(branch string) <-chan struct{} { return c.cancelSignal(branch, false) }

// IsCancelled reports whether somebody asked to cancel the branch.
func (c *Claim) IsCancelled(branch string) bool {
	c.ends.mu.Lock()
	defer c.ends.mu.Unlock()
	return isClosed(c.ends.ends[cmp.Or(branch, posthouse.MainBranch)])
}

// Cancel asks the run to cancel the branch.
func (c *Claim) Cancel(branch string) { c.cancelSignal(branch, true) }

func (c *Claim) cancelSignal(branch string, end bool) chan struct{} {
	c.ends.mu.Lock()
	defer c.ends.mu.Unlock()
	branch = cmp.Or(branch, posthouse.MainBranch)
	ch := c.ends.ends[branch]
	if ch == nil {
		if c.ends.ends == nil {
			c.ends.ends = map[string]chan struct{}{}
		}
		ch = make(chan struct{})
		c.ends.ends[branch] = ch
	}
	if end && !isClosed(ch) {
		close(ch)
	}
	return ch
}

func isClosed(ch chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// notifyCancelled passes requests to cancel on to the run that has the thread.
func (t *Thread) notifyCancelled() {
	if t.Claim == nil {
		return
	}
	for _, m := range t.Info.Cancelling {
		t.Claim.Cancel(m.Branch)
	}
}
