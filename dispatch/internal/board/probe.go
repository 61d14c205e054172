package board

import "time"

// maxProbePause bounds the time between two probes of one claim, unless a lease is longer.
const maxProbePause = time.Minute

// Probes pace the questions about a claim that a worker at another engine has. The zero value
// has not asked.
type Probes struct {
	next  time.Time
	pause time.Duration
}

// IsDue reports whether it is time to ask: first a lease after the first call, then after
// twice as long each time.
func (p *Probes) IsDue(now time.Time, lease time.Duration) bool {
	first := p.next.IsZero()
	switch {
	case first:
		p.pause = lease
	case now.Before(p.next):
		return false
	default:
		p.pause = min(2*p.pause, max(maxProbePause, lease))
	}
	p.next = now.Add(p.pause)
	return !first
}
