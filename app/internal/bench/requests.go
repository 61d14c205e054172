package bench

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/posthouse/posthouse/graph"
)

// requests compares a request that opens a question with the same run by the library, over the same
// Ledger, and an empty request to the same server.
func requests(s *session) (err error) {
	v, err := s.serve()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	n, threads := s.n(100), 0
	next := func() string { threads++; return fmt.Sprintf("order-%d", threads) }
	all, err := s.interleave(
		side{"an empty request", func() (measure, error) {
			return s.each(n, func() error { return v.call(s.ctx, http.MethodGet, "/healthz", nil, nil) })
		}},
		side{"by the library", func() (measure, error) {
			return s.each(n, func() error {
				r, err := v.app.Run(s.ctx, next(), payment{To: "ACME", Amount: 100}, graph.RunOptions{By: "operator"})
				if err == nil && len(r.Waiting) != 1 {
					err = fmt.Errorf("a run ended as %s", r.Status)
				}
				return err
			})
		}},
		side{"over HTTP", func() (measure, error) {
			return s.each(n, func() error { _, err := v.ask(s.ctx, next()); return err })
		}},
	)
	if err != nil {
		return err
	}
	half := func(m *measure) float64 { return micros(m.times, 0, 1) }
	pairs := make([]measure, len(all[0])) // of a round: a run and an empty request, one after the other
	for i := range pairs {
		pairs[i].times = []time.Duration{time.Duration(1e3 * (half(&all[0][i]) + half(&all[1][i])))}
	}
	s.note("an empty request", "µs", median(all[0], half), 0)
	s.note("by the library", "µs", median(all[1], half), 0)
	s.atMost("request to open gate", "µs", median(all[2], half), median(pairs, half), ratio(all[2], pairs, half), 1.5)
	return nil
}

// each measures calls one after the other, each for itself.
func (s *session) each(n int, call func() error) (measure, error) {
	var times []time.Duration
	m, err := s.clock(n, func() error {
		for range n {
			at := s.opt.Now()
			if err := call(); err != nil {
				return err
			}
			times = append(times, s.opt.Now().Sub(at))
		}
		return nil
	})
	m.times = times
	return m, err
}
