package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

type sweeping struct {
	posthouse.Program
	began time.Time
	at    []time.Duration
	fails func(n int) error // the n-th sweep
}

func (s *sweeping) Sweep(context.Context) error {
	s.at = append(s.at, time.Since(s.began))
	return s.fails(len(s.at))
}

// A program that is a Sweeper sweeps at start-up and each hour, and soon again
// where it failed, but less and less soon.
func TestProgramsSweep(t *testing.T) {
	sometimes := func(n int) error {
		if n == 3 {
			panic("not at all")
		}
		if n == 1 {
			return errors.New("not now")
		}
		return nil
	}
	never := func(int) error { return errors.New("never") }
	for name, c := range map[string]struct {
		fails func(int) error
		poll  time.Duration
		want  []int // minutes
	}{
		"sometimes": {sometimes, time.Minute, []int{0, 1, 61, 62, 122}},
		"never":     {never, time.Minute, []int{0, 1, 3, 7, 15, 31, 63, 123}},
		"seldom":    {never, 2 * time.Hour, []int{0, 60, 120}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := open(t, memstore.New(), "a")
				s := &sweeping{Program: &program{name: "p", l: l}, began: time.Now(), fails: c.fails}
				run(t, l, runner.Options{Programs: []posthouse.Program{s}, Poll: c.poll})
				time.Sleep(2*time.Hour + 10*time.Minute)
				synctest.Wait()
				var at []int
				for _, d := range s.at {
					at = append(at, int(d/time.Minute))
				}
				if !slices.Equal(at, c.want) {
					t.Errorf("swept at %v, want minutes %v", s.at, c.want)
				}
			})
		})
	}
}
