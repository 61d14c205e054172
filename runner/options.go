package runner

import (
	"cmp"
	"io"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
)

// Options configure a Runner. The zero value moves nothing but deadlines.
type Options struct {
	Programs    []posthouse.Program // what to keep moving; names must differ
	Concurrency int                 // threads moved at once; default 16
	Logger      *slog.Logger        // what failed and what is tried again; default: discarded
	Poll        time.Duration       // between sweeps: how late work is found without a hint; default 1 s
	Drain       time.Duration       // how long running nodes may go on once Run's ctx has ended; default 10 s

	// NoWatch finds work by sweeps and Kick only, as over a store that is not a
	// Watcher. It saves reading each entry that is written.
	NoWatch bool
}

func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	for _, f := range []struct {
		name string
		d    *time.Duration
		def  time.Duration
	}{{"Poll", &c.Poll, time.Second}, {"Drain", &c.Drain, 10 * time.Second}} {
		if *f.d < 0 {
			return c, posthouse.Invalid(f.name, "is negative")
		}
		*f.d = cmp.Or(*f.d, f.def)
	}
	if c.Concurrency < 0 {
		return c, posthouse.Invalid("Concurrency", "is negative")
	}
	c.Concurrency = cmp.Or(c.Concurrency, 16)
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return c, nil
}
