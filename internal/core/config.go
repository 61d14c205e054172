package core

import (
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
)

// A Config is the part of a Ledger's options that a Core needs, with defaults filled
// in.
type Config struct {
	Now            func() time.Time
	Signer         posthouse.Signer   // nil: entries are not signed
	Verifier       posthouse.Verifier // nil: hashes alone are checked
	Cipher         posthouse.Cipher   // nil: bodies are stored as they are
	Logger         *slog.Logger
	Observer       posthouse.Observer        // nil: none
	Policy         posthouse.DecidePolicy    // nil: the gate's own rules
	Validate       posthouse.SchemaValidator // nil: no values are checked
	RequireGrants  bool
	Rules          []posthouse.Rule
	MaxState       int           // bytes of one checkpoint's state
	MaxCheckpoints int           // of the store; 0: no cap
	Owner          string        // "": a random one
	LeaseTTL       time.Duration // a silent owner's threads are free after it
}
