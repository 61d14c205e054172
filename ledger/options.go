package ledger

import (
	"io"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/trace"
)

// Options configure a Ledger. The zero value, or nil, is useful.
type Options struct {
	Now    func() time.Time // the clock; default time.Now
	Signer posthouse.Signer // signs entries; nil: entries are hashed and chained only
	// Verifier checks threads that are imported. Default: the Signer if it is a
	// Verifier, else only hashes are checked.
	Verifier posthouse.Verifier
	Cipher   posthouse.Cipher   // seals bodies before they reach the store; nil: they are stored in the clear
	Logger   *slog.Logger       // for failures without a caller to return to; default: discarded
	Observer posthouse.Observer // told of each operation once it is durable
	Tracer   trace.Tracer       // makes spans of what programs do; nil: there are no spans
	// Appended is told of each append of a commit: the entry's records, how long the store took,
	// and its error. It is for metrics: it must be quick and safe for concurrent use, and the
	// records are not its own once it returns. Nil: it is not called.
	Appended func(records []posthouse.Record, took time.Duration, err error)
	Policy   posthouse.DecidePolicy    // may refuse a decision; nil: the gate's own rules suffice
	Validate posthouse.SchemaValidator // checks decided values; nil: a gate that takes a value with a schema does not open
	// RequireGrants lets effects on the world ([posthouse.EffectExternal]) run only
	// under a grant (gate.Act). Any other is [posthouse.ErrForbidden] before it runs.
	RequireGrants  bool
	Rules          []posthouse.Rule // each may refuse a commit
	MaxState       int              // bytes of one checkpoint's state; default 8 MiB
	MaxCheckpoints int              // retention cap over the whole store; 0: no cap. Heads and waiting checkpoints always stay
	Owner          string           // names this process in leases; default: random
	// LeaseTTL is how long an owner has to be silent until another process may take its
	// threads; default 3 s, all processes of a store the same. A living owner renews six
	// times in it, so by default it keeps its threads over a store that stalls each call
	// for 2 s, and loses them within 5 s once it is gone. Make it longer for a store that
	// stalls for longer: it stands a stall of five sixths of it.
	LeaseTTL time.Duration
	Poll     time.Duration // interval of [Ledger.Watch] over a store that is no [posthouse.Watcher]; default 200 ms
}

func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if c.Verifier == nil {
		c.Verifier, _ = c.Signer.(posthouse.Verifier)
	}
	if c.MaxState == 0 {
		c.MaxState = posthouse.DefaultMaxState
	}
	if c.LeaseTTL == 0 {
		c.LeaseTTL = 3 * time.Second
	}
	if c.Poll == 0 {
		c.Poll = 200 * time.Millisecond
	}
	switch {
	case c.Poll < 0:
		return c, posthouse.Invalid("Poll", "is negative")
	case c.MaxState < 0:
		return c, posthouse.Invalid("MaxState", "is negative")
	case c.MaxCheckpoints < 0:
		return c, posthouse.Invalid("MaxCheckpoints", "is negative; 0 means no cap")
	case c.LeaseTTL < 0:
		return c, posthouse.Invalid("LeaseTTL", "is negative")
	case c.Owner != "" && posthouse.ValidateID("Owner", c.Owner) != nil:
		return c, posthouse.ValidateID("Owner", c.Owner)
	}
	return c, checkRules(c.Rules)
}

func (o *Options) config() core.Config {
	return core.Config{
		Now: o.Now, Signer: o.Signer, Verifier: o.Verifier, Cipher: o.Cipher, Logger: o.Logger, Observer: o.Observer, Tracer: o.Tracer, Appended: o.Appended,
		MaxState: o.MaxState, MaxCheckpoints: o.MaxCheckpoints, Owner: o.Owner, LeaseTTL: o.LeaseTTL,
	}
}

func (o *Options) rules() *commit.Rules {
	return &commit.Rules{Policy: o.Policy, Validate: o.Validate, RequireGrants: o.RequireGrants, Checks: o.Rules, Signs: o.Signer != nil}
}
