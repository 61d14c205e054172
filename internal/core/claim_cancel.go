package core

import (
	"cmp"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
)

// cancelRequests are the requests to cancel branches of a claim's thread, and who is told of
// further ones.
type cancelRequests struct {
	mu       sync.Mutex
	branches []string // asked for
	hooks    []*cancelHook
	channels map[string]chan struct{}
}

type cancelHook struct {
	branch string
	tell   func()
}

// IsCancelled reports whether somebody asked to cancel the branch.
func (c *Claim) IsCancelled(branch string) bool {
	c.requests.mu.Lock()
	defer c.requests.mu.Unlock()
	return slices.Contains(c.requests.branches, cmp.Or(branch, posthouse.MainBranch))
}

// Cancel asks the run to cancel the branch.
func (c *Claim) Cancel(branch string) {
	branch = cmp.Or(branch, posthouse.MainBranch)
	r := &c.requests
	r.mu.Lock()
	var told []*cancelHook
	if !slices.Contains(r.branches, branch) {
		r.branches = append(r.branches, branch)
		r.hooks = slices.DeleteFunc(r.hooks, func(h *cancelHook) bool {
			if h.branch == branch {
				told = append(told, h)
			}
			return h.branch == branch
		})
	}
	r.mu.Unlock()
	for _, h := range told {
		h.tell()
	}
}

// OnCancel has tell called once, when somebody asks to cancel the branch. A request in this
// process, or one from before the claim, is told at once, others at the next commit. tell is
// called under a lock of the thread, so it must not wait. unhook takes the hook back; tell may
// be running then.
func (c *Claim) OnCancel(branch string, tell func()) (unhook func()) {
	h := &cancelHook{cmp.Or(branch, posthouse.MainBranch), tell}
	r := &c.requests
	r.mu.Lock()
	asked := slices.Contains(r.branches, h.branch)
	if !asked {
		r.hooks = append(r.hooks, h)
	}
	r.mu.Unlock()
	if asked {
		tell()
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hooks = slices.DeleteFunc(r.hooks, func(have *cancelHook) bool { return have == h })
	}
}

// Cancelled returns a channel that is closed when [Claim.OnCancel] would tell.
func (c *Claim) Cancelled(branch string) <-chan struct{} {
	branch = cmp.Or(branch, posthouse.MainBranch)
	r := &c.requests
	r.mu.Lock()
	ch := r.channels[branch]
	fresh := ch == nil
	if fresh {
		if r.channels == nil {
			r.channels = map[string]chan struct{}{}
		}
		ch = make(chan struct{})
		r.channels[branch] = ch
	}
	r.mu.Unlock()
	if fresh {
		c.OnCancel(branch, func() { close(ch) })
	}
	return ch
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
