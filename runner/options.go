package runner

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
)

// Options configure a Runner. The zero value moves nothing but deadlines.
type Options struct {
	Programs     []posthouse.Program // what to keep moving; names must differ
	Concurrency  int                 // threads moved at once; default 16
	Logger       *slog.Logger        // what failed and what is tried again; default: discarded
	Poll         time.Duration       // between sweeps: how late work is found without a hint; default 1 s
	DrainTimeout time.Duration       // how long running nodes may go on once Run's ctx has ended; default 10 s

	// NoWatch finds work by sweeps and Kick only, as over a store that is not a
	// Watcher. It saves reading each entry that is written.
	NoWatch bool
}

func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	switch {
	case c.Poll < 0:
		return c, posthouse.Invalid("Poll", "is negative")
	case c.DrainTimeout < 0:
		return c, posthouse.Invalid("DrainTimeout", "is negative")
	case c.Concurrency < 0:
		return c, posthouse.Invalid("Concurrency", "is negative")
	}
	c.Poll, c.DrainTimeout, c.Concurrency = cmp.Or(c.Poll, time.Second), cmp.Or(c.DrainTimeout, 10*time.Second), cmp.Or(c.Concurrency, 16)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
