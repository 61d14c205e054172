package stresstest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A tape has the numbers of a random history, act by act. It draws them, or replays
// those of an earlier history.
type tape struct {
	rnd    *rand.Rand // nil to play acts again
	acts   [][]int
	at     int // of the next number in the last act, or in acts[done-1]
	done   int
	played strings.Builder
}

// steps returns how many acts the history has.
func (p *tape) steps() int {
	if p.rnd == nil {
		return len(p.acts)
	}
	return 10 + p.rnd.IntN(41)
}

// next moves to the next act and reports whether there is one.
func (p *tape) next(steps int) bool {
	if p.done == steps {
		return false
	}
	if p.rnd != nil {
		p.acts = append(p.acts, nil)
	}
	p.done, p.at = p.done+1, 0
	return true
}

// number returns a number below n. A replayed history gets 0 where it draws more numbers
// than before.
func (p *tape) number(n int) int {
	act := &p.acts[p.done-1]
	if p.rnd != nil {
		*act = append(*act, p.rnd.IntN(n))
	}
	v := 0
	if p.at < len(*act) {
		v = (*act)[p.at] % n
	}
	p.at++
	return v
}

func (p *tape) begin(act string)          { fmt.Fprintf(&p.played, "\n  %s:", act) }
func (p *tape) note(what string, got any) { fmt.Fprintf(&p.played, " %s=%.80q", what, fmt.Sprint(got)) }

// shorten removes acts, many at once at first, and then sets numbers to 0, as long as the
// rest fails.
func shorten(acts [][]int, fails func([][]int) bool) [][]int {
	for size := len(acts); size > 0; size /= 2 {
		for i := 0; i+size <= len(acts); {
			less := slices.Concat(acts[:i], acts[i+size:])
			if fails(less) {
				acts = less
			} else {
				i += size
			}
		}
	}
	for i := range acts {
		for j := range acts[i] {
			if acts[i][j] == 0 {
				continue
			}
			plain := slices.Clone(acts)
			plain[i] = slices.Clone(acts[i])
			plain[i][j] = 0
			if fails(plain) {
				acts = plain
			}
		}
	}
	return acts
}
