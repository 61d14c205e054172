package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/site"
	"github.com/posthouse/posthouse/ledger"
)

// A Config says what is tried. Kind and Now are required.
type Config struct {
	Kind        *site.Kind    // a shared store
	Stalls      int           // how many cases
	Concurrency int           // cases at once; default 8
	Seed        uint64        // of what is drawn
	Lease       time.Duration // of both processes; default 1 s

	// Control has the process that is cut off believe that it alone has the store: the
	// known-bad setting, which must be caught.
	Control bool

	Now      func() time.Time
	Progress func(done int) // may be nil
}

// A lane runs one case after another, over a proxy and a pair of processes of its own.
type lane struct {
	seed     uint64
	lease    time.Duration
	control  bool
	now      func() time.Time
	proxy    *site.Proxy
	stores   []posthouse.Store
	ledgers  map[string]*ledger.Ledger
	programs map[string]map[string]*program // by process and model
	unknown  *atomic.Int64

	mu        sync.Mutex
	witnesses map[string]*witness
}

// Run runs the cases. The line has the faults that it found ([Line.Bad]).
func Run(ctx context.Context, c *Config) (*Line, error) {
	if c.Concurrency == 0 {
		c.Concurrency = 8
	}
	if c.Lease == 0 {
		c.Lease = time.Second
	}
	dir, err := os.MkdirTemp("", "stalls")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	place := filepath.Join(dir, "site")
	if err := errors.Join(os.Mkdir(place, 0o755), os.Chmod(dir, 0o755)); err != nil { // PostgreSQL does not run as root
		return nil, err
	}
	s, err := c.Kind.Start(place)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	line := &Line{Store: c.Kind.Name, Seed: c.Seed, Stalls: c.Stalls}
	began := c.Now()
	var next, done, unknown, alone atomic.Int64
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	for i := range c.Concurrency {
		all.Go(func() {
			l, err := c.open(ctx, s, i, &unknown)
			for err == nil {
				n := int(next.Add(1)) - 1
				if n >= c.Stalls {
					break
				}
				var one *stall
				one, err = c.try(ctx, l, n)
				if err != nil {
					err = fmt.Errorf("seed %d, thread %s (%s, at %q): %w", c.Seed, one.thread, one.model, one.at, err)
				}
				mu.Lock()
				line.what = append(line.what, one.bad...)
				line.Executions += one.w.count("", "")
				mu.Unlock()
				if one.alone {
					alone.Add(1)
				}
				if k := done.Add(1); c.Progress != nil {
					c.Progress(int(k))
				}
			}
			if e := l.close(); err == nil {
				err = e
			}
			mu.Lock()
			failed = errors.Join(failed, err)
			mu.Unlock()
		})
	}
	all.Wait()
	line.Complete, line.Alone, line.Unknown, line.Violations = int(done.Load()), int(alone.Load()), int(unknown.Load()), len(line.what)
	line.Seconds = int(c.Now().Sub(began).Seconds())
	return line, failed
}

// tries is how often a case is run until its connection stalls.
const tries = 20

// try runs a case in which the connection stalls.
func (c *Config) try(ctx context.Context, l *lane, n int) (*stall, error) {
	for i := 1; ; i++ {
		rnd := rand.New(rand.NewPCG(c.Seed, uint64(n)))
		one := l.draw(fmt.Sprintf("t%d-%d", n, i), rnd)
		err := one.run(ctx, rnd)
		if err == nil && one.missed && i == tries {
			err = fmt.Errorf("the process ended %d times before the connection stalled: %v", tries, one.w.did)
		}
		if err != nil || !one.missed {
			return one, err
		}
	}
}

// open opens the processes of a lane.
func (c *Config) open(ctx context.Context, s *site.Site, i int, unknown *atomic.Int64) (*lane, error) {
	network, addr := s.Addr()
	l := &lane{
		seed: c.Seed, lease: c.Lease, control: c.Control, now: c.Now, unknown: unknown, ledgers: map[string]*ledger.Ledger{}, programs: map[string]map[string]*program{}, witnesses: map[string]*witness{},
	}
	var err error
	l.proxy, err = site.NewProxy(network, addr, site.Faults{}, c.Seed)
	if err != nil {
		return l, err
	}
	for process, by := range map[string]string{cutOff: l.proxy.Addr(), other: ""} {
		// A call that waits for the proxy must not end before the stall.
		store, err := site.Open(ctx, s.URL(fmt.Sprintf("lane_%d", i), by), 100*c.Lease)
		if err != nil {
			return l, err
		}
		l.stores = append(l.stores, store)
		if process == cutOff && c.Control {
			store = &exclusive{Store: store}
		}
		led, err := ledger.Open(store, &ledger.Options{Owner: process[:3], LeaseTTL: c.Lease, Validate: gate.Validator()})
		if err != nil {
			return l, err
		}
		l.ledgers[process], l.programs[process] = led, map[string]*program{}
		for name, open := range models {
			l.programs[process][name], err = open(led, process, l.witness)
			if err != nil {
				return l, err
			}
		}
	}
	return l, nil
}

func (l *lane) witness(thread string) *witness {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.witnesses[thread]
}

func (l *lane) close() (err error) {
	if l == nil {
		return nil
	}
	if l.proxy != nil {
		l.proxy.Heal()
	}
	for _, led := range l.ledgers {
		err = errors.Join(err, led.Close())
	}
	for _, s := range l.stores {
		err = errors.Join(err, s.Close())
	}
	if l.proxy != nil {
		l.proxy.Close()
	}
	return err
}

// An exclusive store says that only this process has it open, which is not so.
type exclusive struct {
	posthouse.Store
	runs posthouse.Running
}

func (*exclusive) Exclusive() bool            { return true }
func (e *exclusive) Runs() *posthouse.Running { return &e.runs }
