package core

// Cached returns how many threads the Ledger knows of, and the bytes of state
// and step results that it reckons they hold.
func (c *Core) Cached() (threads, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.threads), c.cached
}

// EvictIdle does what the Ledger does when it holds too much.
func (c *Core) EvictIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evict(0, 0)
}

// MaxThreads is how many threads a Ledger knows of at most, claimed ones aside.
const MaxThreads = maxThreads
