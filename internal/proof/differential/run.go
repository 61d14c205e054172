package differential

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/site"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// Sites are places for stores of all kinds that can be started here.
type Sites struct {
	Names   []string // of the kinds, without the store in memory
	Missing []string // kinds without an installed server

	// Spoil, if set, wraps each store before it is compared, as a control arm does.
	Spoil func(kind string, s posthouse.Store) posthouse.Store

	sites []*site.Site
}

// Start starts a site of each kind, or of these, in directories below dir.
func Start(dir string, kinds ...string) (s *Sites, err error) {
	s = &Sites{}
	for i, k := range site.Kinds() {
		if k.Name == "memory" || len(kinds) > 0 && !slices.Contains(kinds, k.Name) {
			continue
		}
		if !k.Installed() {
			s.Missing = append(s.Missing, k.Name)
			continue
		}
		at := filepath.Join(dir, fmt.Sprint("site-", i))
		err := os.Mkdir(at, 0o755)
		if err == nil {
			var one *site.Site
			one, err = k.Start(at)
			if err == nil {
				s.sites, s.Names = append(s.sites, one), append(s.Names, k.Name)
			}
		}
		if err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// Close ends the servers.
func (s *Sites) Close() {
	for _, one := range s.sites {
		one.Close()
	}
}

// A Batch is sequences that share stores, from a seed on: each has the next one.
type Batch struct {
	Seed      uint64
	Sequences int
	skip      map[int]bool // operations of the only sequence to leave out
}

// Found is what a batch found.
type Found struct {
	Sequences  int
	Operations int    // that each store was given
	Difference string // "" if all traces agree
}

// A difference is where a store's trace is another than that of the store in memory.
type difference struct {
	sequence int // in the batch
	text     string
}

var names atomic.Int64

// Run plays a batch. The error is about the run itself. A difference is shortened.
func (s *Sites) Run(ctx context.Context, b Batch) (*Found, error) {
	f, d, err := s.play(ctx, b)
	if d == nil || err != nil {
		return f, err
	}
	seed := b.Seed + uint64(d.sequence)
	f.Difference = fmt.Sprintf("batch of %d from seed %d, sequence %d:\n%s", b.Sequences, b.Seed, d.sequence, d.text)
	alone := Batch{Seed: seed, Sequences: 1, skip: map[int]bool{}}
	_, d, err = s.play(ctx, alone)
	if d == nil || err != nil {
		return f, err // it needs its neighbours
	}
	for i := range operations { // each that does not matter is left out
		alone.skip[i] = true
		_, less, err := s.play(ctx, alone)
		if err != nil {
			return f, err
		}
		if less == nil {
			delete(alone.skip, i)
		} else {
			d = less
		}
	}
	f.Difference = fmt.Sprintf("seed %d, shortened from %d operations to %d:\n%s", seed, operations, operations-len(alone.skip), d.text)
	return f, nil
}

// play plays a batch to the store in memory, and then to all others at once.
func (s *Sites) play(ctx context.Context, b Batch) (*Found, *difference, error) {
	memory := memstore.New()
	defer memory.Close()
	w := &writer{ctx: ctx, b: storetest.NewBuilder(), first: &side{store: memory, revisions: map[posthouse.SlotKey]uint64{}}}
	ends := []int{} // of sequences, in steps
	for i := range b.Sequences {
		w.sequence(b.Seed+uint64(i), fmt.Sprint("s", i), b.skip)
		ends = append(ends, len(w.steps))
	}
	f := &Found{Sequences: b.Sequences, Operations: len(w.steps)}
	name := fmt.Sprintf("d%x_%d", b.Seed, names.Add(1))
	differences, errs := make([]*difference, len(s.sites)), make([]error, len(s.sites))
	var wg sync.WaitGroup
	for i := range s.sites {
		wg.Go(func() { differences[i], errs[i] = s.one(ctx, i, name, w.steps, ends) })
	}
	wg.Wait()
	var first *difference
	for _, d := range differences {
		if d != nil && (first == nil || d.sequence < first.sequence) {
			first = d
		}
	}
	return f, first, errors.Join(errors.Join(errs...), ctx.Err())
}

// one plays all steps to one store.
func (s *Sites) one(ctx context.Context, i int, name string, steps []*step, ends []int) (d *difference, err error) {
	store, err := site.Open(ctx, s.sites[i].URL(name, ""), 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.Names[i], err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	here := &side{store: store, revisions: map[posthouse.SlotKey]uint64{}}
	if s.Spoil != nil {
		here.store = s.Spoil(s.Names[i], store)
	}
	sequence := 0
	for n, st := range steps {
		for n >= ends[sequence] {
			sequence++
		}
		if got := st.do(ctx, here); got != st.want {
			return &difference{sequence, report(s.Names[i], steps, n, sequence, ends, got)}, nil
		}
	}
	if got := here.check(ctx); got != "" {
		return &difference{sequence, s.Names[i] + ": its own check says" + got}, nil
	}
	return nil, nil
}

// report writes the operations of the sequence up to the one that differs.
func report(store string, steps []*step, n, sequence int, ends []int, got string) string {
	from := 0
	if sequence > 0 {
		from = ends[sequence-1]
	}
	var b strings.Builder
	for _, st := range steps[from:n] {
		fmt.Fprintf(&b, "  %2d %s: %.200s\n", st.number, st.what, st.want)
	}
	fmt.Fprintf(&b, "  %2d %s\n     memory: %s\n     %s: %s\n", steps[n].number, steps[n].what, steps[n].want, store, got)
	return b.String()
}
