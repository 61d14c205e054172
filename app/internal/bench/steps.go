package bench

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/baseline"
)

// steps is W1.
func steps(s *session) error {
	n := s.n(1000)
	all, err := s.interleave(s.rawSteps(n), s.engineSteps(s.sqlite, n))
	if err != nil {
		return err
	}
	base, ours := all[0], all[1]
	s.atLeast("steps", "steps/s", median(ours, (*measure).rate), median(base, (*measure).rate), ratio(ours, base, (*measure).rate), 0.8)
	s.cost(ours, base)
	s.atMost("transactions a step", "", median(ours, perStep), 0, median(ours, perStep), 1.02)
	return nil
}

// memory is W1 in memory: steps per second of CPU against those of the baseline.
func memory(s *session) error {
	n := s.n(1000)
	all, err := s.interleave(s.rawSteps(n), s.engineSteps(s.inMemory, n))
	if err != nil {
		return err
	}
	base, ours := all[0], all[1]
	s.atLeast("steps by CPU", "steps/CPU s", median(ours, (*measure).cpuRate), median(base, (*measure).cpuRate), ratio(ours, base, (*measure).cpuRate), 5)
	s.cost(ours, base)
	return nil
}

func perStep(m *measure) float64 { return float64(m.commits) / float64(m.steps) }

func (s *session) rawSteps(n int) side {
	row := []byte(strings.Repeat("x", 200))
	return side{"baseline", func() (measure, error) {
		return s.raw(n, func(db *baseline.DB) error {
			for i := range n {
				if err := db.Append(s.ctx, 1, int64(i+1), row); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

func (s *session) engineSteps(open opener, n int) side {
	return side{"posthouse", func() (measure, error) {
		return timed(s, open, smallLoop(n), n, func(app *graph.App[small]) error {
			_, err := app.Run(s.ctx, "one", small{Text: smallText(0)})
			return err
		})
	}}
}

// threads is W3.
func threads(s *session) error {
	const each = 10
	n := s.n(1000)
	row := []byte(strings.Repeat("x", 200))
	all, err := s.interleave(
		side{"baseline", func() (measure, error) {
			return s.raw(n*each, func(db *baseline.DB) error {
				return together(n, func(t int) error {
					for i := range each {
						if err := db.Append(s.ctx, int64(t), int64(i+1), row); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}},
		side{"posthouse", func() (measure, error) {
			return timed(s, s.sqlite, smallLoop(each), n*each, func(app *graph.App[small]) error {
				return together(n, func(t int) error {
					_, err := app.Run(s.ctx, fmt.Sprintf("thread-%d", t), small{Text: smallText(0)})
					return err
				})
			})
		}},
	)
	if err != nil {
		return err
	}
	base, ours := all[0], all[1]
	s.atLeast("steps", "steps/s", median(ours, (*measure).rate), median(base, (*measure).rate), ratio(ours, base, (*measure).rate), limits["sqlite"][1])
	s.cost(ours, base)
	shared := median(ours, func(m *measure) float64 { return float64(m.steps) / float64(max(m.commits, 1)) })
	s.atLeast("steps a transaction", "steps", shared, 0, shared, 20)
	return nil
}

// together runs n calls at once and returns their errors.
func together(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
