package bench

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/baseline"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// history makes a store with one thread of n checkpoints of 200 bytes and
// returns its path. It does not sync: writing is not what is measured.
func (s *session) history(n int) (string, error) {
	e, err := s.file(s.path("posthouse"), true, &sqlitestore.Options{Sync: sqlitestore.SyncNormal})
	if err != nil {
		return "", err
	}
	for i := range n {
		if i%1000 == 0 {
			s.opt.Progress(s.current, fmt.Sprintf("writing checkpoint %d of %d", i, n))
		}
		_, err := e.Commit(s.ctx, &ledger.Draft{Thread: "one", Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Graph: "g", Node: "n", Next: []string{"n"},
			Parts: []posthouse.Part{{Name: posthouse.OpaquePart, Codec: "raw", Data: []byte(smallText(i))}},
		}})
		if err != nil {
			_, err = e.measured(measure{}, err)
			return "", err
		}
	}
	_, err = e.close()
	return e.path, err
}

// rawHistory is history for the baseline, written by many at once.
func (s *session) rawHistory(n int) (string, error) {
	const writers = 100
	path := s.path("baseline")
	db, err := baseline.Open(path)
	if err != nil {
		return "", err
	}
	row := []byte(strings.Repeat("x", 200))
	err = together(writers, func(w int) error {
		for i := w; i < n; i += writers {
			if err := db.Append(s.ctx, 1, int64(i+1), row); err != nil {
				return err
			}
		}
		return nil
	})
	return path, errors.Join(err, db.Close())
}

// A round of latest opens a store this often, and reads this many raw rows each time.
// A single opening takes less time than the cold caches and growing stacks that the
// garbage collection before a round leaves.
const (
	openings = 20
	reads    = 50
)

// openLatest measures opening the store and reading the newest state, without closing.
func (s *session) openLatest(path string) (measure, error) {
	runtime.GC()
	m := measure{steps: openings}
	for range openings {
		at := s.opt.Now()
		e, err := s.file(path, false, nil)
		if err != nil {
			return m, err
		}
		_, err = e.Latest(s.ctx, ledger.LatestQuery{Thread: "one"})
		m.wall += s.opt.Now().Sub(at)
		if _, cerr := e.close(); err != nil || cerr != nil {
			return m, errors.Join(err, cerr)
		}
	}
	return m, nil
}

// latest measures the return to a thread.
func latest(s *session) error {
	few, err := s.history(s.n(100))
	if err != nil {
		return err
	}
	many, err := s.history(s.n(100_000))
	if err != nil {
		return err
	}
	rows := s.n(100_000)
	raw, err := s.rawHistory(rows)
	if err != nil {
		return err
	}
	db, err := baseline.Open(raw)
	if err != nil {
		return err
	}
	place := newWords(3).r // so that no read finds its page by chance
	all, err := s.interleave(
		side{"50 raw rows", func() (measure, error) {
			return s.clock(openings, func() error {
				for range openings * reads {
					if _, err := db.Get(1, 1+place.Int64N(int64(rows))); err != nil {
						return err
					}
				}
				return nil
			})
		}},
		side{"100 checkpoints", func() (measure, error) { return s.openLatest(few) }},
		side{"100,000 checkpoints", func() (measure, error) { return s.openLatest(many) }},
	)
	err = errors.Join(err, db.Close())
	if err != nil {
		return err
	}
	micros := func(m *measure) float64 { return float64(m.wall.Nanoseconds()) / 1e3 / openings }
	s.atMost("100,000 over 100", "µs", median(all[2], micros), median(all[1], micros), ratio(all[2], all[1], micros), 1.5)
	s.atMost("100,000 over 50 raw reads", "µs", median(all[2], micros), median(all[0], micros), ratio(all[2], all[0], micros), 1)
	return nil
}

// headers measures a list.
func headers(s *session) error {
	n := s.n(1000)
	path, err := s.history(n)
	if err != nil {
		return err
	}
	raw, err := s.rawHistory(n)
	if err != nil {
		return err
	}
	db, err := baseline.Open(raw)
	if err != nil {
		return err
	}
	e, err := s.file(path, false, nil)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	all, err := s.interleave(
		side{"raw scan", func() (measure, error) {
			return s.clock(n, func() error {
				got, err := db.Scan(1, 1, n)
				return errors.Join(err, expect(got, n))
			})
		}},
		side{"headers", func() (measure, error) {
			return s.clock(n, func() error {
				got := 0
				for _, err := range e.List(s.ctx, posthouse.Query{Thread: "one", Limit: n}) {
					if err != nil {
						return err
					}
					got++
				}
				return expect(got, n)
			})
		}},
	)
	_, cerr := e.close()
	err = errors.Join(err, db.Close(), cerr)
	if err != nil {
		return err
	}
	micros := func(m *measure) float64 { return float64(m.wall.Microseconds()) }
	s.atMost("headers over a raw scan", "µs", median(all[1], micros), median(all[0], micros), ratio(all[1], all[0], micros), 1.5)
	return nil
}

func expect(got, want int) error {
	if got != want {
		return fmt.Errorf("read %d of %d", got, want)
	}
	return nil
}
