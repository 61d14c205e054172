package posthouse

import "sync"

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
	ledger *Core
	lease  Lease
}

// take notes that a Ledger runs a thread. It returns who does already, if that
// is another Ledger.
func (r *Runs) take(l *Core, thread, run string) *Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.by[thread]; have != nil && have.ledger != l {
		lease := have.lease
		return &lease
	}
	if r.by == nil {
		r.by = map[string]*running{}
	}
	r.by[thread] = &running{l, Lease{Owner: l.opt.Owner, Run: run, Held: true}}
	return nil
}

// other returns who runs a thread, if that is another Ledger than l.
func (r *Runs) other(l *Core, thread string) *Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.by[thread]; have != nil && have.ledger != l {
		lease := have.lease
		return &lease
	}
	return nil
}

// give gives back a thread that l runs.
func (r *Runs) give(l *Core, thread string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.by[thread]; have != nil && have.ledger == l {
		delete(r.by, thread)
	}
}

// giveAll gives back what l runs.
func (r *Runs) giveAll(l *Core) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for thread, have := range r.by {
		if have.ledger == l {
			delete(r.by, thread)
		}
	}
}

// runs returns those of the store, if only this process has it open for
// writing; else nil.
func (l *Core) runs() *Runs {
	if x, ok := l.store.(Excluder); ok && x.Exclusive() {
		return x.Runs()
	}
	return nil
}
