package posthouse

import (
	"sync"
)

// Runs are the threads that Ledgers of one process run over one handle of a
// store. A Store that is an [Excluder] has one, so that a Ledger takes no thread
// that another Ledger beside it runs. The zero value is ready; it is safe for
// concurrent use, and only Ledgers change it.
type Runs struct {
	mu sync.Mutex
	by map[string]*running
}

// A running is a run of a thread, and the Ledger it belongs to.
type running struct {
	owner any
	lease Lease
}

// Take notes that a Ledger runs a thread under a lease. It returns who does
// already, if that is another Ledger.
func (r *Runs) Take(owner any, thread string, lease Lease) *Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.by[thread]; have != nil && have.owner != owner {
		lease := have.lease
		return &lease
	}
	if r.by == nil {
		r.by = map[string]*running{}
	}
	r.by[thread] = &running{owner, lease}
	return nil
}

// Other returns who runs a thread, if that is another Ledger than l.
func (r *Runs) Other(owner any, thread string) *Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.by[thread]; have != nil && have.owner != owner {
		lease := have.lease
		return &lease
	}
	return nil
}

// Give gives back a thread that l runs.
func (r *Runs) Give(owner any, thread string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.by[thread]; have != nil && have.owner == owner {
		delete(r.by, thread)
	}
}

// GiveAll gives back what l runs.
func (r *Runs) GiveAll(owner any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for thread, have := range r.by {
		if have.owner == owner {
			delete(r.by, thread)
		}
	}
}
