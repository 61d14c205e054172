package effect_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/runs"
)

// TestEachPair goes through each pair of state and event: what is not listed changes nothing.
func TestEachPair(t *testing.T) {
	type pair struct {
		s effect.State
		e effect.Event
	}
	want := map[pair]effect.State{
		{effect.Licensed, effect.Begins}: effect.Begun,
		{effect.Licensed, effect.Ends}:   effect.Done, // an effect of a version that recorded no beginning

		{effect.Begun, effect.Parks}:       effect.Waiting,
		{effect.Begun, effect.Ends}:        effect.Done,
		{effect.Begun, effect.SaysNotDone}: effect.NotDone,
		{effect.Begun, effect.Lost}:        effect.Unknown,

		{effect.Waiting, effect.Continues}:   effect.Begun,
		{effect.Waiting, effect.Ends}:        effect.Done,
		{effect.Waiting, effect.SaysNotDone}: effect.NotDone,
		{effect.Waiting, effect.Lost}:        effect.Unknown,
		{effect.Waiting, effect.Withdrawn}:   effect.NotDone,

		{effect.NotDone, effect.Ends}: effect.Done, // a result on record is what counts

		{effect.Unknown, effect.Ends}:     effect.Done,
		{effect.Unknown, effect.Found}:    effect.Done,
		{effect.Unknown, effect.Missing}:  effect.NotDone,
		{effect.Unknown, effect.Happened}: effect.Done,
		{effect.Unknown, effect.Redo}:     effect.NotDone,
		{effect.Unknown, effect.GiveUp}:   effect.GivenUp,

		{effect.GivenUp, effect.Ends}: effect.Done,
	}
	for s := effect.Licensed; s <= effect.GivenUp; s++ {
		for e := effect.Begins; e <= effect.GiveUp; e++ {
			next, listed := want[pair{s, e}]
			if !listed {
				next = s
			}
			if got := effect.Next(s, e); got != next {
				t.Errorf("%s, then it %s: %s, want %s", s, e, got, next)
			}
		}
	}
}

// TestUnknownNeverRunsAgainByItself: only people, the program's reconciliation or a result end an
// unknown outcome.
func TestUnknownNeverRunsAgainByItself(t *testing.T) {
	for e := effect.Begins; e <= effect.Withdrawn; e++ {
		if got := effect.Next(effect.Unknown, e); got != effect.Unknown && got != effect.Done {
			t.Errorf("unknown, then it %s: %s", e, got)
		}
	}
}

func TestSaysNotDone(t *testing.T) {
	dial := effect.MarkNotDone(errors.New("connection refused"))
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":                     {nil, false},
		"EOF":                         {io.EOF, false},
		"its word":                    {dial, true},
		"its word, wrapped":           {fmt.Errorf("pay: %w", dial), true},
		"its word about EOF":          {effect.MarkNotDone(io.EOF), true},
		"a word beside an error":      {errors.Join(io.EOF, dial), false},
		"a word before an error":      {errors.Join(dial, io.EOF), false},
		"two words":                   {errors.Join(dial, effect.MarkNotDone(io.EOF)), true},
		"two words, wrapped in one":   {fmt.Errorf("%w and %w", dial, dial), true},
		"a word and an error, in one": {fmt.Errorf("%w and %w", dial, io.EOF), false},
		"a worker's error":            {&runs.RemoteError{Reason: "reset"}, false},
		"a worker's word":             {&runs.RemoteError{Reason: "refused", NotDone: true}, true},
		"a joined word in a word":     {effect.MarkNotDone(errors.Join(io.EOF, dial)), true},
	} {
		if got := effect.IsNotDone(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if effect.MarkNotDone(nil) != nil || !errors.Is(dial, dial) || !errors.Is(effect.MarkNotDone(io.EOF), io.EOF) {
		t.Error("NotDone hides the error, or makes one")
	}
}
