package core

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// Owners remembers when this process saw each other's liveness slot change, and when it
// first saw each lease, by its own monotonic clock. It never compares clocks of two
// processes.
//
// A lease is free once both have been as they are for LeaseTTL. The slot alone would not
// do: an owner that had nothing to do renewed nothing, and its next claim is new.
type Owners struct {
	core *Core

	mu     sync.Mutex
	owners map[string]*ownerSighting
	leases map[string]leaseSighting // by thread
}

// maxSightings bounds the owners, and the leases, that a process remembers at once, at
// about 200 bytes each. Beyond it, a lease waits until others are forgotten.
const maxSightings = 100_000

// An ownerSighting is what this process knows of an owner's slot.
type ownerSighting struct {
	revision uint64
	since    time.Time // when an answer first had this revision
	asked    time.Time // when the question began that had it in its answer last
}

// A leaseSighting is the lease that this process saw last on a thread.
type leaseSighting struct {
	owner string
	fence uint64
	since time.Time
	asked time.Time
}

// leaseExpired reports whether a lease's owner has been silent for LeaseTTL. An answer younger
// than fresh is not asked for again.
//
// A slow store never makes an owner look silent: its silence is counted from the end of
// the first question to the beginning of the last.
func (w *Owners) leaseExpired(ctx context.Context, thread string, lease *posthouse.Lease, fresh time.Duration) (bool, error) {
	c := w.core
	owner, err := w.look(ctx, lease.Owner, fresh)
	if err != nil {
		return false, err
	}
	now := c.Config.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	seen, ok := w.leases[thread]
	if !ok || seen.owner != lease.Owner || seen.fence != lease.Fence {
		if w.leases == nil {
			w.leases = map[string]leaseSighting{}
		}
		if !ok && len(w.leases) >= maxSightings {
			forget(w.leases, func(s leaseSighting) bool { return now.Sub(s.asked) > forgetAfter(c) })
			if len(w.leases) >= maxSightings {
				return false, nil
			}
		}
		w.leases[thread] = leaseSighting{lease.Owner, lease.Fence, now, now}
		return false, nil
	}
	seen.asked = now
	w.leases[thread] = seen
	ttl := c.Config.LeaseTTL
	return owner.asked.Sub(owner.since) >= ttl && owner.asked.Sub(seen.since) >= ttl, nil
}

// look returns what is known of an owner, from an answer of the store that is no older
// than fresh. A slot that is damaged says as little as one that is not there: an owner that
// lives writes it again soon.
func (w *Owners) look(ctx context.Context, owner string, fresh time.Duration) (ownerSighting, error) {
	c := w.core
	begun := c.Config.Now()
	w.mu.Lock()
	if s := w.owners[owner]; s != nil && begun.Sub(s.asked) < fresh {
		defer w.mu.Unlock()
		return *s, nil
	}
	w.mu.Unlock()
	slot, err := c.Store.Slot(ctx, posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: owner}, posthouse.SlotOp{Verb: posthouse.SlotGet})
	if err != nil && !errors.Is(err, posthouse.ErrNotFound) && !errors.Is(err, posthouse.ErrCorrupt) {
		return ownerSighting{}, err
	}
	return w.note(owner, slot.Revision, begun), nil
}

// note takes the revision of an owner's slot from the answer to a question that began then.
func (w *Owners) note(owner string, revision uint64, begun time.Time) ownerSighting {
	c := w.core
	now := c.Config.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.owners[owner]
	switch {
	case s == nil:
		if w.owners == nil {
			w.owners = map[string]*ownerSighting{}
		}
		if len(w.owners) >= maxSightings {
			forget(w.owners, func(s *ownerSighting) bool { return now.Sub(s.asked) > forgetAfter(c) })
		}
		s = &ownerSighting{revision, now, begun}
		if len(w.owners) < maxSightings {
			w.owners[owner] = s
		}
	case s.revision != revision:
		*s = ownerSighting{revision, now, begun}
	case begun.After(s.asked):
		s.asked = begun
	}
	return *s
}

func forgetAfter(c *Core) time.Duration { return 10*c.Config.LeaseTTL + time.Minute }

func forget[K comparable, V any](m map[K]V, is func(V) bool) {
	for k, v := range m {
		if is(v) {
			delete(m, k)
		}
	}
}

// HeldElsewhere reports whether a live owner in another process has the thread, as far as
// this process knows. It asks the store once an owner and [Config.RenewEvery], not once a
// thread.
func (w *Owners) HeldElsewhere(ctx context.Context, t *posthouse.ThreadInfo) (bool, error) {
	if !t.Lease.Held || t.Lease.Owner == w.core.Config.Owner || w.core.exclusive() {
		return false, nil
	}
	gone, err := w.leaseExpired(ctx, t.Thread, &t.Lease, w.core.Config.RenewEvery())
	return err == nil && !gone, err
}

// IsExpired reports whether an owner's liveness has not changed for LeaseTTL, and asks the
// store.
func (w *Owners) IsExpired(ctx context.Context, owner string) (bool, error) {
	s, err := w.look(ctx, owner, 0)
	return err == nil && s.asked.Sub(s.since) >= w.core.Config.LeaseTTL, err
}

// SilentFor returns for how long an owner's liveness has not changed, as far as this process has
// seen. Its slot had this revision in the answer to a question that began then.
func (w *Owners) SilentFor(owner string, revision uint64, begun time.Time) time.Duration {
	s := w.note(owner, revision, begun)
	return s.asked.Sub(s.since)
}
