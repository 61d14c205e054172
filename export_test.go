package posthouse

import "context"

// Cached returns how many threads the Ledger knows of, and the bytes of state
// and step results that it reckons they hold.
func (l *Ledger) Cached() (threads, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.threads), l.cached
}

// LetGo does what the Ledger does when it holds too much.
func (l *Ledger) LetGo() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.letGo(0, 0)
}

// MaxThreads is how many threads a Ledger knows of at most, claimed ones aside.
const MaxThreads = maxThreads

// FetchAll reads a thread's log with bodies, then without, by one reader, and
// returns how many entries have their bodies and how many bytes are counted.
func (l *Ledger) FetchAll(ctx context.Context, thread string) (withBodies, size int, err error) {
	r := l.reader(ctx, thread)
	for _, headers := range []bool{false, true, false} {
		if err := r.fetch(Range{Headers: headers}); err != nil {
			return 0, 0, err
		}
	}
	for _, e := range r.have {
		if e.bodies && len(e.Bodies) > 0 {
			withBodies++
		}
	}
	return withBodies, r.size, nil
}

// DropValidator has a Ledger check no values.
func DropValidator(l *Ledger) { l.opt.Validate = nil }
