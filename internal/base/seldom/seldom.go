package seldom

import (
	"log/slog"
	"sync"
	"time"
)

// PerSecond bounds the lines of a [Log].
const PerSecond = 10

// A Log writes warnings, at most [PerSecond] in a second.
type Log struct {
	to  *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	since   time.Time // when the second began
	lines   int       // of this second
	skipped int       // that the next line counts
}

// New returns a log that writes to another. Now is the clock.
func New(to *slog.Logger, now func() time.Time) *Log { return &Log{to: to, now: now} }

// Warn writes a line, or counts it.
func (l *Log) Warn(msg string, attrs ...any) {
	if skipped, ok := l.next(); ok {
		if skipped > 0 {
			attrs = append(attrs[:len(attrs):len(attrs)], "more", skipped)
		}
		l.to.Warn(msg, attrs...)
	}
}

// next reports whether there is room for a line, and how many were left out before it.
func (l *Log) next() (skipped int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if d := now.Sub(l.since); d >= time.Second || d < 0 {
		l.since, l.lines = now, 0
	}
	if l.lines++; l.lines > PerSecond {
		l.skipped++
		return 0, false
	}
	skipped, l.skipped = l.skipped, 0
	return skipped, true
}
