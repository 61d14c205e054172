package posthouse

import "sync"

// Running are the threads that Ledgers of one process run over one handle of a store. A
// Store that is an [Excluder] has one, so that a Ledger does not run a thread that
// another Ledger runs. The zero value is ready and safe for concurrent use. Only
// Ledgers change it.
type Running struct {
	mu sync.Mutex
	by map[string]*running
}

type running struct {
	owner any
	lease Lease
}

// Take notes that a Ledger runs a thread under a lease. If another Ledger runs it
// already, Take returns that one's lease.
func (r *Running) Take(owner any, thread string, lease Lease) *Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.other(owner, thread); other != nil {
		return other
	}
	if r.by == nil {
		r.by = map[string]*running{}
	}
	r.by[thread] = &running{owner, lease}
	return nil
}

// Other returns the lease of a Ledger other than owner that runs the thread, or nil.
func (r *Running) Other(owner any, thread string) *Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.other(owner, thread)
}

func (r *Running) other(owner any, thread string) *Lease {
	if have := r.by[thread]; have != nil && have.owner != owner {
		lease := have.lease
		return &lease
	}
	return nil
}

// Give gives back a thread that owner runs.
func (r *Running) Give(owner any, thread string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.by[thread]; have != nil && have.owner == owner {
		delete(r.by, thread)
	}
}

// GiveAll gives back all that owner runs.
func (r *Running) GiveAll(owner any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for thread, have := range r.by {
		if have.owner == owner {
			delete(r.by, thread)
		}
	}
}
