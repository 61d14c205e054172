package sign

import (
	"context"
	"crypto/sha256"
	"runtime"
	"sync"

	"github.com/posthouse/posthouse"
)

const (
	maxWorkers = 64

	// Entries of a thread are hashed in chunks, a few at once. This bounds the memory: a
	// thread has some chunks of 1 MiB, or of one larger entry.
	chunkEntries  = 128
	chunkBytes    = 1 << 20
	chunksAtOnce  = 4
	meterInterval = 1000 // entries
)

// each verifies the threads, several at once. It calls done for each one that exists, in
// the order of the names.
func (v *verifier) each(names []string, done func(string, *chain)) error {
	workers := v.opt.Concurrency
	if workers == 0 {
		workers = min(max(runtime.GOMAXPROCS(0), 2), 8)
	}
	type result struct {
		c   *chain
		err error
	}
	ctx, stop := context.WithCancel(v.ctx)
	results := make([]chan result, len(names))
	for i := range results {
		results[i] = make(chan result, 1)
	}
	slots := make(chan struct{}, workers)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() {
		for i, name := range names {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			group.Go(func() {
				defer func() { <-slots }()
				c, err := v.thread(name)
				if c != nil {
					v.meter.add(1, 0, 0, v.opt.Walked)
					c.records = nil // to free memory while the result waits for those before it
				}
				results[i] <- result{c, err}
			})
		}
	})
	for i, name := range names {
		select {
		case r := <-results[i]:
			if r.err != nil {
				return r.err
			}
			if r.c != nil {
				done(name, r.c)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

type meter struct {
	mu   sync.Mutex
	at   Verified
	told int // entries at the last call of tell
}

// add counts, and calls tell after each thread and each meterInterval of entries.
func (m *meter) add(threads, entries int, bytes int64, tell func(Verified)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at.Threads, m.at.Entries, m.at.Bytes = m.at.Threads+threads, m.at.Entries+entries, m.at.Bytes+bytes
	if tell != nil && (threads > 0 || m.at.Entries-m.told >= meterInterval) {
		m.told = m.at.Entries
		tell(m.at)
	}
}

// An examined entry has the results of all checks that need no other entry.
type examined struct {
	*posthouse.Entry
	recs   []posthouse.Record
	err    error // why it does not decode
	sum    posthouse.Hash
	bodies []bool // whether each body has its hash
	sig    signature
}

// A signature is the signature of an entry, decoded and checked.
type signature struct {
	id     string
	err    error // it does not decode
	key    Public
	known  bool
	verify bool // it verifies by the key, if that is known
}

// examine does the checks that take time and need no other entry.
func examine(e *posthouse.Entry, ring *Ring) *examined {
	x := &examined{Entry: e, sum: e.Sum()}
	x.recs, x.err = e.Records()
	if x.err == nil && len(e.Bodies) == len(x.recs) {
		x.bodies = make([]bool, len(e.Bodies))
		for i, body := range e.Bodies {
			r := &x.recs[i]
			x.bodies[i] = len(body) == r.Size && (r.Size == 0 || sha256.Sum256(body) == r.Hash)
		}
	}
	if len(e.Sig) == 0 {
		return x
	}
	s := &x.sig
	var sig []byte
	s.id, sig, s.err = posthouse.SplitSignature(e.Sig)
	if s.err == nil {
		s.key, s.known = ring.Key(s.id)
		if s.known {
			s.verify = s.key.Verify(posthouse.SignatureMessage(e.Hash), sig)
		}
	}
	return x
}

type chunk struct {
	entries []*posthouse.Entry
	size    int
	done    chan []*examined
}

// feed reads a range and passes its entries to the chain, in order. While it reads, it
// examines the entries before, several chunks at once.
func (v *verifier) feed(c *chain, r posthouse.Range) error {
	chunks := make(chan *chunk, chunksAtOnce)
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		for k := range chunks {
			bytes := c.report.Bytes
			for _, x := range <-k.done {
				c.entry(x)
			}
			v.meter.add(0, len(k.entries), c.report.Bytes-bytes, v.opt.Walked)
		}
	}()
	send := func(k *chunk) {
		if len(k.entries) == 0 {
			return
		}
		k.done = make(chan []*examined, 1)
		go func() {
			out := make([]*examined, len(k.entries))
			for i, e := range k.entries {
				out[i] = examine(e, v.ring)
			}
			k.done <- out
		}()
		chunks <- k
	}
	k := &chunk{}
	var failed error
	for e, err := range v.store.Read(v.ctx, c.thread, r) {
		if err != nil {
			failed = err
			break
		}
		k.entries = append(k.entries, e)
		for _, b := range e.Bodies {
			k.size += len(b)
		}
		if k.size += len(e.Header); len(k.entries) == chunkEntries || k.size >= chunkBytes {
			send(k)
			k = &chunk{}
		}
	}
	send(k)
	close(chunks)
	<-fed
	return failed
}
