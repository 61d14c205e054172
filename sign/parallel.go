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

	// Entries of a thread are hashed in chunks, a few at once, so that what is in
	// memory is bounded: per thread some chunks of 1 MiB, or of one larger entry.
	chunkEntries  = 128
	chunkBytes    = 1 << 20
	chunksAtOnce  = 4
	meterInterval = 1000 // entries
)

// each verifies the threads, several at once, and calls done for each that is
// there, in the order of the names.
func (v *verifier) each(names []string, done func(string, *chain)) error {
	workers := v.opt.Workers
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
	next := make(chan int)
	var group sync.WaitGroup
	for range min(workers, len(names)) {
		group.Go(func() {
			for i := range next {
				c, err := v.thread(names[i])
				if c != nil {
					v.meter.done(v.opt.Walked)
					c.records = nil // what is left is small, however far ahead the others are
				}
				results[i] <- result{c, err}
			}
		})
	}
	go func() {
		defer close(next)
		for i := range names {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer group.Wait()
	defer stop() // hands out no more
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

// A meter counts what was walked.
type meter struct {
	mu   sync.Mutex
	at   Verified
	told int // entries, when it last told
}

func (m *meter) add(entries int, bytes int64, tell func(Verified)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at.Entries, m.at.Bytes = m.at.Entries+entries, m.at.Bytes+bytes
	if tell != nil && m.at.Entries-m.told >= meterInterval {
		m.told = m.at.Entries
		tell(m.at)
	}
}

func (m *meter) done(tell func(Verified)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at.Threads++
	if tell != nil {
		tell(m.at)
	}
}

// An examined entry is one with all that can be said of it by itself.
type examined struct {
	*posthouse.Entry
	recs   []posthouse.Record
	err    error // why it does not decode
	sum    posthouse.Hash
	bodies []bool // whether each body that is there has its hash
	sig    signature
}

// A signature is what an entry's says, if it has one.
type signature struct {
	id     string
	err    error // it does not decode
	key    Public
	known  bool
	verify bool // by the key, if that is known
}

// examine does what takes time, and needs nothing of other entries.
func examine(e *posthouse.Entry, ring *Ring) *examined {
	x := &examined{Entry: e, sum: e.Sum()}
	if x.recs, x.err = e.Records(); x.err == nil && len(e.Bodies) == len(x.recs) {
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
	if s.id, sig, s.err = posthouse.SplitSignature(e.Sig); s.err == nil {
		if s.key, s.known = ring.Key(s.id); s.known {
			s.verify = s.key.Verify(posthouse.SignatureMessage(e.Hash), sig)
		}
	}
	return x
}

// A chunk is entries that are examined together.
type chunk struct {
	entries []*posthouse.Entry
	size    int
	done    chan []*examined
}

// feed reads a range and hands the chain its entries, in order. While they are
// read, those before are examined, several chunks at once.
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
			v.meter.add(len(k.entries), c.report.Bytes-bytes, v.opt.Walked)
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
