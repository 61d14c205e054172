package posthouse

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
