package natsstore

import (
	"context"
	"time"
)

// Lazy makes a server in this process sync every other minute, as NATS does by itself.
func (o Options) Lazy() *Options {
	o.lazy = true
	return &o
}

// Grace makes chunks count as left behind at another age.
func (o Options) Grace(d time.Duration) *Options {
	o.grace = d
	return &o
}

// MakeLate makes the streams of a store that is open as a process does that found none just
// before another made them.
func (s *Store) MakeLate(ctx context.Context) error { return s.create(ctx, s.configs()) }
