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

	// Emitted is called with what programs report by step.Token and step.Emit while the runner
	// advances them. It must not block, and is called from many goroutines. Nil: nothing is told.
	Emitted func(e *Emission)
}

// An Emission is text or a value that a program reports while it runs. It is not on record.
type Emission struct {
	Thread  string
	Branch  string
	Step    string // the outermost step around it; "" outside of steps
	Attempt int    // of that step, from 1; 0 outside of steps
	Text    string // "" for a value
	Value   any    // of step.Emit; it must not be changed
	Custom  bool   // it is a value
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
