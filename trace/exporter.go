package trace

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
)

// An Exporter is a Tracer of a server, which also counts what is committed, and sends both to where
// they are looked at.
type Exporter interface {
	Tracer

	// Appended counts an append: see ledger.Options.Appended.
	Appended(records []posthouse.Record, took time.Duration, err error)

	// Close sends what has not been sent yet, until ctx ends. It is called once, when the server
	// has ended.
	Close(ctx context.Context) error
}

// An Opener opens the Exporter of a server. The name is that of its binary, and version what it was
// built from. It returns nil where the environment does not say that anything is to be exported.
type Opener func(ctx context.Context, name, version string) (Exporter, error)
