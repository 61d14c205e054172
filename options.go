package posthouse

import (
	"io"
	"log/slog"
	"time"
)

// Options configure a Ledger. The zero value, or nil, is useful.
type Options struct {
	Now            func() time.Time // the clock; default time.Now
	Signer         Signer           // signs entries; nil: hashed and chained, but not signed
	Verifier       Verifier         // checks threads that are imported; default: the Signer, where it is one, else hashes alone are checked
	Cipher         Cipher           // seals bodies before they reach the store; nil: they are stored as they are
	Logger         *slog.Logger     // what has no caller to return to; default: discarded
	Observer       Observer         // told of each operation once it is durable
	Policy         DecidePolicy     // a further say in who may decide what; nil: the gate's own rules
	Validate       SchemaValidator  // checks decided values; nil: no gate with a schema is opened that takes a value
	RequireGrants  bool             // effects on the world ([EffectExternal]) run only under a grant (gate.Act); any other is [ErrForbidden] before it runs
	Rules          []Rule           // asked before anything is committed; any of them may refuse
	MaxState       int              // bytes of one checkpoint's state; default 8 MiB
	MaxCheckpoints int              // retention cap over the whole store; 0: none. Heads and waiting checkpoints always stay
	Owner          string           // names this process in leases; default: random
	LeaseTTL       time.Duration    // a silent owner's threads are free after it; default 10 s
	Poll           time.Duration    // how often [Ledger.Watch] looks, over a store that is no [Watcher]; default 200 ms
}

// DefaultMaxState is how many bytes a state may have unless Options.MaxState says
// otherwise: 8 MiB.
const DefaultMaxState = 8 << 20

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
		c.Verifier, _ = c.Signer.(Verifier)
	}
	if c.MaxState == 0 {
		c.MaxState = DefaultMaxState
	}
	if c.LeaseTTL == 0 {
		c.LeaseTTL = 10 * time.Second
	}
	if c.Poll == 0 {
		c.Poll = 200 * time.Millisecond
	}
	switch {
	case c.Poll < 0:
		return c, invalid("Poll", "is negative")
	case c.MaxState < 0:
		return c, invalid("MaxState", "is negative")
	case c.MaxCheckpoints < 0:
		return c, invalid("MaxCheckpoints", "is negative; 0 means no cap")
	case c.LeaseTTL < 0:
		return c, invalid("LeaseTTL", "is negative")
	case c.Owner != "" && validateID("Owner", c.Owner) != nil:
		return c, validateID("Owner", c.Owner)
	}
	return c, checkRules(c.Rules)
}
