package runner_test

import (
	"context"
	"errors"
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
}

func (s *sweeping) Sweep(context.Context) error {
	if s.at = append(s.at, time.Since(s.began)); len(s.at) == 1 {
		return errors.New("not now")
	}
	if len(s.at) == 3 {
		panic("not at all")
	}
	return nil
}

// A program that is a Sweeper sweeps at start-up and each hour, and soon again
// where it failed.
func TestProgramsSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "a")
		s := &sweeping{Program: &program{name: "p", l: l}, began: time.Now()}
		run(t, l, runner.Options{Programs: []posthouse.Program{s}, Poll: time.Minute})
		time.Sleep(2*time.Hour + 10*time.Minute)
		synctest.Wait()
		want := []time.Duration{0, time.Minute, time.Hour + time.Minute, time.Hour + 2*time.Minute, 2*time.Hour + 2*time.Minute}
		if len(s.at) != len(want) {
			t.Fatalf("swept at %v, want %v", s.at, want)
		}
		for i := range want {
			if s.at[i] != want[i] {
				t.Errorf("swept at %v, want %v", s.at, want)
			}
		}
	})
}
